#include "pilum/table/version_change.h"

#include <algorithm>
#include <set>

#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

namespace pilum {
namespace {

using FileKey = std::pair<std::optional<std::string>, std::string>;  // base path, path

// What is told apart by base id alone is the same file if the path below is the same: ids are the manifest's own.
FileKey KeyOf(const Manifest& m, const std::optional<uint32_t>& base_id, const std::string& path) {
  if (!base_id) return {std::nullopt, path};
  for (const BasePath& b : m.base_paths) {
    if (b.id == *base_id) return {b.path, path};
  }
  return {"", path};
}

std::set<FileKey> FilesOf(const Manifest& m, const Fragment& f) {
  std::set<FileKey> out;
  for (const DataFile& file : f.files) out.insert(KeyOf(m, file.base_id, file.path));
  return out;
}

uint64_t LiveRows(const Fragment& f) {
  const uint64_t deleted = f.deletions ? f.deletions->num_deleted : 0;
  return f.physical_rows - std::min(f.physical_rows, deleted);
}

int64_t Deleted(const Fragment& f) { return f.deletions ? static_cast<int64_t>(f.deletions->num_deleted) : 0; }

bool SameDeletions(const Fragment& a, const Fragment& b) {
  if (!a.deletions || !b.deletions) return !a.deletions && !b.deletions;
  return a.deletions->Path(a.id) == b.deletions->Path(b.id);
}

class Comparer {
 public:
  Comparer(const VersionFacts& before, const VersionFacts& after) : before_(before), after_(after) {}

  VersionChange Compare() {
    Fragments();
    Files();
    Fields();
    Maps(before_.manifest.config, after_.manifest.config, &out_.config);
    Maps(before_.manifest.table_metadata, after_.manifest.table_metadata, &out_.table_metadata);
    Maps(SchemaMetadata(before_.manifest), SchemaMetadata(after_.manifest), &out_.schema_metadata);
    Indices();
    for (const BasePath& b : after_.manifest.base_paths) {
      const auto& old = before_.manifest.base_paths;
      if (std::none_of(old.begin(), old.end(), [&](const BasePath& o) { return o.path == b.path; })) {
        out_.new_bases.push_back(b.path);
      }
    }
    return std::move(out_);
  }

 private:
  // One that is `id` in both, and has not become another.
  static bool Same(const Manifest& m, const Fragment& f, const Manifest& n, const Fragment& g) {
    if (f.physical_rows == g.physical_rows) return true;
    const auto a = FilesOf(m, f), b = FilesOf(n, g);
    return std::any_of(a.begin(), a.end(), [&](const FileKey& k) { return b.contains(k); });
  }

  void Fragments() {
    const Manifest &old = before_.manifest, &now = after_.manifest;
    std::map<uint64_t, const Fragment*> by_id;
    for (const Fragment& f : old.fragments) by_id.emplace(f.id, &f);
    std::set<uint64_t> kept;
    int64_t highest = -1;
    for (const Fragment& f : now.fragments) {
      highest = std::max(highest, static_cast<int64_t>(f.id));
      const auto at = by_id.find(f.id);
      if (at == by_id.end() || !Same(old, *at->second, now, f)) {
        out_.added.push_back(f.id);
        out_.added_rows += LiveRows(f);
        continue;
      }
      kept.insert(f.id);
      const Fragment& was = *at->second;
      if (!SameDeletions(was, f)) {
        out_.deleted_in.push_back(f.id);
        out_.deleted_rows += Deleted(f) - Deleted(was);
      }
      if (FilesOf(old, was) != FilesOf(now, f)) out_.files_in.push_back(f.id);
    }
    for (const Fragment& f : old.fragments) {
      if (kept.contains(f.id)) continue;
      out_.removed.push_back(f.id);
      out_.removed_rows += LiveRows(f);
    }
    const auto most = [](const Manifest& m) { return m.max_fragment_id ? int64_t{*m.max_fragment_id} : -1; };
    if (now.max_fragment_id) out_.reserved = most(now) - std::max(most(old), highest);
  }

  void Files() {
    const auto keys = [](const Manifest& m) {
      std::set<FileKey> data, deletions;
      for (const Fragment& f : m.fragments) {
        data.merge(FilesOf(m, f));
        if (f.deletions) deletions.insert(KeyOf(m, f.deletions->base_id, f.deletions->Path(f.id)));
      }
      return std::pair(std::move(data), std::move(deletions));
    };
    const auto [old_data, old_deletions] = keys(before_.manifest);
    const auto now_data = keys(after_.manifest).first;
    const auto only = [](const Manifest& m, const std::set<FileKey>& others, std::vector<DataFile>* out) {
      std::set<FileKey> seen;
      for (const Fragment& f : m.fragments) {
        for (const DataFile& file : f.files) {
          const FileKey key = KeyOf(m, file.base_id, file.path);
          if (!others.contains(key) && seen.insert(key).second) out->push_back(file);
        }
      }
    };
    only(after_.manifest, old_data, &out_.new_files);
    only(before_.manifest, now_data, &out_.dropped_files);
    for (const Fragment& f : after_.manifest.fragments) {
      if (!f.deletions) continue;
      if (!old_deletions.contains(KeyOf(after_.manifest, f.deletions->base_id, f.deletions->Path(f.id)))) {
        out_.new_deletions.emplace_back(f.id, *f.deletions);
      }
    }
  }

  // By id, with its dotted name.
  static std::map<int32_t, std::pair<std::string, const WireField*>> FieldsOf(const Manifest& m) {
    std::map<int32_t, std::pair<std::string, const WireField*>> out;
    for (const WireField& f : m.schema.fields) {
      const auto parent = out.find(f.parent_id);
      out[f.id] = {parent == out.end() ? f.name : parent->second.first + "." + f.name, &f};
    }
    return out;
  }

  void Fields() {
    const auto old = FieldsOf(before_.manifest), now = FieldsOf(after_.manifest);
    using Kind = FieldChange::Kind;
    const auto parent_gone = [](const auto& in, const auto& from, int32_t id) {
      const int32_t parent = in.at(id).second->parent_id;
      return in.contains(parent) && !from.contains(parent);
    };
    for (const auto& [id, named] : now) {
      const auto& [name, field] = named;
      const auto at = old.find(id);
      if (at == old.end()) {
        if (!parent_gone(now, old, id)) out_.fields.push_back({Kind::kAdded, id, name, "", field->logical_type});
        continue;
      }
      const WireField& was = *at->second.second;
      if (was.name != field->name) out_.fields.push_back({Kind::kRenamed, id, name, at->second.first, ""});
      if (was.logical_type != field->logical_type) {
        out_.fields.push_back({Kind::kRetyped, id, name, was.logical_type, field->logical_type});
      }
      if (was.nullable != field->nullable) {
        out_.fields.push_back({Kind::kNullable, id, name, "", field->nullable ? "nullable" : "not null"});
      }
    }
    for (const auto& [id, named] : old) {
      if (!now.contains(id) && !parent_gone(old, now, id)) {
        out_.fields.push_back({Kind::kDropped, id, named.first, named.second->logical_type, ""});
      }
    }
  }

  static std::map<std::string, std::string> SchemaMetadata(const Manifest& m) {
    std::map<std::string, std::string> out;
    const auto metadata = m.schema.schema ? m.schema.schema->metadata() : nullptr;
    for (int64_t i = 0; metadata && i < metadata->size(); ++i) out[metadata->key(i)] = metadata->value(i);
    return out;
  }

  static void Maps(const std::map<std::string, std::string>& old, const std::map<std::string, std::string>& now,
                   MapChange* out) {
    for (const auto& [key, value] : now) {
      const auto at = old.find(key);
      if (at == old.end()) {
        (*out)[key] = {std::nullopt, value};
      } else if (at->second != value) {
        (*out)[key] = {at->second, value};
      }
    }
    for (const auto& [key, value] : old) {
      if (!now.contains(key)) (*out)[key] = {value, std::nullopt};
    }
  }

  void Indices() {
    const auto only = [](const auto& in, const auto& from, std::vector<TableIndex>* out) {
      for (const TableIndex& i : in) {
        if (std::none_of(from.begin(), from.end(), [&](const TableIndex& o) { return o.uuid == i.uuid; })) {
          out->push_back(i);
        }
      }
    };
    only(after_.indices, before_.indices, &out_.new_indices);
    only(before_.indices, after_.indices, &out_.dropped_indices);
  }

  const VersionFacts &before_, &after_;
  VersionChange out_;
};

}  // namespace

bool VersionChange::empty() const {
  return added.empty() && removed.empty() && deleted_in.empty() && files_in.empty() && fields.empty() &&
         config.empty() && table_metadata.empty() && schema_metadata.empty() && new_indices.empty() &&
         dropped_indices.empty() && new_bases.empty() && reserved == 0;
}

VersionChange CompareVersions(const VersionFacts& before, const VersionFacts& after) {
  return Comparer(before, after).Compare();
}

}  // namespace pilum
