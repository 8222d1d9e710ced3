// Is everything there that a table names, and does it open? Called by cli. Reads; decodes where it is asked to.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pilum/table/folder/references.h"
#include "pilum/table/fragment.h"

namespace pilum {

struct Finding {
  enum class Severity { kProblem, kNote };  // a note harms no reader
  Severity severity = Severity::kProblem;
  std::string code;   // "missing_file": stable
  std::string where;  // a file, a fragment, a version
  std::string what;
  std::string fix;  // may be empty
};

class Findings {
 public:
  static constexpr size_t kMost = 10000;  // further ones are counted
  void Problem(std::string code, std::string where, std::string what, std::string fix = {}) {
    ++problems_;
    Add({Finding::Severity::kProblem, std::move(code), std::move(where), std::move(what), std::move(fix)});
  }
  void Note(std::string code, std::string where, std::string what, std::string fix = {}) {
    ++notes_;
    Add({Finding::Severity::kNote, std::move(code), std::move(where), std::move(what), std::move(fix)});
  }
  // A problem out of an error; what stops the whole check is given back.
  Status FromStatus(std::string code, std::string where, const Status& status, std::string fix = {});
  std::vector<Finding> Take();  // problems first
  uint64_t problems() const { return problems_; }
  uint64_t notes() const { return notes_; }

 private:
  void Add(Finding f) {
    if (found_.size() < kMost) found_.push_back(std::move(f));
  }
  std::vector<Finding> found_;
  uint64_t problems_ = 0, notes_ = 0;
};

struct CheckReport {
  std::vector<Finding> findings;  // problems first
  uint64_t problems = 0, notes = 0;
  uint64_t versions = 0, readable = 0;
  // Of the version that was checked.
  uint64_t fragments = 0, files = 0, bytes = 0, rows = 0;
  bool deep = false;
  std::vector<std::string> made_by;  // by holder: what made the version, in words; empty where that is not told
};

struct CheckInput {
  std::shared_ptr<const ReadOnlyStore> root;  // of main
  std::shared_ptr<const Table> table;         // the version to look at closely; null: it does not open
  Status opening;                             // why not
  std::string branch;                         // of it
  bool deep = false;                          // decode everything
};

// `refs`: if it is not null, what was collected on the way. An error only where the check itself cannot go on.
Result<CheckReport> CheckTable(const CheckInput& input, References* refs, ReadContext& ctx);

// The rooms of it. What the folder as a whole shows: missing files, versions that do not open, refs, strays, hints.
void CheckFolder(const References& refs, const std::string& branch, Findings* out);
Status CheckHint(const ReadOnlyStore& root, const References& refs, const std::string& branch, Findings* out,
                 ReadContext& ctx);
// What made a version: in its manifest, and in a file of its own, which is read where `read_file`.
// Gives what made it, in words.
Result<std::string> CheckTransaction(const ReadOnlyStore& root, const References& refs, const Holder& holder,
                                     const Manifest& manifest, const ByteSource& source, bool read_file, Findings* out,
                                     ReadContext& ctx);
// The manifest of the version in itself: ids, fields, columns, indices.
void CheckManifest(const Manifest& manifest, const std::vector<TableIndex>& indices, Findings* out);
void CheckIndices(const Manifest& manifest, const std::vector<TableIndex>& indices, Findings* out);  // a part of it
// Its files: they open, have the rows that they should, and decode.
Status CheckFiles(const std::shared_ptr<const Table>& table, const References& refs, bool deep, CheckReport* report,
                  Findings* out, ReadContext& ctx);
// A part of it: the values that lie beside the data files of a fragment are where they should be. Reads no byte of them.
Status CheckBlobs(const TableContext& table, const PhysicalFragment& physical, Findings* out, ReadContext& ctx);

}  // namespace pilum
