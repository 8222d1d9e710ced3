// The most frequent values, with counts from both sides: Misra-Gries as a mergeable summary (Agarwal et al., 2012). Up to
// `capacity` values are counted exactly; one more, and the smaller half is dropped and what it was worth is taken from all.
// A value's true count is at least `low` and at most `low + error()`; error() is at most rows / (capacity / 2 + 1). While no
// more than `capacity` distinct values came, all counts are exact and the bytes are those of any order of the rows; after
// that they depend on the order of rows and merges (not on how the rows were cut into arrays).
#pragma once

#include <vector>

#include "pilum/sketch/array_hash.h"
#include "pilum/sketch/sketch.h"

namespace pilum {

class HeavyHitters {
 public:
  struct Params {
    uint32_t capacity = 256;
    uint64_t seed = 0;  // of the hashes that tell values apart
    bool operator==(const Params&) const = default;
    std::string ToString() const { return fmt::format("capacity={} seed={}", capacity, seed); }
  };
  static constexpr std::string_view kName = "HeavyHitters";
  static constexpr Laws kLaws{Same::kWithinBound, Same::kWithinBound, Same::kWithinBound, false, 256};
  static constexpr uint32_t kMinCapacity = 2, kMaxCapacity = 1u << 20;
  static constexpr uint64_t kMaxItemBytes = 256;  // of hash bytes that are kept; a longer value is cut, not confused

  struct Item {
    std::string hash_bytes;  // values/value.h; ParseHashBytes (value_hash.h) gives the value
    bool truncated;          // the value was longer
    uint64_t low, high;      // of its count
  };

  static Result<HeavyHitters> Empty(const Params& params);
  Status Update(const arrow::Array& array);
  // Update in two steps, for who hashes once for several sketches: every block of VisitHashes(array, params().seed), then
  // the array. At most 2^62 rows in all.
  void Count(const HashBlock& block);
  Status KeepValues(const arrow::Array& array);
  Status Merge(const HeavyHitters& other);
  std::string ToBytes() const;
  static Result<HeavyHitters> FromBytes(std::string_view bytes, std::string_view source);
  const Params& params() const { return params_; }

  uint64_t total() const { return total_; }  // rows counted
  uint64_t error() const { return error_; }  // the most by which any count may be too low; 0: all are exact
  uint64_t memory() const {
    return table_.capacity() * sizeof(Counter) + kept_.capacity() * (sizeof(Kept) + 64);
  }  // bytes held, about
  // At most n, the largest first (ties by hash bytes). Every value of more than error() rows is among all of them.
  std::vector<Item> Top(uint64_t n) const;

 private:
  struct Kept {
    bool truncated = false;
    std::string hash_bytes;
  };
  struct Counter {                 // small: with most rows distinct, all are passed over again and again
    uint64_t hash = 0, count = 0;  // count 0: free
    int64_t at = 0;                // -1 - i: the value is kept_[i]; while an array is read also: the row where it is
  };
  explicit HeavyHitters(const Params& params) : params_(params) {}
  Counter& Find(uint64_t hash);
  void Count(uint64_t hash, int64_t row);
  void Add(const Counter& from);
  const Kept& KeptOf(const Counter& c) const;
  void TidyKept();
  void Rebuild(uint64_t floor, size_t slots);
  void Reduce();
  std::vector<const Counter*> Sorted() const;  // by hash

  Params params_;
  std::vector<Counter> table_;
  std::vector<Kept> kept_;  // in no order; some of no counter any more
  uint64_t used_ = 0, total_ = 0, error_ = 0;
};

}  // namespace pilum
