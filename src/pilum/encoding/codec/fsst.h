// FSST: symbol tables, and values decoded through them. For the decoders of encoding/. A table is immutable and
// thread-safe. Inputs are readable for kSlack bytes past their end. Format: docs/formats/lance_file.md, fsst.
#pragma once

#include <memory>
#include <mutex>

#include "pilum/encoding/codec/codec.h"

namespace pilum::codec {

struct FsstPlanes;  // fsst_kernels.h

class FsstTable {
 public:
  // kBest: what the machine has. The others are for tests and benchmarks.
  enum class Kernel { kBest, kScalar, kVector };

  FsstTable();
  ~FsstTable();
  static Result<std::shared_ptr<const FsstTable>> Parse(std::string_view bytes);
  bool active() const { return active_; }  // false: values are stored as they are
  bool ascii() const { return ascii_; }    // no symbol holds a byte above 0x7f
  // Whether the machine and this table (a byte that no symbol holds) go with the vector kernel.
  bool HasVectorKernel() const;

  // Value i is bytes[begins[i], ends[i]): they lie one behind the other, perhaps with gaps (which the caller checked).
  // Adds each, decoded, to `out`. kCorrupt for codes without a symbol and values that end inside an escape.
  Status DecodeValues(const uint8_t* bytes, std::span<const uint32_t> begins, std::span<const uint32_t> ends,
                      VariableOut* out, Kernel kernel = Kernel::kBest) const;
  // One value: `out` has room for MaxSize(in.size()) and kSlack. Returns the bytes written.
  Result<uint64_t> Decode(Bytes in, uint8_t* out) const;
  uint64_t MaxSize(uint64_t codes) const { return codes * max_length_; }

 private:
  friend struct FsstScalar;
  template <typename Offset>
  Status DecodeBlocks(const uint8_t* bytes, std::span<const uint32_t> begins, std::span<const uint32_t> ends,
                      VariableOut* out) const;
  Status DecodeScalar(const uint8_t* bytes, std::span<const uint32_t> begins, std::span<const uint32_t> ends,
                      VariableOut* out) const;
  // Whether every code of `in` has a symbol, or is escaped.
  bool CodesAreKnown(Bytes in) const;
  const FsstPlanes* planes() const;

  bool active_ = false, ascii_ = true;
  uint64_t num_symbols_ = 0, max_length_ = 1;
  uint64_t symbols_[256] = {};
  uint8_t lengths_[256] = {};
  mutable std::once_flag once_;
  mutable std::unique_ptr<const FsstPlanes> planes_;  // made by the first bulk read
};

}  // namespace pilum::codec
