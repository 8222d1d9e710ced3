#include "pilum/part/attribute.h"

#include <algorithm>
#include <map>

#include <fmt/ranges.h>

#include "pilum/file/file_reader.h"
#include "pilum/part/list_uniform.h"
#include "pilum/part/part_unit.h"
#include "pilum/part/store_view.h"

namespace pilum {
namespace {

constexpr char kContainer[] = "container";  // headers, directories, metadata, padding

class Attributor {
 public:
  Attributor(const DatasetFiles& files, ReadContext& ctx) : files_(files), ctx_(ctx) {}

  Result<std::vector<AttributedBytes>> Run() {
    PILUM_ASSIGN_OR_RETURN(const ListedView view, ListView(files_, true, ctx_));
    if (view.parts.visible.empty()) return files_.NoDataset();
    PILUM_ASSIGN_OR_RETURN(const auto side, ListUniform(*files_.store, files_.prefix + "side/", ctx_));
    for (const ObjectInfo& info : side) sizes_[info.path] = info.size;
    for (const PartFile& part : view.parts.visible) {
      PILUM_RETURN_NOT_OK(ctx_.Check());
      const Status st = Part(part);
      if (!st.ok()) return WithContext(fmt::format("part {}", part.name), st);
    }
    return std::move(out_);
  }

 private:
  Status Part(const PartFile& part) {
    PILUM_RETURN_NOT_OK(File(part));
    PILUM_ASSIGN_OR_RETURN(const Hash128 identity, PartIdentity(files_, part, ctx_));
    PILUM_RETURN_NOT_OK(Sidecar(part, files_.IndexPath(part.name), "idx", SidecarKind::kIndex, identity));
    PILUM_RETURN_NOT_OK(Sidecar(part, files_.HeaderPath(part.name), "idxh", SidecarKind::kHeader, identity));
    PILUM_RETURN_NOT_OK(Sidecar(part, files_.TermsPath(part.name), "terms", SidecarKind::kTerms, identity));
    return Sidecar(part, files_.StatsPath(part.name), "stats", SidecarKind::kStats, identity);
  }

  Status File(const PartFile& part) {
    Object object(this, part.name, "lance", part.size);
    PILUM_ASSIGN_OR_RETURN(auto source, files_.store->OpenSource(part.path, ctx_));
    PILUM_ASSIGN_OR_RETURN(auto reader, FileReader::Open(std::move(source), ctx_));
    for (const ColumnInfo& column : reader->Columns()) object.Add(column.name, "values", column.bytes);
    return Status::OK();
  }

  Status Sidecar(const PartFile& part, const std::string& path, const char* name, SidecarKind kind,
                 const Hash128& identity) {
    const auto size = sizes_.find(path);
    if (size == sizes_.end()) return Status::OK();
    Object object(this, part.name, name, size->second);
    auto opened = OpenPartIndex(files_, path, kind, identity, ctx_);
    if (!opened.ok()) {
      if (StopsARead(opened.status())) return opened.status();
      object.Add("", "not usable", size->second);
      return Status::OK();
    }
    for (const SectionEntry& entry : (*opened)->sidecar().entries()) {
      if (entry.state != SectionState::kPresent) continue;
      std::vector<std::string> columns;
      for (const FieldPath& column : entry.columns) columns.push_back(column.ToString());
      const std::string_view family = FamilyName(entry.family);
      object.Add(fmt::format("{}", fmt::join(columns, ", ")),
                 family.empty() ? fmt::format("family {}", entry.family) : std::string(family), entry.length);
    }
    return Status::OK();
  }

  // The rows of one object; what no column has is the container's, so that they add up to its size.
  class Object {
   public:
    Object(Attributor* to, std::string part, std::string name, uint64_t size)
        : to_(to), part_(std::move(part)), name_(std::move(name)), left_(size) {}
    ~Object() {
      if (left_ > 0) to_->out_.push_back({part_, name_, "", kContainer, left_});
    }
    void Add(std::string column, std::string family, uint64_t bytes) {
      bytes = std::min(bytes, left_);
      left_ -= bytes;
      if (bytes > 0) to_->out_.push_back({part_, name_, std::move(column), std::move(family), bytes});
    }

   private:
    Attributor* const to_;
    const std::string part_, name_;
    uint64_t left_;
  };

  const DatasetFiles& files_;
  ReadContext& ctx_;
  std::map<std::string, uint64_t> sizes_;  // of all sidecars, by path
  std::vector<AttributedBytes> out_;
};

}  // namespace

Result<std::vector<AttributedBytes>> Attribute(const DatasetFiles& files, ReadContext& ctx) {
  return Attributor(files, ctx).Run();
}

}  // namespace pilum
