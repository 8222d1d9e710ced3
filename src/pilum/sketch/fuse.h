// A binary fuse filter (Graf and Lemire, 2022): is a value in the set? 9.1 bits a value at 8-bit fingerprints, wrong "yes"
// once in 256; twice that at 16 bits, once in 65,536. Such a filter is solved from the whole set at once and does not keep
// it. So the sketch has two states: open, the sorted set of hashes (8 bytes each), which updates and merges; and sealed,
// the filter, which only answers: it refuses to be updated or merged. Hashes are those of value_hash.h.
#pragma once

#include <span>
#include <vector>

#include "pilum/sketch/sketch.h"

namespace pilum {

class FuseFilter {
 public:
  struct Params {
    uint32_t bits = 8;  // of a fingerprint: 8 or 16
    bool operator==(const Params&) const = default;
    std::string ToString() const { return fmt::format("bits={}", bits); }
  };
  static constexpr std::string_view kName = "Fuse";
  static constexpr Laws kLaws{Same::kBytes, Same::kBytes, Same::kBytes, true, ~0ull};  // while open
  static constexpr uint64_t kMaxItems = uint64_t{1} << 30;

  static Result<FuseFilter> Empty(const Params& params);
  Status Update(const arrow::Array& array);  // kUsage when sealed
  Status Insert(uint64_t hash);              // the same
  Status Merge(const FuseFilter& other);     // kUsage when either is sealed
  std::string ToBytes() const;
  static Result<FuseFilter> FromBytes(std::string_view bytes, std::string_view source);
  const Params& params() const { return params_; }

  // The same set gives the same filter. Sealing a sealed one changes nothing. kUsage over kMaxItems values.
  Status Seal();
  bool sealed() const { return segment_length_ != 0; }
  uint64_t size() const;  // distinct hashes

  bool MayContain(uint64_t hash) const;  // false: certainly not inserted; exact (of hashes) while open
  void MayContain(std::span<const uint64_t> hashes, uint8_t* out) const;
  double FalsePositiveRate() const;  // 2^-bits once sealed

 private:
  explicit FuseFilter(const Params& params) : params_(params) {}
  void SetShape(uint64_t items);
  void Settle();
  std::vector<uint64_t> Hashes() const;
  bool Solve(std::span<const uint64_t> hashes);
  uint16_t PrintAt(uint64_t slot) const;
  void XorPrint(uint64_t slot, uint16_t print);

  struct Slots {
    uint64_t at[3];
  };
  Slots SlotsOf(uint64_t mixed) const;

  Params params_;
  std::vector<uint64_t> hashes_;   // open: ascending, distinct
  std::vector<uint64_t> waiting_;  // open: any order
  uint64_t items_ = 0;             // sealed
  uint64_t attempt_ = 0;           // sealed: which mixing solved it
  uint64_t segment_length_ = 0, segments_ = 0;
  std::vector<uint8_t> prints_;  // sealed: (segments + 2) * segment length fingerprints
};

}  // namespace pilum
