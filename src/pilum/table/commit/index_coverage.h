// Which fragments each index is said to cover, as rows change under it. An index covers less at once where that could be
// wrong, and never more unless its rows are known to have kept their ids. Called by apply*.cc. Pure.
// Format: docs/formats/table.md, "Indices while writing".
#pragma once

#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "pilum/table/commit/wire.h"

namespace pilum {

struct RewrittenFragments {
  std::set<uint64_t> old_ids, new_ids;
};

// Indices on columns that left the schema go. Of several segments of one index those go that cover no fragment any more;
// of a vector index the last one too.
void KeepRelevantIndices(const wire::Manifest& manifest, wire::IndexSection* indices);
// Coverage that a very old writer (before 0.8.15), or nobody known, put there is not believed: it is taken away, and Lance
// works it out anew.
void ForgetUnsureCoverage(const wire::Manifest& manifest, wire::IndexSection* indices);
// `updated`: fragments whose columns `fields` have other values now.
void CutCoverage(const google::protobuf::RepeatedPtrField<wire::DataFragment>& updated,
                 const std::set<uint32_t>& fields, wire::IndexSection* indices);
// `added`: fragments of nothing but rows that moved out of the fragments `from`, with their ids. Indices that hold ids and
// none of the `changed` fields, and covered all that the rows come from, cover them still.
void ExtendCoverage(const std::set<uint64_t>& added, const std::set<uint64_t>& from, const std::set<uint32_t>& changed,
                    wire::IndexSection* indices);
// Fragments were rewritten, with their row ids if those are stable. kUsage where a group mixes covered and uncovered ones,
// or names an index that is not there.
Status MoveCoverage(const std::vector<RewrittenFragments>& groups, const wire::Transaction::Rewrite& op,
                    bool stable_row_ids, wire::IndexSection* indices);

// Does an index hold row addresses, whatever the table's row ids are? `details`: the type of its details, a URL.
bool HoldsAddresses(std::string_view details, int32_t version);
bool HoldsAddresses(const wire::IndexMetadata& index);

}  // namespace pilum
