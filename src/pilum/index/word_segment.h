// Which parts of a group hold each word of a text column: an object of its own over many parts, so that a search for words opens
// only the parts that have them (docs/formats/sidecar.md, "Segments"). Made and asked by part/; a cache that is always true,
// since parts never change.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "pilum/index/inverted_builder.h"
#include "pilum/index/inverted_index.h"
#include "pilum/index/postings.h"

namespace pilum {

class WordSegmentBuilder {
 public:
  static constexpr uint64_t kMaxWords = 4'000'000;  // of a column; beyond, the segment says nothing of it
  static constexpr uint64_t kMaxBytes = 256 << 20;

  // What is added from now on is of this part.
  void AddPart(const Hash128& identity) { parts_.push_back(identity); }
  // All words of a column in that part, from its .terms.
  Status AddColumn(const FieldPath& column, const InvertedIndex& words, ReadContext& ctx);
  size_t parts() const { return parts_.size(); }
  std::string Finish();  // the object's bytes; no more parts

 private:
  struct Column {
    std::unique_ptr<InvertedBuilder> words;  // its rows are the numbers of the parts
    PostingsBuilder covers;                  // parts whose words are all there
  };
  std::vector<Hash128> parts_;
  std::map<FieldPath, Column> columns_;
};

// Immutable but for what it has read; thread-safe.
class WordSegment {
 public:
  // Reads the head and the list of parts. kCorrupt names the object.
  static Result<std::shared_ptr<const WordSegment>> Open(std::shared_ptr<const ByteSource> source, ReadContext& ctx);
  const std::vector<Hash128>& parts() const { return parts_; }
  const SidecarReader& container() const { return *reader_; }

  // Which parts, by number, have each word in some row or are not covered. `words`: in folded case. Errors only for what stops
  // a read: else all of them.
  Result<RowSet> MayHold(const FieldPath& column, const std::vector<std::string>& words, ReadContext& ctx) const;
  // Those whose words in this column it knows.
  Result<RowSet> Covers(const FieldPath& column, ReadContext& ctx) const;

 private:
  explicit WordSegment(std::shared_ptr<const SidecarReader> reader) : reader_(std::move(reader)) {}
  Result<RowSet> Ask(const FieldPath& column, const std::vector<std::string>& words, ReadContext& ctx) const;

  std::shared_ptr<const SidecarReader> reader_;
  std::vector<Hash128> parts_;
  mutable std::mutex mutex_;
  mutable std::map<FieldPath, std::shared_ptr<const InvertedIndex>> words_;
};

}  // namespace pilum
