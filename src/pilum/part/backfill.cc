#include "pilum/part/backfill.h"

#include <algorithm>

#include <arrow/buffer.h>
#include <arrow/type.h>

#include "pilum/index/sidecar_builder.h"
#include "pilum/part/dataset_file.h"
#include "pilum/part/part_spool.h"
#include "pilum/part/part_unit.h"
#include "pilum/part/store_view.h"

namespace pilum {
namespace {

class Backfiller {
 public:
  Backfiller(const DatasetFiles& files, const BackfillOptions& options, ReadContext& ctx)
      : files_(files), options_(options), ctx_(ctx) {}

  Result<BackfillResult> Run() {
    PILUM_ASSIGN_OR_RETURN(const ListedView view, ListView(files_, true, ctx_));
    if (view.parts.visible.empty()) return files_.NoDataset();
    PILUM_ASSIGN_OR_RETURN(spec_, ReadDatasetSpec(files_, ctx_));
    for (const PartFile& part : view.parts.visible) {
      PILUM_RETURN_NOT_OK(ctx_.Check());
      const Status st = Part(part);
      if (!st.ok() && KindOf(st) != ErrorKind::kNotFound) return WithContext(fmt::format("part {}", part.name), st);
      result_.parts += st.ok();  // else merged and swept meanwhile
    }
    return result_;
  }

 private:
  Status Part(const PartFile& part) {
    PILUM_ASSIGN_OR_RETURN(const Hash128 identity, PartIdentity(files_, part, ctx_));
    bool done = true;
    if (options_.all) {
      PILUM_ASSIGN_OR_RETURN(done, IsOfThisBuild(part, identity));
    }
    for (const auto& sidecar : files_.Sidecars(part.name)) {
      if (!done) break;
      PILUM_ASSIGN_OR_RETURN(done, IsWholeSidecar(files_, part.name, sidecar, identity, ctx_));
    }
    return done ? Status::OK() : Rebuild(part, identity);
  }

  // Did these rules and this dataset.toml make its sidecars? The one that says so was written last.
  Result<bool> IsOfThisBuild(const PartFile& part, const Hash128& identity) {
    auto stats = OpenPartIndex(files_, files_.StatsPath(part.name), SidecarKind::kStats, identity, ctx_);
    auto decisions = stats.ok() ? (*stats)->Decisions(ctx_) : stats.status();
    if (!decisions.ok()) return StopsARead(decisions.status()) ? Result<bool>(decisions.status()) : false;
    PILUM_ASSIGN_OR_RETURN(const auto asked, SidecarSchema(spec_, arrow::schema({})));
    return std::any_of(decisions->begin(), decisions->end(), [&](const BuildDecision& d) {
      return d.column == SidecarBuilder::kBuiltBy && d.reason == SidecarBuilder::BuiltBy(*asked);
    });
  }

  Status Rebuild(const PartFile& part, const Hash128& identity) {
    PILUM_ASSIGN_OR_RETURN(auto source, files_.store->OpenSource(part.path, ctx_));
    PILUM_ASSIGN_OR_RETURN(auto reader, FileReader::Open(std::move(source), ctx_));
    PILUM_ASSIGN_OR_RETURN(const auto sidecar_schema, SidecarSchema(spec_, reader->schema()));
    SidecarBuilder builder(*sidecar_schema);
    PILUM_ASSIGN_OR_RETURN(auto stream, reader->Read(std::nullopt, RowSet::All(reader->num_rows()), {}, ctx_));
    while (true) {
      PILUM_RETURN_NOT_OK(ctx_.Check());
      PILUM_ASSIGN_OR_RETURN(auto batch, stream->Next());
      if (!batch) break;
      PILUM_RETURN_NOT_OK(builder.Append(*batch));
    }
    PILUM_ASSIGN_OR_RETURN(const auto built, builder.Finish(*reader->schema(), identity));
    bool changed = false;
    for (const auto& [path, kind] : files_.Sidecars(part.name)) {
      const std::string& bytes = built.Of(kind);
      if (bytes.empty()) {  // nothing asks for words any more
        PILUM_ASSIGN_OR_RETURN(const bool there, files_.store->Exists(path));
        if (there) PILUM_RETURN_NOT_OK(files_.store->Remove(path));
        changed |= there;
        continue;
      }
      PILUM_ASSIGN_OR_RETURN(const bool same, Holds(path, bytes));
      if (same) continue;
      PILUM_RETURN_NOT_OK(WriteObject(*files_.store, path, bytes));
      if (files_.has_disk()) files_.disk->Remove(files_.CacheKey(path));
      changed = true;
      result_.bytes += bytes.size();
    }
    result_.rebuilt += changed;
    return Status::OK();
  }

  Result<bool> Holds(const std::string& path, const std::string& bytes) {
    auto source = files_.store->OpenSource(path, ctx_);
    if (!source.ok() && KindOf(source.status()) == ErrorKind::kNotFound) return false;
    PILUM_RETURN_NOT_OK(source.status());
    if ((*source)->size() != bytes.size()) return false;
    PILUM_ASSIGN_OR_RETURN(BufferPtr there, (*source)->ReadRange({0, bytes.size()}, ctx_));
    return there->ToString() == bytes;
  }

  const DatasetFiles& files_;
  const BackfillOptions options_;
  ReadContext& ctx_;
  std::optional<DatasetSpec> spec_;
  BackfillResult result_;
};

}  // namespace

Result<BackfillResult> Backfill(const DatasetFiles& files, const BackfillOptions& options, ReadContext& ctx) {
  return Backfiller(files, options, ctx).Run();
}

}  // namespace pilum
