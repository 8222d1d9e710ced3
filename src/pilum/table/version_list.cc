#include "pilum/table/version_list.h"

#include <algorithm>
#include <optional>
#include <string>

#include "pilum/base/for_each.h"
#include "pilum/table/find_version.h"
#include "pilum/table/manifest_fragment.h"
#include "pilum/table/manifest_pieces.h"

namespace pilum {
namespace {

constexpr size_t kShortestRun = 16;  // versions that one thread reads one after another

// Looks through manifests of versions that follow each other. What one has in common with the one before, most of its
// fragments and its schema, is compared and not parsed again.
class Summarizer {
 public:
  // Fails where ParseManifest does.
  Result<TableVersion> Read(ManifestMessage message) {
    PILUM_ASSIGN_OR_RETURN(ManifestPieces pieces, SplitManifest(message.bytes));
    PILUM_ASSIGN_OR_RETURN(const Manifest head, ParseHead(pieces));
    if (pieces.schema != schema_ || !schema_parses_) {
      schema_parses_ = false;
      PILUM_RETURN_NOT_OK(ParseSchemaMessage(pieces.schema).status());
      schema_parses_ = true;
    }
    TableVersion out{head.version, head.timestamp_ns, {}};
    std::vector<TableTotals> totals;
    totals.reserve(pieces.fragments.size());
    for (size_t i = 0; i < pieces.fragments.size(); ++i) {
      if (head.has_stable_row_ids() != stable_ || i >= fragments_.size() || fragments_[i] != pieces.fragments[i]) {
        Fragment f;
        PILUM_RETURN_NOT_OK(ParseFragment(pieces.fragments[i], head.has_stable_row_ids(), &f));
        totals.emplace_back().Add(f);
      } else {
        totals.push_back(totals_[i]);
      }
      out.totals.Add(totals.back());
    }
    schema_ = std::move(pieces.schema);
    fragments_ = std::move(pieces.fragments);
    totals_ = std::move(totals);
    stable_ = head.has_stable_row_ids();
    kept_ = std::move(message.buffer);
    return out;
  }

 private:
  // Of the manifest before.
  std::string schema_;
  bool schema_parses_ = false, stable_ = false;
  std::vector<std::string_view> fragments_;
  std::vector<TableTotals> totals_;
  BufferPtr kept_;  // fragments_ lie in it
};

}  // namespace

Result<std::vector<TableVersion>> ReadVersions(const ReadOnlyStore& table, const std::vector<ListedVersion>& listed,
                                               ReadContext& ctx) {
  std::vector<std::optional<TableVersion>> found(listed.size());
  const int threads = std::max({1, ctx.threads, table.cost().parallel});
  const size_t length = std::max(kShortestRun, listed.size() / (4 * static_cast<size_t>(threads)) + 1);
  const size_t runs = (listed.size() + length - 1) / length;
  PILUM_RETURN_NOT_OK(ForEach(
      runs, threads,
      [&](size_t run) -> Status {
        Summarizer summarizer;
        for (size_t i = run * length; i < std::min(listed.size(), (run + 1) * length); ++i) {
          auto version = [&]() -> Result<TableVersion> {
            PILUM_ASSIGN_OR_RETURN(auto source, table.OpenSource(listed[i].path(), ctx));
            PILUM_ASSIGN_OR_RETURN(auto message, ReadManifestMessage(*source, ctx));
            return summarizer.Read(std::move(message));
          }();
          if (version.ok() && version->version == listed[i].name.version) found[i] = *version;
          if (!version.ok() && !IsUnreadable(version.status())) return version.status();
        }
        return Status::OK();
      },
      1));
  std::vector<TableVersion> out;
  out.reserve(found.size());
  for (auto& version : found) {
    if (version) out.push_back(*version);
  }
  return out;
}

}  // namespace pilum
