#include "pilum/file/legacy_file.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/base/bytes.h"
#include "pilum/file/legacy_decode.h"
#include "pilum/file/projection.h"
#include "pilum/file/wire_fields.h"

namespace pilum {
namespace {

constexpr uint64_t kFooterSize = 16;  // u64 position of the metadata, u16 major, u16 minor, magic
constexpr uint64_t kPageEntry = 16;   // i64 position, i64 length
constexpr uint64_t kMaxRows = uint64_t{1} << 32;

Status Bad(std::string what) { return MakeError(ErrorKind::kCorrupt, std::move(what)); }

struct Metadata {
  std::vector<uint64_t> group_rows;  // as group_rows_
  uint64_t page_table = 0;           // position
};

Result<Metadata> ParseMetadata(std::string_view bytes) {
  Metadata out;
  WireFields in(bytes);
  while (in.Next()) {
    if (in.number() == 2 && !in.AddTo(&out.group_rows)) return Bad("its metadata do not parse");
    if (in.Is(3, WireFields::kVarint)) out.page_table = in.value();
  }
  if (!in.ok()) return Bad("its metadata do not parse");
  if (out.group_rows.empty()) out.group_rows = {0};
  if (out.group_rows[0] != 0 || !std::is_sorted(out.group_rows.begin(), out.group_rows.end()) ||
      out.group_rows.back() > kMaxRows) {
    return Bad("its groups of rows are out of order");
  }
  return out;
}

Result<Metadata> ReadMetadata(const ByteSource& source, ReadContext& ctx) {
  const uint64_t size = source.size();
  if (size < kFooterSize + 4) return Bad(fmt::format("{} bytes are too few for a Lance file", size));
  const uint64_t tail_size = std::min(size, source.cost().tail);
  PILUM_ASSIGN_OR_RETURN(auto tail, source.ReadRange({size - tail_size, tail_size}, ctx));
  const char* footer = reinterpret_cast<const char*>(tail->data()) + tail_size - kFooterSize;
  if (std::string_view(footer + 12, 4) != "LANC") return Bad("not a Lance file, or a cut one");
  const auto major = LoadLE<uint16_t>(footer + 8), minor = LoadLE<uint16_t>(footer + 10);
  if (major != 0 || minor > 2) return Bad(fmt::format("it is of version {}.{}, its table says legacy", major, minor));
  const auto position = LoadLE<uint64_t>(footer);
  const uint64_t end = size - kFooterSize;
  if (position > end || end - position < 4) return Bad(fmt::format("its metadata cannot begin at {}", position));
  PILUM_ASSIGN_OR_RETURN(auto section, source.ReadRange({position, end - position}, ctx));
  const auto length = LoadLE<uint32_t>(section->data());
  if (length > end - position - 4) return Bad("its metadata are cut off");
  return ParseMetadata({reinterpret_cast<const char*>(section->data()) + 4, length});
}

}  // namespace

// Spans of rows that lie in one group, decoded whole, of which the wanted rows are given out.
class LegacyStream final : public BatchStream {
 public:
  LegacyStream(std::shared_ptr<const LegacyFile> file, Projection projection, RowSet rows, const BatchLimits& limits,
               const ReadContext& ctx)
      : file_(std::move(file)), projection_(std::move(projection)), left_(std::move(rows)), limits_(limits), ctx_(ctx) {
    limits_.rows = std::max<uint64_t>(1, limits_.rows);
  }
  const std::shared_ptr<arrow::Schema>& schema() const override { return projection_.schema; }
  const RowSet& rows() const override { return rows_; }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    if (!failed_.ok()) return failed_;
    auto batch = NextBatch();
    if (batch.ok()) return batch;
    const Status& st = batch.status();
    return failed_ = st.message().starts_with(file_->name()) ? st : WithContext(file_->name(), st);
  }

 private:
  Result<std::shared_ptr<arrow::RecordBatch>> NextBatch() {
    PILUM_RETURN_NOT_OK(ctx_.Check());
    if (left_.empty()) return nullptr;
    const auto& groups = file_->group_rows_;
    const uint64_t first = left_.ranges()[0].begin;
    const size_t group =
        static_cast<size_t>(std::upper_bound(groups.begin(), groups.end(), first) - groups.begin()) - 1;
    LegacyDecoder decoder(
        *file_->source_, [this, group](int32_t id) { return file_->PageOf(id, group); }, ctx_);
    RowSet wanted = left_.Intersect(RowSet::Range(first, groups[group + 1])).SliceByRank(0, limits_.rows);
    RowRange span;
    while (true) {
      span = {first - groups[group], wanted.ranges().back().end - groups[group]};
      PILUM_ASSIGN_OR_RETURN(const uint64_t bytes, TextBytes(&decoder, span));
      if (bytes <= limits_.bytes || wanted.size() == 1) break;
      wanted = wanted.SliceByRank(0, wanted.size() / 2);
    }
    arrow::ArrayVector columns;
    for (const int read : projection_.outputs) {
      PILUM_ASSIGN_OR_RETURN(auto column, Column(&decoder, projection_.reads[static_cast<size_t>(read)], span, wanted));
      columns.push_back(std::move(column));
    }
    rows_ = wanted;
    left_ = left_.Minus(wanted);
    return arrow::RecordBatch::Make(projection_.schema, static_cast<int64_t>(wanted.size()), std::move(columns));
  }

  Result<uint64_t> TextBytes(LegacyDecoder* decoder, RowRange span) const {
    uint64_t sum = 0;
    for (const ReadField& read : projection_.reads) {
      PILUM_ASSIGN_OR_RETURN(const uint64_t one,
                             decoder->TextBytes(*file_->fields_.schema->field(read.top_level), IdsOf(read), span));
      sum += one;
    }
    return sum;
  }

  const FieldIds& IdsOf(const ReadField& read) const {
    return file_->fields_.ids.children[static_cast<size_t>(read.top_level)];
  }

  // The whole field, then what of it is wanted.
  Result<std::shared_ptr<arrow::Array>> Column(LegacyDecoder* decoder, const ReadField& read, RowRange span,
                                               const RowSet& wanted) {
    PILUM_ASSIGN_OR_RETURN(auto array,
                           decoder->Decode(*file_->fields_.schema->field(read.top_level), IdsOf(read), span));
    PILUM_ASSIGN_OR_RETURN(array, PruneArray(array, read.field->type()));
    if (wanted.size() == span.size()) return array;
    const uint64_t first = wanted.ranges()[0].begin;
    arrow::ArrayVector pieces;
    for (const RowRange& r : wanted.ranges()) {
      pieces.push_back(array->Slice(static_cast<int64_t>(r.begin - first), static_cast<int64_t>(r.size())));
    }
    return arrow::Concatenate(pieces, ctx_.memory_pool());
  }

  const std::shared_ptr<const LegacyFile> file_;
  const Projection projection_;
  RowSet left_, rows_;
  BatchLimits limits_;
  ReadContext ctx_;
  Status failed_;
};

LegacyPage LegacyFile::PageOf(int32_t field, size_t group) const {
  if (field < fields_.first_id || field > fields_.last_id) return {};
  const uint64_t groups = group_rows_.size() - 1;
  const uint64_t at = (static_cast<uint64_t>(field - fields_.first_id) * groups + group) * kPageEntry;
  return {LoadLE<uint64_t>(pages_->data() + at), LoadLE<uint64_t>(pages_->data() + at + 8)};
}

Result<std::shared_ptr<const LegacyFile>> LegacyFile::Open(std::shared_ptr<const ByteSource> source,
                                                           LegacyFields fields, ReadContext& ctx) {
  auto out = std::make_shared<LegacyFile>();
  auto open = [&]() -> Status {
    PILUM_ASSIGN_OR_RETURN(Metadata metadata, ReadMetadata(*source, ctx));
    out->group_rows_ = std::move(metadata.group_rows);
    const auto ids = static_cast<uint64_t>(int64_t{fields.last_id} - fields.first_id + 1);
    const auto entries = CheckedMul(ids, out->group_rows_.size() - 1);
    const auto size = entries ? CheckedMul(*entries, kPageEntry) : std::nullopt;
    if (fields.last_id < fields.first_id || !size || metadata.page_table > source->size() ||
        *size > source->size() - metadata.page_table) {
      return Bad(fmt::format("its table of pages at {} does not fit into it", metadata.page_table));
    }
    PILUM_ASSIGN_OR_RETURN(out->pages_, source->ReadRange({metadata.page_table, *size}, ctx));
    PILUM_ASSIGN_OR_RETURN(out->leaves_, LeafColumnsOf(*fields.schema));
    return Status::OK();
  };
  Status st = open();
  if (!st.ok()) return st.message().starts_with(source->name()) ? st : WithContext(source->name(), st);
  out->source_ = std::move(source);
  out->fields_ = std::move(fields);
  return out;
}

Result<std::unique_ptr<BatchStream>> LegacyFile::Read(const std::vector<FieldPath>& columns, const RowSet& rows,
                                                      const BatchLimits& limits, const ReadContext& ctx) const {
  if (!rows.empty() && rows.ranges().back().end > num_rows()) {
    return UsageError("{}: row {} is out of range: the file has {} rows", name(), rows.ranges().back().end - 1,
                      num_rows());
  }
  PILUM_ASSIGN_OR_RETURN(auto projection, ProjectFields(name(), *fields_.schema, leaves_, columns));
  return std::make_unique<LegacyStream>(shared_from_this(), std::move(projection), rows, limits, ctx);
}

}  // namespace pilum
