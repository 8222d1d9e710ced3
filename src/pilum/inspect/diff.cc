#include "pilum/inspect/diff.h"

#include <algorithm>
#include <map>
#include <set>

#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "pilum/base/amounts.h"
#include "pilum/table/feature_flags.h"

namespace pilum {
namespace {

using Texts = std::map<std::string, std::string>;

std::vector<ItemChange> DiffTexts(const Texts& before, const Texts& after) {
  std::vector<ItemChange> out;
  for (const auto& [key, value] : before) {
    const auto at = after.find(key);
    if (at == after.end()) {
      out.push_back({Change::kRemoved, key, value, ""});
    } else if (at->second != value) {
      out.push_back({Change::kChanged, key, value, at->second});
    }
  }
  for (const auto& [key, value] : after) {
    if (!before.contains(key)) out.push_back({Change::kAdded, key, "", value});
  }
  return out;
}

struct FieldText {
  std::string name, type;  // dotted; with "not null"
};

std::map<int32_t, FieldText> FieldTexts(const FileSchema& schema) {
  std::map<int32_t, FieldText> out;
  for (const WireField& f : schema.fields) {
    const auto parent = out.find(f.parent_id);
    out[f.id] = {(parent == out.end() ? "" : parent->second.name + ".") + f.name,
                 f.logical_type + (f.extension_name.empty() ? "" : " (" + f.extension_name + ")") +
                     (f.nullable ? "" : " not null")};
  }
  return out;
}

std::vector<ItemChange> DiffFields(const FileSchema& before, const FileSchema& after) {
  const auto old_fields = FieldTexts(before), new_fields = FieldTexts(after);
  std::vector<ItemChange> out;
  for (const auto& [id, f] : old_fields) {
    const auto at = new_fields.find(id);
    if (at == new_fields.end()) {
      out.push_back({Change::kRemoved, f.name, f.type, ""});
    } else if (at->second.name != f.name || at->second.type != f.type) {
      const bool renamed = at->second.name != f.name;
      out.push_back({Change::kChanged, f.name, renamed ? f.name + " " + f.type : f.type,
                     renamed ? at->second.name + " " + at->second.type : at->second.type});
    }
  }
  for (const auto& [id, f] : new_fields) {
    if (!old_fields.contains(id)) out.push_back({Change::kAdded, f.name, "", f.type});
  }
  return out;
}

Texts IndexTexts(const VersionSide& side) {
  std::map<std::string, std::vector<const TableIndex*>> by_name;
  for (const TableIndex& index : side.indices) by_name[index.name].push_back(&index);
  Texts out;
  for (const auto& [name, segments] : by_name) {
    std::string text = segments[0]->kind + " of";
    const auto fields = FieldTexts(side.manifest.schema);
    for (const int32_t id : segments[0]->fields) {
      const auto at = fields.find(id);
      text += " " + (at == fields.end() ? fmt::format("field {}", id) : at->second.name);
    }
    if (segments[0]->fields.empty()) text = segments[0]->kind;
    uint64_t covered = 0;
    bool known = true;
    for (const TableIndex* segment : segments) {
      const auto live = LiveCoverage(*segment, side.indices, side.manifest);
      known = known && live.ok() && live->has_value();
      if (known) covered += (*live)->size();
      text += fmt::format("{} {}", segment == segments[0] ? "," : " +", segment->uuid.substr(0, 8));
    }
    if (known) text += fmt::format(", {} of {}", covered, Plural(side.manifest.fragments.size(), "fragment"));
    out[name] = text;
  }
  return out;
}

Texts SchemaMetadata(const Manifest& m) {
  Texts out;
  if (!m.schema.schema || !m.schema.schema->metadata()) return out;
  const auto& metadata = *m.schema.schema->metadata();
  for (int64_t i = 0; i < metadata.size(); ++i) out[metadata.key(i)] = metadata.value(i);
  return out;
}

Texts OtherTexts(const Manifest& m) {
  Texts out;
  out["writer"] = m.writer;
  out["file version of new files"] = m.data_version;
  out["readers' flags"] = FeatureFlagNames(m.reader_flags);
  out["writers' flags"] = FeatureFlagNames(m.writer_flags);
  for (const BasePath& b : m.base_paths) out[fmt::format("base path {}", b.id)] = b.path;
  std::erase_if(out, [](const auto& entry) { return entry.second.empty(); });
  return out;
}

uint64_t Deleted(const Fragment& f) { return f.deletions ? f.deletions->num_deleted : 0; }
uint64_t Live(const Fragment& f) { return f.physical_rows - std::min(f.physical_rows, Deleted(f)); }

FragmentChange DiffFragment(const Fragment* before, const Fragment* after) {
  FragmentChange out;
  out.change = before == nullptr ? Change::kAdded : after == nullptr ? Change::kRemoved : Change::kChanged;
  const Fragment& any = after == nullptr ? *before : *after;
  out.id = any.id;
  out.rows = Live(any);
  std::map<std::string, const DataFile*> old_files, new_files;
  if (before != nullptr) {
    for (const DataFile& f : before->files) old_files[f.path] = &f;
  }
  if (after != nullptr) {
    for (const DataFile& f : after->files) new_files[f.path] = &f;
  }
  for (const auto& [path, f] : old_files) {
    if (!new_files.contains(path)) ++out.files_removed, out.bytes_removed += f->size;
  }
  uint64_t tombstones = 0;
  for (const auto& [path, f] : new_files) {
    const auto at = old_files.find(path);
    if (at == old_files.end()) {
      ++out.files_added;
      out.bytes_added += f->size;
    } else if (at->second->fields != f->fields) {
      ++tombstones;
    }
  }
  std::vector<std::string> what;
  if (out.change != Change::kChanged) {
    what.push_back(Plural(out.rows, "row"));
  } else {
    out.deleted_rows = static_cast<int64_t>(Deleted(*after)) - static_cast<int64_t>(Deleted(*before));
    if (out.deleted_rows > 0) what.push_back(Plural(static_cast<uint64_t>(out.deleted_rows), "row") + " deleted");
    if (out.deleted_rows < 0) what.push_back(Plural(static_cast<uint64_t>(-out.deleted_rows), "row") + " back");
  }
  if (out.files_added > 0)
    what.push_back(Plural(out.files_added, "file") + (out.change == Change::kChanged ? " added" : ""));
  if (out.files_removed > 0) {
    what.push_back(Plural(out.files_removed, "file") + (out.change == Change::kChanged ? " removed" : ""));
  }
  if (tombstones > 0) what.push_back(Plural(tombstones, "file") + " with fewer columns in use");
  if (what.empty()) what.push_back("row ids or versions");
  for (const std::string& w : what) out.what += (out.what.empty() ? "" : ", ") + w;
  return out;
}

bool SameSequence(const SequenceBytes& a, const SequenceBytes& b) {
  return a.where == b.where && a.bytes == b.bytes && a.path == b.path && a.range == b.range;
}

bool Same(const Fragment& a, const Fragment& b) {
  const auto deletions = [](const Fragment& f) { return f.deletions ? f.deletions->Path(f.id) : std::string(); };
  if (a.files.size() != b.files.size() || deletions(a) != deletions(b) || a.physical_rows != b.physical_rows)
    return false;
  for (size_t i = 0; i < a.files.size(); ++i) {
    if (a.files[i].path != b.files[i].path || a.files[i].fields != b.files[i].fields) return false;
  }
  return SameSequence(a.row_ids, b.row_ids);
}

void DiffFragments(const Manifest& before, const Manifest& after, TableDiff* out) {
  std::map<uint64_t, const Fragment*> old_fragments, new_fragments;
  for (const Fragment& f : before.fragments) old_fragments[f.id] = &f;
  for (const Fragment& f : after.fragments) new_fragments[f.id] = &f;
  std::set<uint64_t> ids;
  for (const auto& [id, f] : old_fragments) ids.insert(id);
  for (const auto& [id, f] : new_fragments) ids.insert(id);
  for (const uint64_t id : ids) {
    const auto a = old_fragments.find(id), b = new_fragments.find(id);
    const Fragment* was = a == old_fragments.end() ? nullptr : a->second;
    const Fragment* is = b == new_fragments.end() ? nullptr : b->second;
    if (was != nullptr && is != nullptr && Same(*was, *is)) {
      ++out->same_fragments;
      continue;
    }
    out->fragments.push_back(DiffFragment(was, is));
    out->bytes_added += out->fragments.back().bytes_added;
    out->bytes_removed += out->fragments.back().bytes_removed;
  }
}

}  // namespace

std::string_view ChangeName(Change change) {
  switch (change) {
    case Change::kAdded: return "added";
    case Change::kRemoved: return "removed";
    default: return "changed";
  }
}

bool TableDiff::same() const {
  return fields.empty() && config.empty() && metadata.empty() && schema_metadata.empty() && indices.empty() &&
         other.empty() && fragments.empty();
}

TableDiff DiffVersions(const VersionSide& before, const VersionSide& after) {
  TableDiff out;
  out.before = TotalsOf(before.manifest);
  out.after = TotalsOf(after.manifest);
  out.fields = DiffFields(before.manifest.schema, after.manifest.schema);
  out.config = DiffTexts(before.manifest.config, after.manifest.config);
  out.metadata = DiffTexts(before.manifest.table_metadata, after.manifest.table_metadata);
  out.schema_metadata = DiffTexts(SchemaMetadata(before.manifest), SchemaMetadata(after.manifest));
  out.indices = DiffTexts(IndexTexts(before), IndexTexts(after));
  out.other = DiffTexts(OtherTexts(before.manifest), OtherTexts(after.manifest));
  DiffFragments(before.manifest, after.manifest, &out);
  return out;
}

}  // namespace pilum
