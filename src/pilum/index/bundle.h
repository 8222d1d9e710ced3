// The prune headers of many parts in one object, column by column, so that a question reads only the columns that it asks
// of (docs/formats/bundle.md). A cache: what is said of a part here is what its own header said, and is used only for the part
// of that identity. Made by part/maintain, read by part/store_view.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/index/part_index.h"

namespace pilum {

struct BundledPart {
  Hash128 identity{};
  Hash128 header_hash{};  // of its prune header's bytes: which version of it this is
  uint64_t num_rows = 0;
  std::shared_ptr<arrow::Schema> schema;  // as ReadSchema of the header gives it; parts of equal fields share them
};

// All that a bundle keeps of one header: its schema, and each other section, whether or not this Pilum knows its family.
struct BundledHeader {
  struct Piece {
    std::vector<FieldPath> columns;
    uint16_t family = 0, family_version = 0;
    std::string raw;
  };
  BundledPart part;
  std::vector<Piece> pieces;
  uint64_t bytes() const;

  // nullopt: this header has no schema, or something in it is damaged. Errors only for what stops a read.
  static Result<std::optional<BundledHeader>> Of(const PartIndex& header, ReadContext& ctx);
};

// Not thread-safe. The same headers in any order give the same bytes.
class BundleWriter {
 public:
  static constexpr size_t kMostParts = 4096;
  static constexpr uint64_t kMostBytes = 48ull << 20;  // before compression

  bool Fits(const BundledHeader& header) const;
  void Add(BundledHeader header);  // of two headers of one identity the first counts
  size_t size() const { return headers_.size(); }
  Result<std::string> Finish() const;

 private:
  std::map<Hash128, BundledHeader> headers_;
  uint64_t bytes_ = 0;
};

// Thread-safe. Column by column what was read stays in memory, as long as the bundle does.
class Bundle : public std::enable_shared_from_this<Bundle> {
 public:
  // What is made of each schema that was read; the parts have the result, with their own metadata.
  using SchemaForm = std::function<Result<std::shared_ptr<arrow::Schema>>(const arrow::Schema&)>;
  // Reads the directory and the table of parts. kCorrupt: damaged; kUnsupported: a newer format.
  static Result<std::shared_ptr<const Bundle>> Open(std::shared_ptr<const ByteSource> source, const SchemaForm& form,
                                                    ReadContext& ctx);
  ~Bundle();
  const std::string& name() const { return reader_->name(); }
  const std::vector<BundledPart>& parts() const { return parts_; }  // by identity
  std::optional<size_t> Find(const Hash128& identity) const;

  // The header of a part, as if its own object had been opened. Never an error: a damaged bundle is one that knows less.
  std::shared_ptr<PartIndex> Header(size_t part) const;
  // Reads ahead, in at most two rounds of requests, what the headers of these parts have in these families about these
  // columns. What is damaged is found when it is asked for.
  Status Fetch(std::span<const FieldPath> columns, std::span<const SectionFamily> families,
               std::span<const size_t> parts, ReadContext& ctx) const;
  // The same of filters over pairs of two columns, in either order; and has any part such a filter?
  Status FetchPair(const FieldPath& a, const FieldPath& b, std::span<const size_t> parts, ReadContext& ctx) const;
  bool HasPair(const FieldPath& a, const FieldPath& b) const;
  // For another bundle, which is to hold this part too. nullopt: damaged.
  Result<std::optional<BundledHeader>> Take(size_t part, ReadContext& ctx) const;

 private:
  class Share;
  struct Lane;  // one family of one column, or of one pair, of all parts
  explicit Bundle(std::shared_ptr<const ByteSource> source);
  Status ReadParts(const SchemaForm& form, ReadContext& ctx);
  Status ParseParts(std::string_view bytes, const SchemaForm& form);
  Lane* LaneOf(const SectionEntry& entry) const;
  Status Fetch(const std::vector<const SectionEntry*>& entries, std::span<const size_t> parts, ReadContext& ctx) const;
  Status FetchLanes(std::span<Lane* const> lanes, std::span<const size_t> parts, ReadContext& ctx) const;
  Status FetchBlocks(std::span<Lane* const> lanes, std::span<const size_t> parts, ReadContext& ctx) const;
  Result<std::string> Piece(const SectionEntry& entry, size_t part, ReadContext& ctx) const;
  Result<std::unique_lock<std::timed_mutex>> Lock(ReadContext& ctx) const;

  std::shared_ptr<const ByteSource> source_;
  std::shared_ptr<const SidecarReader> reader_;
  std::vector<BundledPart> parts_;
  std::vector<Hash128> schema_hashes_;  // of each part's schema
  mutable std::timed_mutex mutex_;
  mutable std::map<const SectionEntry*, std::unique_ptr<Lane>> lanes_;
};

}  // namespace pilum
