// Immutable bytes, read by ranges. The only door through which file, index and part read bytes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pilum/base/context.h"
#include "pilum/base/status.h"
#include "pilum/base/types.h"
#include "pilum/io/read_cost.h"

namespace pilum {

// Const calls are thread-safe. name() is in every error.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual uint64_t size() const = 0;
  virtual const std::string& name() const = 0;

  // What a request costs here. Constant.
  virtual const ReadCost& cost() const { return kLocalCost; }

  // One buffer a range, in order; zero-copy slices of shared fetches where ranges lie near each other: gaps are
  // read through as cost() says (read_cost.h), what is larger than cost().most is split, and cost().parallel requests
  // are in flight at once. A range past size() is an error that names it; nothing is allocated
  // for it. Each buffer is readable for kReadSlack bytes past its end (of arbitrary content), so that kernels may load
  // whole words. ctx.stats counts each request that was answered, once, and its bytes; the opening of a source counts
  // what it sent itself (OpenSource).
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

  static constexpr uint64_t kReadSlack = 64;
  static constexpr ReadCost kLocalCost{};

 protected:
  // Keeps the last bytes of the source (a copy of them): reads of ranges among them are no requests any more, and count
  // as none. Before anybody else has the source. For stores whose OpenSource had them in the answer that told the size.
  Status HoldTail(std::string_view bytes);
  // One request: exactly `range`, into out (range.size bytes). The range was checked against size(). Called from up to
  // cost().parallel threads at once by each ReadRanges; a request that is tried again counts each further try itself.
  virtual Status ReadAt(ByteRange range, uint8_t* out, ReadContext& ctx) const = 0;
  // ReadAt, counted in ctx.stats. For sources over others, which know whether it was a request at all.
  virtual Status CountedRead(ByteRange range, uint8_t* out, ReadContext& ctx) const;

 private:
  BufferPtr tail_;  // null: nothing is held
};

// `size` bytes to be written, readable for kReadSlack more.
Result<BufferPtr> AllocateReadBuffer(uint64_t size, arrow::MemoryPool* pool);

// How bytes in memory play an object store, for tests: what they say that a request costs, what it takes, and what was
// asked for. Thread-safe, but for `cost` and `latency`, which are set before anything is read.
struct SlowReads {
  ReadCost cost = ReadCost::Remote();
  std::chrono::microseconds latency{0};  // of each request
  std::atomic<uint64_t> requests{0}, bytes{0};
  std::atomic<int> in_flight{0}, most_in_flight{0};
  void Answer(ByteRange range);  // waits and counts
};

// Bytes in memory (tests, small objects). Keeps `bytes` alive.
std::shared_ptr<const ByteSource> MakeMemorySource(std::string name, BufferPtr bytes);
// The same, played slow, opened as OpenSource opens an object: its tail is the first request.
Result<std::shared_ptr<const ByteSource>> OpenSlowMemorySource(std::string name, BufferPtr bytes,
                                                               std::shared_ptr<SlowReads> slow, ReadContext& ctx);

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
