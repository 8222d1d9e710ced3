#include "pilum/table/commit/stored_version.h"

#include <bit>

#include "pilum/table/feature_flags.h"
#include "pilum/table/find_version.h"
#include "pilum/table/transaction.h"

namespace pilum {
namespace {

// Flags of the writers' word that this Pilum keeps as they want to be kept.
constexpr uint64_t kKept = table_flags::kDeletionFiles | table_flags::kStableRowIds | table_flags::kV2Format |
                           table_flags::kConfig | table_flags::kBasePaths | table_flags::kNoTransactionFiles |
                           table_flags::kCoveringIndices | table_flags::kMixedFileVersions;

Result<std::shared_ptr<const StoredVersion>> Parse(const std::string& name, const ListedVersion& listed,
                                                   std::shared_ptr<const Manifest> manifest, const ByteSource* source,
                                                   ReadContext& ctx) {
  auto out = std::make_shared<StoredVersion>();
  out->listed = listed;
  out->read = std::move(manifest);
  const Status parsed = ParseWire(out->read->message, "manifest message", &out->manifest);
  if (!parsed.ok()) return WithContext(name, parsed);
  if (out->read->indices) {
    PILUM_ASSIGN_OR_RETURN(const std::string section, ReadManifestSection(*source, *out->read->indices, ctx));
    const Status st = ParseWire(section, "section of indices", &out->indices);
    if (!st.ok()) return WithContext(name, st);
  }
  return out;
}

Result<std::optional<wire::Transaction>> MadeBy(const ReadOnlyStore& table, const ByteSource& source,
                                                const Manifest& manifest, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto found, ReadTransactionBytes(table, source, manifest, ctx));
  if (!found) return std::optional<wire::Transaction>();
  std::optional<wire::Transaction> out(std::in_place);
  PILUM_RETURN_NOT_OK(ParseWire(found->message, "transaction", &*out));
  return out;
}

}  // namespace

Result<std::shared_ptr<const StoredVersion>> LoadStored(const ReadOnlyStore& table, const ListedVersion& listed,
                                                        std::shared_ptr<const Manifest> manifest, ReadContext& ctx) {
  std::shared_ptr<const ByteSource> source;
  if (manifest->indices) {
    PILUM_ASSIGN_OR_RETURN(source, table.OpenSource(listed.path(), ctx));
  }
  return Parse(table.uri() + "/" + listed.path(), listed, std::move(manifest), source.get(), ctx);
}

Result<std::shared_ptr<const StoredVersion>> LoadStored(const ReadOnlyStore& table, const ListedVersion& listed,
                                                        ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(const auto source, table.OpenSource(listed.path(), ctx));
  PILUM_ASSIGN_OR_RETURN(auto manifest, ReadListed(*source, listed, ctx));
  return Parse(table.uri() + "/" + listed.path(), listed, std::move(manifest), source.get(), ctx);
}

Result<std::shared_ptr<const StoredVersion>> LoadStored(const ReadOnlyStore& table, const ListedVersion& listed,
                                                        Result<std::optional<wire::Transaction>>* made_by,
                                                        ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(const auto source, table.OpenSource(listed.path(), ctx));
  PILUM_ASSIGN_OR_RETURN(auto manifest, ReadListed(*source, listed, ctx));
  *made_by = MadeBy(table, *source, *manifest, ctx);
  return Parse(table.uri() + "/" + listed.path(), listed, std::move(manifest), source.get(), ctx);
}

Result<std::optional<wire::Transaction>> LoadTransaction(const ReadOnlyStore& table, const ListedVersion& listed,
                                                         ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(const auto source, table.OpenSource(listed.path(), ctx));
  PILUM_ASSIGN_OR_RETURN(const auto manifest, ReadListed(*source, listed, ctx));
  return MadeBy(table, *source, *manifest, ctx);
}

Status CheckWritable(const StoredVersion& version) {
  const auto& m = version.manifest;
  std::string refused;
  for (uint64_t flags = m.writer_feature_flags() & ~kKept; flags != 0; flags &= flags - 1) {
    refused += (refused.empty() ? "" : ", ") + FeatureFlagNames(flags & -flags);
  }
  if (m.has_max_allocated_field_id())
    refused += std::string(refused.empty() ? "" : ", ") + "field ids of no second use";
  if (!refused.empty()) {
    return Unsupported("version {} cannot be written on by this Pilum, which would not keep: {}; a newer one may",
                       m.version(), refused);
  }
  return Status::OK();
}

}  // namespace pilum
