// The word segments of a dataset (index/word_segment.h): found by listing, asked which parts can hold words, made out of the parts'
// .terms. A cache: what is missing or damaged says nothing. Used inside part/ only.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "pilum/index/word_segment.h"
#include "pilum/part/part_files.h"
#include "pilum/part/part_store.h"

namespace pilum {

struct ListedSegment {
  ObjectInfo info;
  std::shared_ptr<const WordSegment> segment;  // null: it cannot be used
  std::string note;                            // why not
};

// Lists and opens, the newest first. Errors only for what stops a read.
Result<std::vector<ListedSegment>> ListSegments(const DatasetFiles& files, ReadContext& ctx);

// Asked by the units of one snapshot. Thread-safe.
class WordSegments {
 public:
  static constexpr size_t kFewParts = 16;  // fewer are asked themselves
  explicit WordSegments(DatasetFiles files) : files_(std::move(files)) {}

  // Can a row of the part have all these words (in folded case) in this column? true where nothing is known. Segments are
  // listed when this is asked first.
  Result<bool> MayHold(const Hash128& part, const FieldPath& column, const std::vector<std::string>& words,
                       ReadContext& ctx);

 private:
  struct Place {
    size_t segment;
    uint64_t part;
  };
  Status Open(ReadContext& ctx);

  const DatasetFiles files_;
  std::mutex mutex_;
  bool open_ = false;
  std::vector<ListedSegment> segments_;
  std::map<Hash128, Place> places_;  // in the newest segment that has the part
  using Question = std::pair<FieldPath, std::vector<std::string>>;
  std::map<Question, std::vector<std::shared_ptr<const RowSet>>> answers_;  // by segment; null: not asked yet
};

// One segment of these parts, which have a content name, out of their .terms; those whose .terms cannot be read are not in it, and `notes` says why.
// Empty: none of them is. Its path and size.
Result<ObjectInfo> WriteSegment(const DatasetFiles& files, const std::vector<const PartFile*>& parts,
                                std::vector<std::string>* notes, ReadContext& ctx);

// Every word of the part's .terms leads to it in the segment. For `store check`.
Status CheckSegment(const DatasetFiles& files, const ListedSegment& listed, const PartFile& file, uint64_t part,
                    ReadContext& ctx, std::vector<Status>* faults);

}  // namespace pilum
