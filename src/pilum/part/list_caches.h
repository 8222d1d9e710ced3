// The caches of one kind (bundles, segments) that a dataset has: listed, opened, the newest first. Used inside part/ only.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "pilum/index/part_index.h"
#include "pilum/base/for_each.h"
#include "pilum/part/part_files.h"

namespace pilum {

// Listed: {ObjectInfo info; pointer to what is opened; std::string note}. `wanted(path)` says which objects are of the kind,
// `open(info)` gives the `member`; one that cannot be opened has the reason as its note. Errors are those of the listing, and
// what stops a read.
template <typename Listed, typename Pointer, typename Wanted, typename Open>
Result<std::vector<Listed>> ListCaches(const DatasetFiles& files, const std::string& folder, Pointer Listed::*member,
                                       Wanted wanted, Open open, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto infos, files.store->List(files.prefix + folder, ctx));
  std::vector<Listed> out;
  for (ObjectInfo& info : infos) {
    if (!wanted(info.path)) continue;
    out.emplace_back();
    out.back().info = std::move(info);
  }
  std::stable_sort(out.begin(), out.end(), [](const Listed& a, const Listed& b) {
    return a.info.modified != b.info.modified ? a.info.modified > b.info.modified : a.info.path < b.info.path;
  });
  PILUM_RETURN_NOT_OK(ForEach(
      out.size(), files.parallel(ctx),
      [&](size_t i) -> Status {
        Result<Pointer> opened = open(out[i].info);
        if (opened.ok())
          out[i].*member = std::move(*opened);
        else if (StopsARead(opened.status()))
          return opened.status();
        else
          out[i].note = opened.status().message();
        return Status::OK();
      },
      1));
  return out;
}

}  // namespace pilum
