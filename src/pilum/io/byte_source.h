// Immutable bytes, read by ranges. The only door through which file, index and part read bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pilum/base/context.h"
#include "pilum/base/status.h"
#include "pilum/base/types.h"

namespace pilum {

// Const calls are thread-safe. name() is in every error.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual uint64_t size() const = 0;
  virtual const std::string& name() const = 0;

  // One buffer a range, in order; zero-copy slices of shared fetches where ranges lie near each other (gaps under
  // kCoalesceGap are read through). A range past size() is an error that names it; nothing is allocated for it.
  // Each buffer is readable for kReadSlack bytes past its end (of arbitrary content), so that kernels may load whole words.
  Result<std::vector<BufferPtr>> ReadRanges(std::span<const ByteRange> ranges, ReadContext& ctx) const;
  Result<BufferPtr> ReadRange(ByteRange range, ReadContext& ctx) const;

  // All bytes as memory, where the source is a regular local file: mapped at the first call, valid as long as the source,
  // readable for kReadSlack bytes past the end. Empty where there is no such thing (other sources; the system refuses):
  // read by ranges then. The bytes may change under the reader: a number is read once, checked, and used from there; and
  // CheckMapped is asked before anything made from them is given out. Whoever reads here counts, in ctx.stats, the ranges
  // that it would have asked ReadRanges for: their bytes, and a request for each that does not adjoin or repeat the one
  // before it (no gaps are read through); so counts do not depend on the machine.
  virtual std::span<const uint8_t> Mapped() const { return {}; }
  // kCorrupt where the file has another size than at its opening: mapped bytes may be zeros that it never held.
  virtual Status CheckMapped() const { return Status::OK(); }

  static constexpr uint64_t kCoalesceGap = 16 * 1024;
  static constexpr uint64_t kReadSlack = 64;

 protected:
  // One request: exactly `range`, into out (range.size bytes). The range was checked against size().
  virtual Status ReadAt(ByteRange range, uint8_t* out, ReadContext& ctx) const = 0;
};

// Bytes in memory (tests, small objects). Keeps `bytes` alive.
std::shared_ptr<const ByteSource> MakeMemorySource(std::string name, BufferPtr bytes);

// Where a writer puts bytes, front to back. Not thread-safe. Nothing is visible under the final name before Close.
class ByteSink {
 public:
  virtual ~ByteSink() = default;  // without Close: the bytes are dropped and nothing appears
  virtual Status Write(const void* data, uint64_t size) = 0;
  virtual uint64_t position() const = 0;
  virtual Status Close() = 0;  // durable and visible once it returns OK
  virtual const std::string& name() const = 0;
};

// A sink into memory; `*out` holds the bytes after Close.
std::unique_ptr<ByteSink> MakeMemorySink(std::string name, BufferPtr* out);

}  // namespace pilum
