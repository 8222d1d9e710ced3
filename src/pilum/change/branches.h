// Branches made and taken away. A branch is a table of its own in tree/NAME/, whose first version is one of another branch,
// and a file that says so. Called by python. Format: docs/formats/table.md, "Tags and branches".
#pragma once

#include <map>
#include <string>

#include "pilum/change/change.h"

namespace pilum {

// `at`: the version that it begins with, open. What a creation that did not end left there is taken over if it is of the
// same version. kUsage where the name is no branch's, or taken.
Result<Committed> CreateBranch(const WritableTable& at, const std::string& name, bool sync, ReadContext& ctx);
// A branch that nobody can open, in its one manifest a feature flag that nobody knows: pylance's clean-up reads the manifests of
// all branches and removes nothing where one does not open (measured with pylance 14; all else goes on as before). For tables with
// detached versions, whose files it would take. Deleted like any branch. Nothing is done where it is there already.
inline constexpr const char* kGuardBranch = "detached-guard";
Status GuardDetached(const WritableTable& at, bool sync, ReadContext& ctx);
// Its file first, then its folder; the folders of branches whose names begin with its own and a slash stay. Of a deletion, or a
// creation, that did not end, the folder. kNotFound: there is neither; kUsage: others began on it, or a tag names a version.
Status DeleteBranch(const WritableTable& table, const std::string& name, ReadContext& ctx);
Status SetBranchMetadata(const WritableTable& table, const std::string& name,
                         const std::map<std::string, std::string>& metadata, ReadContext& ctx);

}  // namespace pilum
