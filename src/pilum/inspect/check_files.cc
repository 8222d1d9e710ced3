// The files of one version: each opens, has the rows that the manifest says, and decodes.
#include <algorithm>
#include <set>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/base/amounts.h"
#include "pilum/inspect/check.h"

namespace pilum {
namespace {

constexpr uint64_t kIdsAtOnce = 1 << 20;
constexpr size_t kMostRuns = 16 << 20;  // of row ids that are compared

struct IdRun {
  uint64_t begin = 0, end = 0, fragment = 0;
};

class FileChecker {
 public:
  FileChecker(std::shared_ptr<const Table> table, const References& refs, bool deep, CheckReport* report, Findings* out,
              ReadContext& ctx)
      : table_(std::move(table)), manifest_(table_->manifest()), deep_(deep), report_(report), out_(out), ctx_(ctx) {
    for (const WrongFile& w : refs.wrong) wrong_.insert(w.path);
    if (!table_->branch().empty()) prefix_ = BranchFolder(table_->branch()) + "/";
    context_.files = {table_, &table_->files()};
    context_.schema = {table_, &table_->columns()};
    context_.manifest = {table_, &manifest_};
  }

  Status Run() {
    for (const Fragment& f : manifest_.fragments) {
      PILUM_RETURN_NOT_OK(ctx_.Check());
      PILUM_RETURN_NOT_OK(CheckFragment(f));
    }
    CheckRuns();
    return Status::OK();
  }

 private:
  Status CheckFragment(const Fragment& f) {
    ++report_->fragments;
    const uint64_t problems = out_->problems();
    uint64_t rows = f.physical_rows;
    for (const DataFile& file : f.files) PILUM_RETURN_NOT_OK(CheckData(f, file, &rows));
    if (f.files.empty() && f.physical_rows == 0) {
      out_->Note("empty_fragment", Name(f), "it has no rows");
    }
    return CheckRows(f, deep_ && out_->problems() == problems);
  }

  // Missing files, and those of another size, are told by the folder already.
  bool IsToldAlready(const DataFile& file) const {
    return !file.base_id && wrong_.contains(prefix_ + "data/" + file.path);
  }

  Status CheckData(const Fragment& f, const DataFile& file, uint64_t* rows) {
    if (IsToldAlready(file)) return Status::OK();
    const std::string where = "data/" + file.path;
    auto source = table_->files().OpenData(file, ctx_);
    if (!source.ok()) return out_->FromStatus("missing_file", where, source.status());
    ++report_->files;
    report_->bytes += (*source)->size();
    if (file.base_id && !file.is_legacy() && file.size > 0 && file.size != (*source)->size()) {
      out_->Problem("wrong_size", where,
                    fmt::format("it has {} bytes; the manifest says {}", (*source)->size(), file.size));
      return Status::OK();
    }
    auto view = context_.schema->ViewOf(file);
    if (!view.ok()) return out_->FromStatus("wrong_fields", where, view.status());
    auto counted = file.is_legacy() ? OpenLegacy(f, file, **view, *source) : Open(f, file, **view, *source);
    if (!counted.ok()) return out_->FromStatus("damaged_file", where, counted.status());
    if (*rows == 0) *rows = *counted;
    if (*counted != *rows) {
      out_->Problem("wrong_rows", where,
                    fmt::format("it has {}; fragment {} has {}", Plural(*counted, "row"), f.id, Thousands(*rows)));
    }
    return Status::OK();
  }

  // How many rows it has.
  Result<uint64_t> Open(const Fragment&, const DataFile& file, const FileView& view,
                        std::shared_ptr<const ByteSource> source) {
    std::shared_ptr<const FileReader> reader;
    if (view.schema->num_fields() > 0) {
      PILUM_ASSIGN_OR_RETURN(reader, FileReader::OpenView(source, view, ctx_));
    }
    if (deep_ || !reader) {
      PILUM_ASSIGN_OR_RETURN(reader, FileReader::Open(source, ctx_));
    }
    if (deep_) {
      PILUM_ASSIGN_OR_RETURN(auto faults, reader->Check(ctx_));
      for (const Status& fault : faults) {
        PILUM_RETURN_NOT_OK(out_->FromStatus("damaged_file", "data/" + file.path, fault));
      }
    }
    return reader->num_rows();
  }

  Result<uint64_t> OpenLegacy(const Fragment&, const DataFile& file, const FileView& view,
                              std::shared_ptr<const ByteSource> source) {
    PILUM_ASSIGN_OR_RETURN(auto legacy, LegacyFile::Open(source, context_.schema->LegacyFieldsOf(file, view), ctx_));
    if (!deep_ || view.schema->num_fields() == 0) return legacy->num_rows();
    std::vector<FieldPath> columns;
    for (const auto& field : view.schema->fields()) columns.push_back(FieldPath{{field->name()}});
    PILUM_ASSIGN_OR_RETURN(auto stream, legacy->Read(columns, RowSet::All(legacy->num_rows()), {}, ctx_));
    while (true) {
      PILUM_ASSIGN_OR_RETURN(auto batch, stream->Next());
      if (!batch) break;
      PILUM_RETURN_NOT_OK(batch->ValidateFull());
    }
    return legacy->num_rows();
  }

  Status CheckRows(const Fragment& f, bool blobs) {
    auto physical = PhysicalFragment::Make(context_, f, ctx_);
    // Where its files do not open, that was said.
    if (!physical.ok()) return KindOf(physical.status()) == ErrorKind::kCancelled ? physical.status() : Status::OK();
    const uint64_t rows = (*physical)->num_rows();
    RowSet deleted;
    if (f.deletions) {
      auto read = (*physical)->ReadDeletions(ctx_);
      const std::string path = f.deletions->Path(f.id);
      if (!read.ok()) {
        if (!f.deletions->base_id && wrong_.contains(prefix_ + path)) return Status::OK();
        return out_->FromStatus("damaged_deletions", path, read.status(),
                                "without it deleted rows cannot be told from others: bring it back from a copy");
      }
      deleted = std::move(*read);
    }
    report_->rows += rows - deleted.size();
    if (blobs) PILUM_RETURN_NOT_OK(CheckBlobs(context_, **physical, out_, ctx_));
    for (const SystemColumn column : {SystemColumn::kCreatedAt, SystemColumn::kLastUpdatedAt}) {
      PILUM_RETURN_NOT_OK(CheckVersions(f, **physical, column));
    }
    return manifest_.has_stable_row_ids() ? CollectIds(f, **physical, deleted.Complement(rows)) : Status::OK();
  }

  Status CheckVersions(const Fragment& f, const PhysicalFragment& physical, SystemColumn column) {
    if (physical.num_rows() == 0) return Status::OK();
    auto values = physical.SystemValues(column, RowSet::Range(0, 1), ctx_);  // all of the sequence is parsed
    return out_->FromStatus("damaged_versions", Name(f), values.status());
  }

  Status CollectIds(const Fragment& f, const PhysicalFragment& physical, const RowSet& live) {
    for (uint64_t done = 0; done < live.size() && runs_.size() < kMostRuns; done += kIdsAtOnce) {
      auto ids = physical.SystemValues(SystemColumn::kRowId,
                                       live.SliceByRank(done, std::min(kIdsAtOnce, live.size() - done)), ctx_);
      if (!ids.ok()) return out_->FromStatus("damaged_row_ids", Name(f), ids.status());
      const auto& values = static_cast<const arrow::UInt64Array&>(**ids);
      for (int64_t i = 0; i < values.length(); ++i) {
        const uint64_t id = values.Value(i);
        if (!runs_.empty() && runs_.back().fragment == f.id && runs_.back().end == id) {
          ++runs_.back().end;
        } else {
          runs_.push_back({id, id + 1, f.id});
        }
      }
    }
    return Status::OK();
  }

  void CheckRuns() {
    if (runs_.size() >= kMostRuns) {
      out_->Note("row_ids_not_compared", "row ids", "there are too many runs of them to compare them all");
      return;
    }
    std::sort(runs_.begin(), runs_.end(), [](const IdRun& a, const IdRun& b) { return a.begin < b.begin; });
    for (size_t i = 1; i < runs_.size(); ++i) {
      if (runs_[i].begin < runs_[i - 1].end) {
        out_->Problem("row_id_used_twice", Name(runs_[i].fragment),
                      fmt::format("row id {} is that of two rows; the other is in fragment {}", runs_[i].begin,
                                  runs_[i - 1].fragment));
      }
    }
    uint64_t end = 0;
    for (const IdRun& run : runs_) end = std::max(end, run.end);
    if (end > manifest_.next_row_id) {
      out_->Problem("wrong_next_row_id", "manifest",
                    fmt::format("it would give row id {} next, but {} is in use: new rows would get ids of others",
                                manifest_.next_row_id, end - 1));
    }
  }

  static std::string Name(const Fragment& f) { return Name(f.id); }
  static std::string Name(uint64_t fragment) { return fmt::format("fragment {}", fragment); }

  const std::shared_ptr<const Table> table_;
  const Manifest& manifest_;
  const bool deep_;
  CheckReport* const report_;
  Findings* const out_;
  ReadContext& ctx_;
  std::set<std::string> wrong_;  // paths that are told already
  std::string prefix_;           // of the branch's folder
  TableContext context_;
  std::vector<IdRun> runs_;
};

}  // namespace

Status CheckFiles(const std::shared_ptr<const Table>& table, const References& refs, bool deep, CheckReport* report,
                  Findings* out, ReadContext& given) {
  ReadContext ctx = given;
  ctx.allow_unstable = true;  // as tables are read
  return FileChecker(table, refs, deep, report, out, ctx).Run();
}

}  // namespace pilum
