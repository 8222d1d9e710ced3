// What every sketch of this folder is: a value type that summarises values and can be merged. docs/formats/sketches.md
// draws the bytes. Sketches are not thread-safe while they are updated; const calls are.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include <arrow/type_fwd.h>

#include "pilum/base/bytes.h"
#include "pilum/base/status.h"

namespace pilum {

// How much two ways to the same values agree: in every byte, or both within the stated error.
enum class Same { kBytes, kWithinBound };

// What merging keeps, said once for each sketch and held by laws_test.cc. Merging an empty sketch never changes a byte,
// and a.Merge(b) is b.Merge(a) in every byte, for all.
struct Laws {
  Same groupings;        // (a + b) + c against a + (b + c)
  Same parts;            // merged parts against one sketch of all rows
  Same orders;           // the same rows in another order
  bool idempotent;       // a + a is a: the sketch is of the set of values, not of the rows
  uint64_t exact_until;  // kWithinBound becomes kBytes while there are no more values than this (at default params)
};

// The concept. Empty(params) checks them. Update takes an array of any type that has a normal form (or numbers, where the
// sketch says so); nulls are no values. Merge refuses unlike params, naming both. ToBytes is canonical: the same state
// gives the same bytes in every process. FromBytes trusts nothing; `source` says whose bytes these are in its message.
template <typename S>
concept Sketch = std::copyable<S> &&
    requires(S s, const S c, const arrow::Array& array, std::string_view bytes, typename S::Params params) {
  { S::kName } -> std::convertible_to<std::string_view>;
  { S::kLaws } -> std::convertible_to<Laws>;
  { S::Empty(params) } -> std::same_as<Result<S>>;
  { s.Update(array) } -> std::same_as<Status>;
  { s.Merge(c) } -> std::same_as<Status>;
  { c.ToBytes() } -> std::same_as<std::string>;
  { S::FromBytes(bytes, bytes) } -> std::same_as<Result<S>>;
  { c.params() } -> std::convertible_to<typename S::Params>;
  { c.params().ToString() } -> std::convertible_to<std::string>;
  { params == params } -> std::convertible_to<bool>;
};

// An answer and the interval that holds the truth with this confidence.
struct Estimate {
  double value, low, high, confidence;
};

// The error of merging unlike sketches (kUsage): "incompatible HLL: p=12 seed=0 and p=10 seed=0".
Status Incompatible(std::string_view name, std::string_view a, std::string_view b);

template <typename S>
Status CheckCompatible(const S& a, const S& b) {
  if (a.params() == b.params()) return Status::OK();
  return Incompatible(S::kName, a.params().ToString(), b.params().ToString());
}

// The first 32 bytes of every sketch. What `size`, `layout` and `extra` are is the sketch's own affair.
struct SketchHeader {
  static constexpr uint64_t kBytes = 32;
  static constexpr uint16_t kVersion = 1;
  static constexpr uint8_t kNoHash = 0, kXxh64 = 1;
  uint8_t hash = kXxh64;
  uint8_t layout = 1;
  uint32_t size = 0;
  uint64_t seed = 0;
  uint64_t extra = 0;
};

// `magic`: 8 bytes.
void AppendHeader(std::string_view magic, const SketchHeader& header, std::string* out);

// kCorrupt: not this sketch's header, or another hash than `hash`. kUnsupported: a version that is not known.
Result<SketchHeader> ReadHeader(std::string_view magic, uint8_t hash, std::string_view source, ByteCursor* in);

}  // namespace pilum
