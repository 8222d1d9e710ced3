#include "pilum/table/fragment.h"

#include <algorithm>
#include <set>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>

#include "pilum/io/held_source.h"
#include "pilum/source/masked_unit.h"
#include "pilum/source/missing_columns.h"
#include "pilum/table/deletions.h"
#include "pilum/table/fragment_stream.h"

namespace pilum {
namespace {

constexpr uint64_t kMaxSequence = uint64_t{1} << 30;   // bytes
constexpr uint64_t kMaxDeletions = uint64_t{1} << 30;  // bytes of a file
constexpr uint64_t kFirstVersion = 1;                  // of rows of which nothing is known, as pylance says it too

Result<std::shared_ptr<arrow::Array>> NumberArray(const std::vector<uint64_t>& values, arrow::MemoryPool* pool) {
  const auto bytes = static_cast<int64_t>(values.size() * sizeof(uint64_t));
  PILUM_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> buffer, arrow::AllocateBuffer(bytes, pool));
  if (bytes > 0) std::memcpy(buffer->mutable_data(), values.data(), static_cast<size_t>(bytes));
  return std::make_shared<arrow::UInt64Array>(static_cast<int64_t>(values.size()), std::move(buffer));
}

// Which versions a table's files have was decided by who made the table, and pylance opens them all (docs/adr/0019).
ReadContext ForDataFiles(const ReadContext& given) {
  ReadContext ctx = given;
  ctx.allow_unstable = true;
  return ctx;
}

// A fragment without its deleted rows, which are looked up when rows are first asked for.
class LiveFragment final : public Unit {
 public:
  LiveFragment(std::shared_ptr<const PhysicalFragment> physical, uint64_t num_deleted)
      : physical_(std::move(physical)), num_rows_(physical_->num_rows() - num_deleted) {}
  const std::string& name() const override { return physical_->name(); }
  uint64_t num_rows() const override { return num_rows_; }
  Result<bool> MayMatch(const Probe&, ReadContext&) const override { return num_rows_ > 0; }
  Result<Candidates> Narrow(const Probe&, ReadContext&) const override { return Candidates::Unknown(num_rows_); }
  std::string index_note() const override { return {}; }
  Result<std::unique_ptr<BatchStream>> Read(const std::vector<FieldPath>& columns, const RowSet& rows,
                                            const BatchLimits& limits, const ReadContext& given) const override {
    ReadContext ctx = given;
    PILUM_ASSIGN_OR_RETURN(auto unit, Masked(ctx));
    return unit->Read(columns, rows, limits, ctx);
  }
  void OpenAhead(const std::vector<FieldPath>& columns, ReadContext& ctx) const override {
    if (auto unit = Masked(ctx); unit.ok()) (*unit)->OpenAhead(columns, ctx);
  }
  Result<std::vector<std::shared_ptr<arrow::RecordBatch>>> Take(const std::vector<FieldPath>& columns,
                                                                const RowSet& rows, ReadContext& ctx) const override {
    PILUM_ASSIGN_OR_RETURN(auto unit, Masked(ctx));
    return unit->Take(columns, rows, ctx);
  }

 private:
  Result<std::shared_ptr<const Unit>> Masked(ReadContext& ctx) const {
    std::lock_guard lock(mutex_);
    if (masked_) return masked_;
    PILUM_ASSIGN_OR_RETURN(const RowSet deleted, physical_->ReadDeletions(ctx));
    masked_ = MakeMaskedUnit(physical_, deleted.Complement(physical_->num_rows()));
    return masked_;
  }

  const std::shared_ptr<const PhysicalFragment> physical_;
  const uint64_t num_rows_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Unit> masked_;
};

}  // namespace

PhysicalFragment::PhysicalFragment(TableContext table, const Fragment& fragment)
    : table_(std::move(table)),
      fragment_(fragment),
      name_(fmt::format("{} version {} fragment {}", table_.files->uri(), table_.manifest->version, fragment.id)),
      num_rows_(fragment.physical_rows) {}

Result<std::shared_ptr<PhysicalFragment>> PhysicalFragment::Make(TableContext table, const Fragment& fragment,
                                                                 ReadContext& ctx) {
  std::shared_ptr<PhysicalFragment> out(new PhysicalFragment(std::move(table), fragment));
  Status st = out->PlanFiles();
  if (!st.ok()) return WithContext(out->name_, st);
  if (out->num_rows_ == 0 || !out->table_.manifest->tells_row_counts()) PILUM_RETURN_NOT_OK(out->CountRows(ctx));
  return out;
}

Status PhysicalFragment::PlanFiles() {
  std::set<int32_t> before;  // fields of the files up to here: the first that has one counts, as for pylance
  for (const DataFile& file : fragment_.files) {
    PILUM_ASSIGN_OR_RETURN(auto view, table_.schema->ViewOf(file, before));
    if (fragment_.files.size() > 1) before.insert(file.fields.begin(), file.fields.end());
    if (view->schema->num_fields() == 0) continue;
    files_.push_back({&file, {}, {}, true});
    views_.push_back(view.get());
  }
  return Status::OK();
}

Status PhysicalFragment::CountRows(ReadContext& given) {
  if (fragment_.files.empty()) return Status::OK();
  ReadContext ctx = ForDataFiles(given);
  const DataFile& file = fragment_.files[0];
  PILUM_ASSIGN_OR_RETURN(auto source, table_.files->OpenData(file, ctx));
  if (file.is_legacy()) {
    PILUM_ASSIGN_OR_RETURN(auto legacy,
                           LegacyFile::Open(std::move(source), table_.schema->LegacyFieldsOf(file, {}), ctx));
    num_rows_ = legacy->num_rows();
    return Status::OK();
  }
  PILUM_ASSIGN_OR_RETURN(auto reader, FileReader::Open(std::move(source), ctx));
  num_rows_ = reader->num_rows();
  return Status::OK();
}

Result<PhysicalFragment::OpenedFile> PhysicalFragment::OpenAnew(const DataFile& file, const FileView& view,
                                                                OpenFiles::For what, ReadContext& given) const {
  ReadContext ctx = ForDataFiles(given);
  OpenedFile out;
  auto source = table_.files->OpenData(file, ctx);
  if (!source.ok()) return WithContext(name_, source.status());
  const std::string path = (*source)->name();
  const uint64_t size = (*source)->size();
  // Of a legacy file the manifest may count the bytes without its end.
  if (!file.is_legacy() && file.size > 0 && file.size != size) {
    return Corrupt(path, "", fmt::format("it has {} bytes, the manifest of {} says {}", size, name_, file.size));
  }
  // What its opening would read anyway is all of it.
  const bool held = !(*source)->cost().remote && size <= (*source)->cost().tail;
  if (held) {
    PILUM_ASSIGN_OR_RETURN(source, HoldWhole(**source, ctx));
  }
  uint64_t rows = 0;
  if (file.is_legacy()) {
    auto legacy = LegacyFile::Open(std::move(*source), table_.schema->LegacyFieldsOf(file, view), ctx);
    if (!legacy.ok()) return WithContext(name_, legacy.status());
    out.legacy = std::move(*legacy);
    rows = out.legacy->num_rows();
  } else {
    auto reader = FileReader::OpenView(std::move(*source), view, ctx);
    if (!reader.ok()) return WithContext(name_, reader.status());
    out.reader = std::move(*reader);
    rows = out.reader->num_rows();
  }
  if (rows != num_rows_) {
    return Corrupt(path, "", fmt::format("it has {} rows, the manifest of {} says {}", rows, name_, num_rows_));
  }
  std::shared_ptr<const void> kept = out.reader;
  if (out.legacy) kept = out.legacy;
  table_.files->open_files().Keep(std::move(kept), held ? size : 0, what);
  return out;
}

Result<PhysicalFragment::OpenedFile> PhysicalFragment::Open(size_t i, OpenFiles::For what, ReadContext& ctx) const {
  std::lock_guard lock(mutex_);
  File& file = files_[i];
  OpenedFile out{file.reader.lock(), file.legacy.lock()};
  const bool unverified = out.reader && !file.verifies && ctx.verify != Verify::kOff;
  if (!unverified && (out.reader || out.legacy)) return out;
  PILUM_ASSIGN_OR_RETURN(out, OpenAnew(*file.file, *views_[i], what, ctx));
  file.reader = out.reader;
  file.legacy = out.legacy;
  file.verifies = ctx.verify != Verify::kOff;
  return out;
}

Result<std::unique_ptr<BatchStream>> PhysicalFragment::ReadFile(size_t i, const std::vector<FieldPath>& columns,
                                                                const RowSet& rows, const BatchLimits& limits,
                                                                ReadContext& ctx) const {
  PILUM_ASSIGN_OR_RETURN(const OpenedFile open, Open(i, OpenFiles::For::kScan, ctx));
  if (open.legacy) return open.legacy->Read(columns, rows, limits, ctx);
  return open.reader->Read(columns, rows, limits, ctx);
}

Status PhysicalFragment::CheckRows(const RowSet& rows) const {
  if (rows.empty() || rows.ranges().back().end <= num_rows_) return Status::OK();
  return UsageError("{}: row {} is out of range: it has {}", name_, rows.ranges().back().end - 1, num_rows_);
}

Result<std::unique_ptr<BatchStream>> PhysicalFragment::Read(const std::vector<FieldPath>& columns, const RowSet& rows,
                                                            const BatchLimits& limits, const ReadContext& given) const {
  ReadContext ctx = given;
  PILUM_RETURN_NOT_OK(CheckRows(rows));
  PILUM_ASSIGN_OR_RETURN(auto shape, table_.schema->ShapeOf(name_, views_, columns));
  FragmentStreamParts parts;
  parts.name = name_;
  parts.schema = shape->schema;
  parts.rows = rows;
  parts.limits = LimitsWithMissing(limits, *shape->schema, *shape->held);
  const auto reads = std::count_if(shape->own.begin(), shape->own.end(), [](const auto& own) { return !own.empty(); });
  for (size_t i = 0; i < files_.size(); ++i) {
    if (shape->own[i].empty()) continue;
    PILUM_ASSIGN_OR_RETURN(auto stream, ReadFile(i, shape->own[i], rows, parts.limits, ctx));
    if (reads == 1 && stream->schema()->Equals(*shape->schema, false)) return stream;
    parts.own.push_back(std::move(stream));
  }
  auto self = shared_from_this();
  parts.keep = self;
  parts.system = [unit = self.get(), ctx](const arrow::Field& field,
                                          const RowSet& of) mutable -> Result<std::shared_ptr<arrow::Array>> {
    if (unit->table_.schema->stored()->GetFieldByName(field.name())) return nullptr;
    for (const SystemColumn c : kSystemColumns) {
      if (field.name() == SystemColumnName(c)) return unit->SystemValues(c, of, ctx);
    }
    return nullptr;
  };
  return MakeFragmentStream(std::move(parts), ctx);
}

void PhysicalFragment::OpenAhead(const std::vector<FieldPath>& columns, ReadContext& ctx) const {
  auto shape = table_.schema->ShapeOf(name_, views_, columns);
  for (size_t i = 0; shape.ok() && i < files_.size(); ++i) {
    if (!(*shape)->own[i].empty() && !Open(i, OpenFiles::For::kScan, ctx).ok()) return;
  }
}

// By address where one file has all that is wanted as it shall be.
Result<std::vector<std::shared_ptr<arrow::RecordBatch>>> PhysicalFragment::Take(const std::vector<FieldPath>& columns,
                                                                                const RowSet& rows,
                                                                                ReadContext& ctx) const {
  PILUM_RETURN_NOT_OK(CheckRows(rows));
  PILUM_ASSIGN_OR_RETURN(auto shape, table_.schema->ShapeOf(name_, views_, columns));
  size_t i = 0;
  while (i < files_.size() && shape->own[i].empty()) ++i;
  if (i == files_.size() || shape->own[i].size() != columns.size() || rows.size() > FileReader::kTakeRows) {
    return Unit::Take(columns, rows, ctx);
  }
  PILUM_ASSIGN_OR_RETURN(const OpenedFile open, Open(i, OpenFiles::For::kTake, ctx));
  if (!open.reader) return Unit::Take(columns, rows, ctx);
  PILUM_ASSIGN_OR_RETURN(auto schema, open.reader->ProjectedSchema(columns));
  if (!schema->Equals(*shape->schema, false)) return Unit::Take(columns, rows, ctx);
  std::vector<uint64_t> numbers;
  numbers.reserve(rows.size());
  for (const RowRange& r : rows.ranges()) {
    for (uint64_t row = r.begin; row < r.end; ++row) numbers.push_back(row);
  }
  auto batch = open.reader->TakeBatch(columns, numbers, ctx, FileReader::kTakeBytes);
  if (batch.ok()) return std::vector{std::move(*batch)};
  if (KindOf(batch.status()) != ErrorKind::kMemory) return batch.status();
  return Unit::Take(columns, rows, ctx);  // a batch at a time
}

Result<RowSet> PhysicalFragment::ReadDeletions(ReadContext& ctx) const {
  if (!fragment_.deletions) return RowSet();
  auto source = table_.files->OpenDeletions(*fragment_.deletions, fragment_.id, ctx);
  if (!source.ok()) return WithContext(name_ + ": its deletion file", source.status());
  const std::string& path = (*source)->name();
  if ((*source)->size() > kMaxDeletions) return Corrupt(path, "", "it is too large for a deletion file");
  PILUM_ASSIGN_OR_RETURN(auto bytes, (*source)->ReadRange({0, (*source)->size()}, ctx));
  auto rows = ParseDeletions(*fragment_.deletions, bytes, num_rows_, ctx);
  if (!rows.ok()) return WithContext(path, rows.status());
  return rows;
}

Result<std::string> PhysicalFragment::ReadSequence(const SequenceBytes& bytes, ReadContext& ctx) const {
  switch (bytes.where) {
    case SequenceBytes::Where::kInline: return bytes.bytes;
    case SequenceBytes::Where::kExternal: {
      if (bytes.range.size > kMaxSequence) return Corrupt(name_, "", "a sequence of row ids is too large");
      PILUM_ASSIGN_OR_RETURN(auto source, table_.files->OpenOwn(bytes.path, ctx));
      PILUM_ASSIGN_OR_RETURN(auto buffer, source->ReadRange(bytes.range, ctx));
      return buffer->ToString();
    }
    default: return Unsupported("{}: its row ids or versions are kept in a way that this Pilum does not know", name_);
  }
}

template <typename Sequence>
Result<std::shared_ptr<const Sequence>> PhysicalFragment::Lazy(std::shared_ptr<const Sequence>* held,
                                                               const SequenceBytes& bytes, ReadContext& ctx) const {
  std::lock_guard lock(mutex_);
  if (*held) return *held;
  PILUM_ASSIGN_OR_RETURN(const std::string message, ReadSequence(bytes, ctx));
  auto sequence = Sequence::Parse(message, num_rows_);
  if (!sequence.ok()) return WithContext(name_, sequence.status());
  *held = std::make_shared<const Sequence>(std::move(*sequence));
  return *held;
}

Result<std::shared_ptr<arrow::Array>> PhysicalFragment::SystemValues(SystemColumn column, const RowSet& rows,
                                                                     ReadContext& ctx) const {
  std::vector<uint64_t> values;
  values.reserve(rows.size());
  const auto append = [&](const auto& sequence) -> Status {
    PILUM_RETURN_NOT_OK(sequence.status());
    (*sequence)->Append(rows, &values);
    return Status::OK();
  };
  const SequenceBytes& versions = column == SystemColumn::kCreatedAt ? fragment_.created_at : fragment_.last_updated_at;
  if (column == SystemColumn::kRowId && table_.manifest->has_stable_row_ids()) {
    PILUM_RETURN_NOT_OK(append(Lazy(&row_ids_, fragment_.row_ids, ctx)));
  } else if (column == SystemColumn::kRowId || column == SystemColumn::kRowAddress) {
    for (const RowRange& r : rows.ranges()) {
      for (uint64_t row = r.begin; row < r.end; ++row) values.push_back(RowAddress(fragment_.id, row));
    }
  } else if (column == SystemColumn::kRowOffset) {
    PILUM_RETURN_NOT_OK(AppendOffsets(rows, &values, ctx));
  } else if (versions.where == SequenceBytes::Where::kNone) {
    values.assign(rows.size(), kFirstVersion);
  } else {
    auto* held = column == SystemColumn::kCreatedAt ? &created_at_ : &last_updated_at_;
    PILUM_RETURN_NOT_OK(append(Lazy(held, versions, ctx)));
  }
  PILUM_ASSIGN_OR_RETURN(auto array, NumberArray(values, ctx.memory_pool()));
  if (column != SystemColumn::kRowId || !table_.with_deleted || !fragment_.deletions) return array;
  return WithoutDeleted(std::move(array), rows, ctx);
}

Result<std::shared_ptr<const RowSet>> PhysicalFragment::Deleted(ReadContext& ctx) const {
  std::lock_guard lock(mutex_);
  if (!deleted_) {
    PILUM_ASSIGN_OR_RETURN(RowSet read, ReadDeletions(ctx));
    deleted_ = std::make_shared<const RowSet>(std::move(read));
  }
  return deleted_;
}

// How many rows of the version come before each, deleted ones not counted.
Status PhysicalFragment::AppendOffsets(const RowSet& rows, std::vector<uint64_t>* out, ReadContext& ctx) const {
  uint64_t before = 0;
  for (const Fragment& f : table_.manifest->fragments) {
    if (f.id == fragment_.id) break;
    const uint64_t deleted = f.deletions ? f.deletions->num_deleted : 0;
    if (!table_.manifest->tells_row_counts() || (f.physical_rows == 0 && !f.files.empty()) ||
        (f.deletions && deleted == 0) || deleted > f.physical_rows) {
      return Unsupported("{}: _rowoffset: the manifest does not say how many rows fragment {} has", name_, f.id);
    }
    before += f.physical_rows - deleted;
  }
  PILUM_ASSIGN_OR_RETURN(const auto deleted, Deleted(ctx));
  auto gone = deleted->ranges().begin();
  const auto end = deleted->ranges().end();
  for (const RowRange& r : rows.ranges()) {
    for (uint64_t row = r.begin; row < r.end; ++row) {
      for (; gone != end && gone->end <= row; ++gone) before -= gone->size();
      out->push_back(before + row - (gone != end && gone->begin < row ? row - gone->begin : 0));
    }
  }
  return Status::OK();
}

// The ids of rows that are deleted are NULL.
Result<std::shared_ptr<arrow::Array>> PhysicalFragment::WithoutDeleted(std::shared_ptr<arrow::Array> row_ids,
                                                                       const RowSet& rows, ReadContext& ctx) const {
  PILUM_ASSIGN_OR_RETURN(const auto deleted, Deleted(ctx));
  PILUM_ASSIGN_OR_RETURN(auto valid, arrow::AllocateEmptyBitmap(row_ids->length(), ctx.memory_pool()));
  int64_t at = 0;
  for (const RowRange& r : rows.ranges()) {
    for (uint64_t row = r.begin; row < r.end; ++row, ++at) {
      if (!deleted->Contains(row)) arrow::bit_util::SetBit(valid->mutable_data(), at);
    }
  }
  const auto& data = row_ids->data();
  return arrow::MakeArray(arrow::ArrayData::Make(data->type, data->length, {std::move(valid), data->buffers[1]}));
}

Result<std::shared_ptr<const Unit>> MakeFragmentUnit(TableContext table, const Fragment& fragment, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto physical, PhysicalFragment::Make(std::move(table), fragment, ctx));
  if (!fragment.deletions || physical->with_deleted()) return physical;
  uint64_t deleted = physical->manifest().tells_row_counts() ? fragment.deletions->num_deleted : 0;
  if (deleted == 0) {
    PILUM_ASSIGN_OR_RETURN(const RowSet rows, physical->ReadDeletions(ctx));
    deleted = rows.size();
  }
  if (deleted > physical->num_rows()) {
    return Corrupt(physical->name(), "",
                   fmt::format("{} of its {} rows are said to be deleted", deleted, physical->num_rows()));
  }
  return std::make_shared<LiveFragment>(std::move(physical), deleted);
}

}  // namespace pilum
