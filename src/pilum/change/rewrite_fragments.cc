#include "pilum/change/rewrite_fragments.h"

#include <algorithm>
#include <bit>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/byte_size.h>

#include "pilum/change/blob_columns.h"
#include "pilum/change/moved_blobs.h"
#include "pilum/change/read_rows.h"
#include "pilum/table/commit/row_id_bytes.h"

namespace pilum {
namespace {

constexpr uint64_t kBatchBytes = 16 << 20;

// A page of each column is in memory. Where a page is a request it is worth its size; on a disk the columns share a quarter
// of that, so much for each.
constexpr uint64_t kColumnBytes = 2 << 20;

uint64_t CountLeaves(const arrow::DataType& type) {
  uint64_t n = type.num_fields() == 0;
  for (const auto& child : type.fields()) n += CountLeaves(*child->type());
  return n;
}

struct Pages {
  uint64_t bytes, rows;
};

// Wide columns have large pages then, narrow ones small. So many rows that batches of scans seldom lie in two pages of a
// column, where they must be put together. Where that would be few rows each column has its share by itself.
Pages PagesOf(const arrow::RecordBatch& first, FileVersion version) {
  constexpr uint64_t kFewestRows = 1 << 16;
  uint64_t leaves = 0;
  for (const auto& field : first.schema()->fields()) leaves += CountLeaves(*field->type());
  const auto bytes =
      static_cast<uint64_t>(arrow::util::ReferencedBufferSize(first).ValueOr(arrow::util::TotalBufferSize(first)));
  const uint64_t row = std::max<uint64_t>(bytes / static_cast<uint64_t>(std::max<int64_t>(first.num_rows(), 1)), 1);
  const uint64_t rows = std::bit_floor(leaves * kColumnBytes / row);
  if (rows < kFewestRows || version == FileVersion::kV2_0) return {kColumnBytes, 0};
  return {WriteOptions().page_bytes, rows};
}

// What rows of tables with stable row ids take along, until the fragment that they are in is complete.
class Lineage {
 public:
  explicit Lineage(bool stable) : stable_(stable) {}

  Status Add(const PhysicalFragment& from, const RowSet& rows, ReadContext& ctx) {
    if (!stable_) return Status::OK();
    PILUM_RETURN_NOT_OK(Append(from, SystemColumn::kRowId, rows, &ids_, ctx));
    PILUM_RETURN_NOT_OK(Append(from, SystemColumn::kCreatedAt, rows, &created_, ctx));
    return Append(from, SystemColumn::kLastUpdatedAt, rows, &updated_, ctx);
  }

  // The first rows are those of `fragment`.
  void Settle(wire::DataFragment* fragment) {
    if (!stable_) return;
    const auto rows = static_cast<size_t>(fragment->physical_rows());
    fragment->set_inline_row_ids(SerializeRowIds(TakeFirst(rows, &ids_)));
    fragment->set_inline_created_at(SerializeRowVersions(TakeFirst(rows, &created_)));
    fragment->set_inline_last_updated_at(SerializeRowVersions(TakeFirst(rows, &updated_)));
  }

 private:
  using Numbers = std::vector<uint64_t>;

  static Status Append(const PhysicalFragment& from, SystemColumn column, const RowSet& rows, Numbers* out,
                       ReadContext& ctx) {
    PILUM_ASSIGN_OR_RETURN(auto array, from.SystemValues(column, rows, ctx));
    const auto& values = static_cast<const arrow::UInt64Array&>(*array);
    out->insert(out->end(), values.raw_values(), values.raw_values() + values.length());
    return Status::OK();
  }
  static Numbers TakeFirst(size_t n, Numbers* from) {
    const auto end = from->begin() + static_cast<ptrdiff_t>(n);
    Numbers out(from->begin(), end);
    from->erase(from->begin(), end);
    return out;
  }

  const bool stable_;
  Numbers ids_, created_, updated_;
};

// How many rows each new file has: as many files as are full, of nearly the same size.
class FileSizes {
 public:
  FileSizes(uint64_t rows, uint64_t target)
      : files_(std::max<uint64_t>(1, rows / std::max<uint64_t>(1, target))), rows_(rows) {}
  uint64_t Of(uint64_t file) const {
    file = std::min(file, files_ - 1);
    return std::max<uint64_t>(1, rows_ / files_ + (file < rows_ % files_ ? 1 : 0));
  }

 private:
  const uint64_t files_, rows_;
};

class Rewriter {
 public:
  Rewriter(const ChangeBase& base, TableContext context, FileVersion version, const CompactionOptions& options,
           ReadContext& ctx)
      : context_(std::move(context)),
        columns_(AllColumns(*base.table)),
        writer_(base.store, context_.manifest->schema.schema,
                std::make_shared<const FieldIds>(context_.manifest->schema.ids),
                {.version = version,
                 .max_rows_per_file = UINT64_MAX,
                 .max_bytes_per_file = UINT64_MAX,
                 .blobs = {.outside = true, .bases = context_.manifest->base_paths}}),
        share_pages_(!base.store->cost().remote),
        version_(version),
        batch_rows_(options.batch_rows),
        max_bytes_(options.max_bytes_per_file),
        lineage_(context_.manifest->has_stable_row_ids()),
        ctx_(ctx) {
    limits_.bytes = kBatchBytes;
    if (options.batch_rows > 0) limits_.rows = options.batch_rows;
  }

  // Of all fragments first, then Rewrite.
  Status Add(const Fragment& fragment) {
    PILUM_ASSIGN_OR_RETURN(auto from, PhysicalFragment::Make(context_, fragment, ctx_));
    PILUM_ASSIGN_OR_RETURN(const RowSet deleted, from->ReadDeletions(ctx_));
    RowSet live = deleted.Complement(from->num_rows());
    rows_ += live.size();
    from_.push_back({std::move(from), std::move(live)});
    return Status::OK();
  }

  Result<std::vector<std::string>> Rewrite(uint64_t target) {
    const FileSizes sizes(rows_, target);
    for (Source& one : from_) {
      const Source source = std::exchange(one, {});  // its files are open only so long
      PILUM_RETURN_NOT_OK(Copy(source, sizes));
    }
    PILUM_RETURN_NOT_OK(EndFile());
    PILUM_RETURN_NOT_OK(writer_.Finish().status());
    return std::move(out_);
  }

 private:
  struct Source {
    std::shared_ptr<const PhysicalFragment> fragment;
    RowSet live;
  };

  Status Copy(const Source& source, const FileSizes& sizes) {
    if (source.live.empty()) return Status::OK();
    MovedBlobs blobs(context_, source.fragment->fragment());
    PILUM_ASSIGN_OR_RETURN(auto stream, source.fragment->Read(columns_, source.live, limits_, ctx_));
    for (;;) {
      PILUM_RETURN_NOT_OK(ctx_.Check());
      PILUM_ASSIGN_OR_RETURN(auto batch, stream->Next());
      if (!batch) return Status::OK();
      PILUM_RETURN_NOT_OK(lineage_.Add(*source.fragment, stream->rows(), ctx_));
      const auto write = [&](int64_t, const arrow::RecordBatch& piece) { return Write(piece, sizes); };
      PILUM_RETURN_NOT_OK(blobs.Each(*batch, ctx_, write));
    }
  }

  Status Write(const arrow::RecordBatch& batch, const FileSizes& sizes) {
    for (int64_t at = 0; at < batch.num_rows();) {
      const uint64_t room = sizes.Of(out_.size()) - in_file_;
      const auto n = static_cast<int64_t>(std::min(room, static_cast<uint64_t>(batch.num_rows() - at)));
      if (in_file_ == 0 && share_pages_) {
        const Pages pages = PagesOf(batch, version_);
        writer_.SetPages(pages.bytes, pages.rows);
      }
      PILUM_RETURN_NOT_OK(writer_.Write(n == batch.num_rows() ? batch : *batch.Slice(at, n)));
      at += n;
      in_file_ += static_cast<uint64_t>(n);
      if (in_file_ == sizes.Of(out_.size()) || IsTooLarge(static_cast<uint64_t>(n))) {
        PILUM_RETURN_NOT_OK(writer_.EndFragment());
      }
      PILUM_RETURN_NOT_OK(Settle());
    }
    return Status::OK();
  }
  Status EndFile() {
    PILUM_RETURN_NOT_OK(writer_.EndFragment());
    return Settle();
  }
  // Asked after each batch as the caller wants them; those that are read may be smaller.
  bool IsTooLarge(uint64_t more_rows) {
    unasked_ += more_rows;
    if (unasked_ < batch_rows_) return false;
    unasked_ = 0;
    return writer_.file_bytes() >= max_bytes_;
  }
  Status Settle() {
    const auto& ended = writer_.ended();
    while (out_.size() < static_cast<size_t>(ended.size())) {
      wire::DataFragment fragment = ended[static_cast<int>(out_.size())];
      lineage_.Settle(&fragment);
      out_.push_back(SerializeWire(fragment));
      in_file_ = unasked_ = 0;
    }
    return Status::OK();
  }

  const TableContext context_;
  const std::vector<FieldPath> columns_;
  std::vector<Source> from_;
  uint64_t rows_ = 0;
  FragmentWriter writer_;
  const bool share_pages_;
  const FileVersion version_;
  const uint64_t batch_rows_, max_bytes_;
  uint64_t in_file_ = 0, unasked_ = 0;  // rows of the file that is open; since its bytes were looked at
  Lineage lineage_;
  BatchLimits limits_;
  std::vector<std::string> out_;
  ReadContext& ctx_;
};

}  // namespace

CompactionMetrics& CompactionMetrics::operator+=(const CompactionMetrics& other) {
  fragments_removed += other.fragments_removed;
  fragments_added += other.fragments_added;
  files_removed += other.files_removed;
  files_added += other.files_added;
  return *this;
}

Result<RewriteResult> RewriteFragments(const ChangeBase& base, const CompactionTask& task,
                                       const CompactionOptions& options, ReadContext& ctx) {
  const Table& table = *base.table;
  PILUM_ASSIGN_OR_RETURN(const FileVersion version, DataVersionOf(*base.stored, options.data_version));
  PILUM_ASSIGN_OR_RETURN(TableContext context, ContextToMove(table));
  Rewriter rewriter(base, std::move(context), version, options, ctx);
  RewriteResult out;
  out.read_version = table.manifest().version;
  out.old_fragments = task.fragments;
  for (const uint64_t id : task.fragments) {
    const Fragment* fragment = table.manifest().FindFragment(id);
    if (!fragment) return NotFoundError("{}: version {} has no fragment {}", table.uri(), out.read_version, id);
    PILUM_RETURN_NOT_OK(rewriter.Add(*fragment));
    out.metrics.files_removed += fragment->files.size() + (fragment->deletions ? 1 : 0);
  }
  PILUM_ASSIGN_OR_RETURN(out.new_fragments, rewriter.Rewrite(options.target_rows_per_fragment));
  out.metrics.fragments_removed = task.fragments.size();
  out.metrics.fragments_added = out.metrics.files_added = out.new_fragments.size();
  return out;
}

Result<std::vector<std::string>> FilesOf(const Table& table, const RewriteResult& result, ReadContext& ctx) {
  const bool blobs = HasBlobV2(*table.manifest().schema.schema);
  std::vector<std::string> out;
  for (const std::string& message : result.new_fragments) {
    wire::DataFragment fragment;
    PILUM_RETURN_NOT_OK(ParseWire(message, "new fragment of a compaction", &fragment));
    for (const auto& file : fragment.files()) {
      out.push_back("data/" + file.path());
      if (!blobs) continue;
      const std::string folder = BlobFolder(out.back());
      PILUM_ASSIGN_OR_RETURN(const auto beside, table.context().files->root().ListPaths(folder, ctx));
      out.insert(out.end(), beside.begin(), beside.end());
    }
  }
  return out;
}

}  // namespace pilum
