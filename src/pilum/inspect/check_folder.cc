// What a table's folder shows without opening a data file.
#include <algorithm>
#include <map>
#include <set>

#include <arrow/buffer.h>
#include <nlohmann/json.hpp>

#include "pilum/base/amounts.h"
#include "pilum/inspect/check.h"
#include "pilum/inspect/space.h"
#include "pilum/table/transaction.h"

namespace pilum {
namespace {

constexpr uint64_t kMaxTransaction = uint64_t{1} << 30;  // bytes
constexpr uint64_t kMaxHint = 4096;                      // bytes

std::string VersionName(const Holder& h) {
  return fmt::format("version {}{}", h.version, h.branch.empty() ? "" : " of branch " + h.branch);
}

// "versions 3 to 5", "version 3 of branch dev".
std::string NeedersText(const References& refs, const HolderRuns& runs) {
  const Holder& first = refs.holders[runs[0].first];
  if (runs.size() == 1 && runs[0].first == runs[0].last) return VersionName(first);
  return "versions " + VersionsText(refs, runs);
}

void CheckWrong(const References& refs, Findings* out) {
  for (const WrongFile& w : refs.wrong) {
    const std::string who = NeedersText(refs, w.holders);
    const std::string_view name = ObjectKindName(w.kind);
    if (w.size) {
      out->Problem("wrong_size", w.path,
                   fmt::format("this {} has {} bytes; the manifest of {} says {}", name, *w.size, who, *w.said),
                   "it was cut or overwritten: bring it back from a copy, or restore a version that does not need it");
    } else if (w.kind == ObjectKind::kIndex) {
      out->Problem("missing_index_file", w.path,
                   fmt::format("this index of {} is gone; rows are read all the same, but "
                               "filters that would use it fail",
                               who),
                   "ds.drop_index(NAME) and build it again");
    } else {
      out->Problem("missing_file", w.path,
                   fmt::format("this {} is missing; {} need{} it", name, who, who.starts_with("versions") ? "" : "s"),
                   "bring it back from a copy, or restore a version that does not need it");
    }
  }
}

void CheckVersions(const References& refs, Findings* out) {
  for (size_t i = 0; i < refs.holders.size(); ++i) {
    const Holder& h = refs.holders[i];
    if (!h.status.ok()) {
      const bool newest = !h.detached && (i + 1 == refs.holders.size() || refs.holders[i + 1].branch != h.branch ||
                                          refs.holders[i + 1].detached);
      const Holder* sound = nullptr;
      for (size_t j = 0; j < i; ++j) {
        if (refs.holders[j].branch == h.branch && refs.holders[j].status.ok()) sound = &refs.holders[j];
      }
      out->Problem(
          "unreadable_version", refs.inventory.objects[h.object].path,
          fmt::format("{} does not open: {}", VersionName(h), h.status.message()),
          newest && sound != nullptr
              ? fmt::format("version {} opens; while this manifest is there, the newest version of the table does not",
                            sound->version)
              : "");
    }
    if (!h.moved_from.empty()) {
      out->Problem("moved_base_path", refs.inventory.objects[h.object].path,
                   fmt::format("{} keeps files below {}, where this table is not", VersionName(h), h.moved_from),
                   "a table with branches must stay where it was, or its manifests be written anew for the new place");
    }
  }
  std::map<std::string, std::set<ManifestScheme>> schemes;
  std::map<std::string, std::string> twice;
  for (size_t i = 0; i < refs.holders.size(); ++i) {
    const Holder& h = refs.holders[i];
    if (h.detached) continue;
    schemes[h.branch].insert(ParseManifestName(refs.inventory.objects[h.object].name())->scheme);
    if (i > 0 && refs.holders[i - 1].branch == h.branch && refs.holders[i - 1].version == h.version) {
      twice[h.branch] += fmt::format("; version {} is there twice", h.version);
    }
  }
  for (const auto& [branch, of] : schemes) {
    if (of.size() > 1) {
      out->Problem(
          "mixed_manifest_names", branch.empty() ? "_versions/" : BranchFolder(branch) + "/_versions/",
          "manifests are named in both ways (V1 and V2), so that it cannot be said which is the newest" + twice[branch],
          "remove those that do not belong there, or ds.migrate_manifest_paths_v2() with the others away");
    }
  }
}

void CheckRefs(const References& refs, Findings* out) {
  if (!refs.refs.ok()) out->Problem("damaged_ref", "_refs/", refs.refs.message(), "remove it and make it anew");
  for (const auto& [name, tag] : refs.tags) {
    if (refs.FindHolder(tag.branch.value_or(""), tag.version)) continue;
    out->Problem("lost_tag", "_refs/tags/" + name + ".json",
                 fmt::format("tag {} is of version {}{}, which is not there", name, tag.version,
                             tag.branch ? " of branch " + *tag.branch : ""),
                 fmt::format("ds.tags.delete(\"{}\")", name));
  }
  std::set<std::string> with_versions;
  for (const Holder& h : refs.holders) with_versions.insert(h.branch);
  for (const auto& [name, branch] : refs.branches) {
    if (!with_versions.contains(name)) {
      out->Problem("lost_branch", BranchFolder(name) + "/", fmt::format("branch {} has no versions", name));
    }
  }
  for (const std::string& name : with_versions) {
    if (!name.empty() && refs.refs.ok() && !refs.branches.contains(name)) {
      out->Note("nameless_branch", BranchFolder(name) + "/",
                "versions of a branch that is not listed; a deleted one, of which something stayed");
    }
  }
}

void CheckStrays(const References& refs, Findings* out) {
  for (const TableObject& o : refs.inventory.objects) {
    if (o.kind == ObjectKind::kStray || o.kind == ObjectKind::kTemporary) {
      out->Note(std::string(ObjectKindKey(o.kind)) + "_file", o.path, o.note);
    }
  }
}

// The bytes of a transaction, and what they say.
Result<Transaction> ReadTransactionFile(const ReadOnlyStore& root, const std::string& path, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto file, root.OpenSource(path, ctx));
  if (file->size() > kMaxTransaction) return Corrupt(file->name(), "", "too large for a transaction");
  PILUM_ASSIGN_OR_RETURN(auto bytes, file->ReadRange({0, file->size()}, ctx));
  return ParseTransaction({reinterpret_cast<const char*>(bytes->data()), static_cast<size_t>(bytes->size())});
}

std::string TransactionWords(const Transaction& t) {
  std::string out = t.operation;
  for (const auto& [name, value] : t.facts) out += fmt::format("{} {}={}", out == t.operation ? ":" : ",", name, value);
  return out;
}

}  // namespace

void CheckFolder(const References& refs, const std::string& branch, Findings* out) {
  CheckWrong(refs, out);
  CheckVersions(refs, out);
  CheckRefs(refs, out);
  CheckStrays(refs, out);
  if (std::none_of(refs.holders.begin(), refs.holders.end(), [&](const Holder& h) { return h.branch == branch; })) {
    out->Problem("no_versions", branch.empty() ? "_versions/" : BranchFolder(branch) + "/_versions/",
                 "there is no manifest, so there is no table", "bring _versions/ back from a copy");
  }
}

Status CheckHint(const ReadOnlyStore& root, const References& refs, const std::string& branch, Findings* out,
                 ReadContext& ctx) {
  const std::string path =
      (branch.empty() ? "" : BranchFolder(branch) + "/") + std::string("_versions/latest_version_hint.json");
  const auto o = refs.inventory.Find(path);
  uint64_t newest = 0;
  bool hints = false;
  for (const Holder& h : refs.holders) {
    if (h.branch != branch || h.detached) continue;
    newest = h.version;
    // Writers before the second scheme of names left no hints.
    hints = ParseManifestName(refs.inventory.objects[h.object].name())->scheme == ManifestScheme::kV2;
  }
  if (!o) {
    if (hints)
      out->Note("missing_hint", path, "it is not there; readers list the folder, and the next commit writes it");
    return Status::OK();
  }
  if (refs.inventory.objects[*o].size > kMaxHint) {
    out->Note("wrong_hint", path, "it is no hint: too large; readers list the folder, and the next commit writes it");
    return Status::OK();
  }
  PILUM_ASSIGN_OR_RETURN(auto source, root.OpenSource(path, ctx));
  PILUM_ASSIGN_OR_RETURN(auto bytes, source->ReadRange({0, source->size()}, ctx));
  const auto json = nlohmann::json::parse(bytes->data(), bytes->data() + bytes->size(), nullptr, false);
  const bool is_number = json.is_object() && json.contains("version") && json["version"].is_number_unsigned();
  if (!is_number) {
    out->Note("wrong_hint", path, "it is damaged; readers list the folder, and the next commit writes it");
  } else if (json["version"].get<uint64_t>() != newest) {
    out->Note(
        "wrong_hint", path,
        fmt::format("it says {}, the newest version is {}; readers list the folder, and the next commit writes it",
                    json["version"].get<uint64_t>(), newest));
  }
  return Status::OK();
}

Result<std::string> CheckTransaction(const ReadOnlyStore& root, const References& refs, const Holder& holder,
                                     const Manifest& manifest, const ByteSource& source, bool read_file, Findings* out,
                                     ReadContext& ctx) {
  const std::string harm = "rows are read all the same; commits that conflict with this version fail";
  std::optional<std::string> told;
  if (manifest.transaction) {
    auto message = ReadManifestSection(source, *manifest.transaction, ctx);
    auto parsed = message.ok() ? ParseTransaction(*message) : Result<Transaction>(message.status());
    if (parsed.ok()) told = TransactionWords(*parsed);
    PILUM_RETURN_NOT_OK(
        out->FromStatus("damaged_transaction", refs.inventory.objects[holder.object].path, parsed.status(), harm));
  }
  if (manifest.transaction_file.empty()) return told.value_or("");
  const std::string path =
      (holder.branch.empty() ? "" : BranchFolder(holder.branch) + "/") + "_transactions/" + manifest.transaction_file;
  if (!refs.inventory.Find(path)) {
    if (told) {
      // Clean-ups take those of versions at which a branch began.
      out->Note(
          "missing_transaction_file", path,
          fmt::format("it is not there; {} has a copy of it, which older writers do not read", VersionName(holder)));
    } else if (manifest.transaction) {  // a damaged one, which is told
      out->Note("missing_transaction_file", path, fmt::format("what made {} is told nowhere", VersionName(holder)));
    } else {
      out->Problem("missing_transaction_file", path, fmt::format("what made {} is told nowhere", VersionName(holder)),
                   harm);
    }
    return told.value_or("");
  }
  if (!read_file && told) return *told;
  auto parsed = ReadTransactionFile(root, path, ctx);
  PILUM_RETURN_NOT_OK(out->FromStatus("damaged_transaction", path, parsed.status(),
                                      told ? "the manifest has a sound copy; older writers read this one" : harm));
  if (!told && parsed.ok()) told = TransactionWords(*parsed);
  return told.value_or("");
}

}  // namespace pilum
