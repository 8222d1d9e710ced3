#include "pilum/table/change_words.h"

#include <algorithm>
#include <cstdlib>

#include "pilum/table/history.h"

namespace pilum {
namespace {

constexpr size_t kNamed = 4;  // names in a list; further ones are counted

std::string Number(uint64_t n) {
  const std::string digits = fmt::format("{}", n);
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string Count(uint64_t n, std::string_view noun, std::string_view plural = {}) {
  if (n == 1) return fmt::format("1 {}", noun);
  return plural.empty() ? fmt::format("{} {}s", Number(n), noun) : fmt::format("{} {}", Number(n), plural);
}

// "a", "a, b", "a, b, c, d and 3 more"
std::string Names(const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < names.size() && i < kNamed; ++i) out += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kNamed) out += fmt::format(" and {} more", names.size() - kNamed);
  return out;
}

// "b" or "b, c": columns of field ids, dotted.
std::string FieldNames(const Manifest* m, const std::vector<int32_t>& ids) {
  if (!m) return {};
  std::vector<std::string> out;
  for (const WireField& f : m->schema.fields) {
    if (std::find(ids.begin(), ids.end(), f.id) != ids.end()) out.push_back(f.name);
  }
  return Names(out);
}

class Words {
 public:
  explicit Words(const VersionRecord& record)
      : record_(record), made_by_(record.transaction ? &*record.transaction : nullptr), change_(record.change) {}

  std::string Say() {
    if (!made_by_ || !Operation(made_by_->operation)) Differences();
    if (text_.empty()) text_ = change_ ? "changed nothing" : "not told, and the version before it is gone";
    if (made_by_) {
      const auto said = made_by_->properties.find(kCommitMessageKey);
      if (said != made_by_->properties.end()) text_ += fmt::format(" \"{}\"", said->second);
    }
    return text_;
  }

 private:
  void Add(std::string clause) {
    if (clause.empty()) return;
    text_ += (text_.empty() ? "" : "; ") + clause;
  }
  const std::string* Fact(const char* name) const {
    for (const auto& [key, value] : made_by_->facts) {
      if (key == name) return &value;
    }
    return nullptr;
  }
  uint64_t FactCount(const char* name) const {
    const std::string* s = Fact(name);
    return s ? std::strtoull(s->c_str(), nullptr, 10) : 0;
  }
  std::string In(const std::vector<uint64_t>& fragments) const { return "in " + Count(fragments.size(), "fragment"); }

  // False: its kind says nothing here.
  bool Operation(const std::string& op) {
    if (op == "Append") return Append(), true;
    if (op == "Delete") return Delete(), true;
    if (op == "Overwrite") return Overwrite(), true;
    if (op == "CreateIndex") return Indices(), true;
    if (op == "Rewrite") return Rewrite(), true;
    if (op == "Update") return Update(), true;
    if (op == "Restore") return Restore(), true;
    if (op == "ReserveFragments") return Add("reserved " + Count(FactCount("fragments"), "fragment id")), true;
    if (op == "UpdateConfig") return Config(), true;
    if (op == "Clone") return Clone(), true;
    if (op == "UpdateBases") return Add("added " + Count(FactCount("bases"), "base path")), true;
    if (op == "DataReplacement") return Replacement(), true;
    if (op == "UpdateMemWalState") return Add("changed the state of its MemWAL"), true;
    if (op == "DataOverlay") return Add("laid new values over old ones"), true;
    if (op == "Merge" || op == "Project") return Columns(op == "Merge"), true;
    if (op == "Unknown") Add("an operation of a newer Lance");
    return false;
  }

  void Append() {
    if (!change_) return Add("appended " + Count(FactCount("fragments"), "fragment"));
    Add(fmt::format("appended {} {}", Count(change_->added_rows, "row"), In(change_->added)));
  }

  void Delete() {
    const std::string* where = Fact("predicate");
    const std::string condition = where && *where != "true" ? " where " + *where : std::string();
    if (!change_) {
      return Add(fmt::format("deleted rows from {}{}", Count(FactCount("updated_fragments"), "fragment"), condition));
    }
    Add(Deleted("deleted ") + condition);
  }

  // "deleted 3 rows from 1 fragment", "deleted 3 rows: all of 1 fragment"
  std::string Deleted(const std::string& verb) const {
    const uint64_t some = static_cast<uint64_t>(std::max<int64_t>(0, change_->deleted_rows));
    const uint64_t rows = some + change_->removed_rows;
    if (rows == 0 && change_->removed.empty()) return verb + "nothing";
    std::string out = verb + Count(rows, "row");
    if (!change_->deleted_in.empty()) out += " from " + Count(change_->deleted_in.size(), "fragment");
    if (!change_->removed.empty()) {
      out += (change_->deleted_in.empty() ? ": all of " : " and all of ") + Count(change_->removed.size(), "fragment");
    }
    return out;
  }

  std::string NewRows() const {
    if (!record_.manifest) return Count(FactCount("fragments"), "fragment");
    const uint64_t rows = change_ ? change_->added_rows : record_.totals.rows;
    const uint64_t fragments = change_ ? change_->added.size() : record_.totals.fragments;
    return fragments == 0 ? "no rows" : fmt::format("{} in {}", Count(rows, "row"), Count(fragments, "fragment"));
  }

  void Overwrite() {
    const bool first = made_by_->read_version == 0 && (!record_.manifest || record_.manifest->version == 1);
    if (first) {
      const bool empty = change_ ? change_->added.empty() : FactCount("fragments") == 0;
      return Add(!empty ? "created the table with " + NewRows() : std::string("created the table, empty"));
    }
    Add("overwrote the table with " + NewRows());
    if (change_ && !change_->removed.empty()) {
      Add(fmt::format("gone: {} in {}", Count(change_->removed_rows, "row"),
                      Count(change_->removed.size(), "fragment")));
    }
  }

  // Segments of one name that were replaced by others of it are one clause.
  void Indices() {
    const auto names = [](const std::vector<TableIndex>& all) {
      std::vector<std::string> out;
      for (const TableIndex& i : all) {
        if (std::find(out.begin(), out.end(), i.name) == out.end()) out.push_back(i.name);
      }
      return out;
    };
    if (!change_) {
      const std::string *made = Fact("new_index"), *dropped = Fact("removed_index");
      if (made) return Add("indexed: " + *made);
      return Add(dropped ? "dropped index " + *dropped : std::string("changed indices"));
    }
    const auto dropped = names(change_->dropped_indices);
    for (const TableIndex& i : change_->new_indices) {
      const bool replaced = std::find(dropped.begin(), dropped.end(), i.name) != dropped.end();
      const std::string of = i.fields.empty() ? "" : " on " + FieldNames(record_.manifest.get(), i.fields);
      Add(fmt::format("{} {}index {}{}", replaced ? "rebuilt" : "built", i.kind == "Unknown" ? "" : i.kind + " ",
                      i.name, of));
    }
    const auto made = names(change_->new_indices);
    for (const std::string& name : dropped) {
      if (std::find(made.begin(), made.end(), name) == made.end()) Add("dropped index " + name);
    }
    if (change_->new_indices.empty() && dropped.empty()) Add("changed what indices cover");
  }

  void Rewrite() {
    const uint64_t before = FactCount("old_fragments"), after = FactCount("new_fragments");
    std::string out = fmt::format("compacted {} into {}", Count(before, "fragment"), Number(after));
    if (change_ && change_->removed_rows == change_->added_rows) out += ", " + Count(change_->added_rows, "row");
    Add(std::move(out));
    if (const uint64_t n = FactCount("rewritten_indices")) Add("rewrote " + Count(n, "index", "indices"));
    for (const TableIndex& i : change_ ? change_->new_indices : std::vector<TableIndex>()) {
      if (i.is_system()) Add("noted in " + i.name + " what became of row addresses");
    }
  }

  void Update() {
    const std::string* mode = Fact("mode");
    if (mode && *mode == "rewrite columns") {
      const uint64_t n = change_ ? change_->files_in.size() : FactCount("updated_fragments");
      return Add(fmt::format("rewrote {} of {}", NewColumns(), Count(n, "fragment")));
    }
    if (!change_) return Add(fmt::format("updated rows: wrote {}", Count(FactCount("new_fragments"), "fragment")));
    const uint64_t gone = change_->removed_rows + static_cast<uint64_t>(std::max<int64_t>(0, change_->deleted_rows));
    if (change_->added.empty()) return Add(Deleted("deleted "));
    if (gone == 0) return Add(fmt::format("inserted {} {}", Count(change_->added_rows, "row"), In(change_->added)));
    if (gone == change_->added_rows) {
      return Add(fmt::format("updated {}, now {}", Count(gone, "row"), In(change_->added)));
    }
    Add(fmt::format("merged {} {}", Count(change_->added_rows, "row"), In(change_->added)));
    Add(Deleted("replaced or deleted "));
  }

  void Restore() {
    if (!record_.manifest) return Add(fmt::format("restored version {}", FactCount("version")));
    Add(fmt::format("restored version {}: {} in {}", FactCount("version"), Count(record_.totals.rows, "row"),
                    Count(record_.totals.fragments, "fragment")));
  }

  void Clone() {
    const std::string *kind = Fact("kind"), *of = Fact("of"), *branch = Fact("branch");
    std::string out = branch ? "began branch " + *branch : fmt::format("{} clone", kind ? *kind : "a");
    out += fmt::format(" from version {}", FactCount("of_version"));
    if (!branch && of) out += " of " + *of;
    Add(std::move(out));
  }

  // "column b", of the files that are new.
  std::string NewColumns() const {
    std::vector<int32_t> ids;
    for (const DataFile& f : change_ ? change_->new_files : std::vector<DataFile>()) {
      ids.insert(ids.end(), f.fields.begin(), f.fields.end());
    }
    const std::string names = FieldNames(record_.manifest.get(), ids);
    return names.empty() ? "columns" : (names.find(", ") == names.npos ? "column " : "columns ") + names;
  }

  void Replacement() {
    const uint64_t n = change_ ? change_->files_in.size() : FactCount("replacements");
    Add(fmt::format("replaced {} of {}", NewColumns(), Count(n, "fragment")));
  }

  void Columns(bool merge) {
    if (!change_) return Add(merge ? "added or changed columns" : "dropped or renamed columns");
    Fields();
    if (merge && !change_->files_in.empty()) Add("new files " + In(change_->files_in));
    Rows();
    DroppedIndices();
  }

  void Fields() {
    using Kind = FieldChange::Kind;
    std::vector<std::string> added, dropped;
    std::vector<FieldChange> others;
    for (const FieldChange& f : change_->fields) {
      if (f.kind == Kind::kAdded) {
        added.push_back(f.name + " (" + f.after + ")");
      } else if (f.kind == Kind::kDropped) {
        dropped.push_back(f.name);
      } else {
        others.push_back(f);
      }
    }
    // A cast gives a column a new id: the old one goes, and one of its name comes.
    for (const FieldChange& f : change_->fields) {
      if (f.kind != Kind::kAdded) continue;
      const auto was = std::find(dropped.begin(), dropped.end(), f.name);
      if (was == dropped.end()) continue;
      dropped.erase(was);
      added.erase(std::find(added.begin(), added.end(), f.name + " (" + f.after + ")"));
      others.push_back({Kind::kRetyped, f.id, f.name, "", f.after});
    }
    const auto column = [](const auto& names) { return names.size() == 1 ? "column " : "columns "; };
    if (!added.empty()) Add("added " + (column(added) + Names(added)));
    if (!dropped.empty()) Add("dropped " + (column(dropped) + Names(dropped)));
    for (const FieldChange& f : others) {
      if (f.kind == Kind::kRenamed) Add(fmt::format("renamed column {} to {}", f.before, f.name));
      if (f.kind == Kind::kRetyped) Add(fmt::format("cast column {} to {}", f.name, f.after));
      if (f.kind == Kind::kNullable) Add(fmt::format("made column {} {}", f.name, f.after));
    }
  }

  static std::string Keys(const std::string& what, const MapChange& change) {
    std::vector<std::string> set, removed;
    for (const auto& [key, values] : change) {
      values.second ? set.push_back(key + "=" + *values.second) : removed.push_back(key);
    }
    std::string out;
    if (!set.empty()) out = fmt::format("set {} {}", what, Names(set));
    if (!removed.empty()) out += fmt::format("{}removed {} {}", out.empty() ? "" : ", ", what, Names(removed));
    return out;
  }

  void Config() {
    if (!change_) return Add("changed config or metadata");
    Maps();
    if (FactCount("fields_with_metadata") > 0) {
      Add("changed metadata of " + Count(FactCount("fields_with_metadata"), "column"));
    }
  }
  void Maps() {
    Add(Keys("config", change_->config));
    Add(Keys("metadata", change_->table_metadata));
    Add(Keys("schema metadata", change_->schema_metadata));
  }

  void Rows() {
    const auto& c = *change_;
    if (!c.added.empty() && !c.removed.empty()) {
      Add(fmt::format("{} in {} took the place of {} in {}", Count(c.added_rows, "row"),
                      Count(c.added.size(), "fragment"), Count(c.removed_rows, "row"),
                      Count(c.removed.size(), "fragment")));
    } else if (!c.added.empty()) {
      Add(fmt::format("added {} {}", Count(c.added_rows, "row"), In(c.added)));
    } else if (!c.removed.empty()) {
      Add(fmt::format("removed {} {}", Count(c.removed_rows, "row"), In(c.removed)));
    }
    if (c.deleted_rows < 0) {
      Add(fmt::format("brought {} back in {}", Count(static_cast<uint64_t>(-c.deleted_rows), "deleted row"),
                      Count(c.deleted_in.size(), "fragment")));
    } else if (!c.deleted_in.empty()) {
      Add(fmt::format("deleted {} from {}", Count(static_cast<uint64_t>(c.deleted_rows), "row"),
                      Count(c.deleted_in.size(), "fragment")));
    }
  }

  void DroppedIndices() {
    for (const TableIndex& i : change_->dropped_indices) Add("dropped index " + i.name);
  }

  // Where no transaction tells: what manifests do.
  void Differences() {
    if (!change_) return;
    const bool first = record_.manifest->version == 1 && change_->removed.empty();
    if (first) return Add(change_->added.empty() ? "created the table, empty" : "created the table with " + NewRows());
    Rows();
    Fields();
    if (!change_->files_in.empty()) Add("other files " + In(change_->files_in));
    for (const TableIndex& i : change_->new_indices) Add("built index " + i.name);
    DroppedIndices();
    Maps();
    if (!change_->new_bases.empty()) Add("added " + Count(change_->new_bases.size(), "base path"));
    if (change_->reserved > 0) Add("reserved " + Count(static_cast<uint64_t>(change_->reserved), "fragment id"));
  }

  const VersionRecord& record_;
  const Transaction* const made_by_;
  const std::optional<VersionChange>& change_;
  std::string text_;
};

}  // namespace

std::string ChangeWords(const VersionRecord& record) { return Words(record).Say(); }

}  // namespace pilum
