// The checksums of a file's bytes: made by the file writer, verified by what reads. Called by file_writer.cc, footer.cc,
// unit.cc and check.cc. Format: docs/formats/checksums.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pilum/base/context.h"
#include "pilum/io/byte_source.h"

namespace pilum {

// Sees the data of a file, front to back, and makes its checksum buffer. Not thread-safe.
class ChecksumBuilder {
 public:
  void Update(const void* data, uint64_t size);
  uint64_t BufferSize() const;  // of what Finish will give
  // `metadata`: all that stands behind the buffer.
  std::string Finish(std::string_view metadata);

 private:
  uint64_t size_ = 0;
  std::string partial_;           // of the block that is not whole yet
  std::vector<uint32_t> blocks_;  // of the whole ones
};

// The checksums of one open file. Thread-safe.
class Checksums {
 public:
  static constexpr uint64_t kTrailerSize = 64;

  // What the trailer says; `data_size` is 0 to n bytes, `block` a power of two.
  struct Trailer {
    uint64_t data_size = 0, block = 0, metadata_hash = 0, segments_hash = 0;
  };
  // nullptr: these 64 bytes are none, or of a newer version. `end`: where in the file they end. kCorrupt without the
  // file's name.
  static Result<std::unique_ptr<Checksums>> Parse(std::string_view trailer, uint64_t end);

  // Where the segment checksums are, to be handed to Load before anything else.
  ByteRange segments() const { return segments_at_; }
  Status Load(std::string_view segments);
  // What `bytes` has of the block checksums already, from the last segment on.
  Status LoadBlocks(const std::function<std::string_view(ByteRange)>& bytes);
  Status CheckMetadata(std::string_view metadata) const;

  uint64_t data_size() const { return trailer_.data_size; }
  uint64_t block_size() const { return trailer_.block; }
  ByteRange buffer() const;  // the whole checksum buffer

  // As source.ReadRanges, with every block verified that a range touches: they are read whole. Block checksums that are
  // not here yet come first, a request a segment and once for all threads, so that counts do not depend on those.
  // `place(i)`: what range i is, for the error.
  Result<std::vector<BufferPtr>> ReadRanges(const ByteSource& source, std::span<const ByteRange> ranges,
                                            const std::function<std::string(size_t)>& place, ReadContext& ctx) const;

  // Holds the blocks that `ranges` touch against their checksums where they are mapped: `map` is all of the file. Each
  // block once, by whoever touches it first: what was found to agree is remembered for as long as this lives.
  Status VerifyMapped(const ByteSource& source, const uint8_t* map, std::span<const ByteRange> ranges,
                      const std::function<std::string(size_t)>& place, ReadContext& ctx) const;

  // Reads all data; the blocks that do not agree, in order, at most `most`. An error where the checksums are damaged.
  Result<std::vector<ByteRange>> FindDamage(const ByteSource& source, size_t most, ReadContext& ctx) const;

 private:
  // Of the blocks of one segment.
  struct Segment {
    std::unique_ptr<uint32_t[]> sums;
    std::unique_ptr<std::atomic<uint64_t>[]> agreed;  // a bit a block: a mapped read found that it agrees
  };
  // A read of ranges: what is fetched for it.
  struct Plan {
    std::vector<ByteRange> runs;  // disjoint, ascending, whole blocks
    std::vector<size_t> outside;  // numbers of ranges that are not all data
  };
  Plan MakePlan(std::span<const ByteRange> ranges) const;
  uint64_t num_blocks() const;
  uint64_t num_segments() const;
  bool InData(ByteRange range) const;
  ByteRange SegmentAt(uint64_t segment) const;
  Status LoadSegments(const ByteSource& source, std::span<const ByteRange> blocks, ReadContext& ctx) const;
  Status AddSegment(uint64_t segment, std::string_view bytes) const;  // mutex_ is held, or nobody else is there
  const Segment& SegmentOf(uint64_t block) const;                     // which is here
  ByteRange BlockAt(uint64_t block) const;
  bool Agrees(uint64_t block, const uint8_t* bytes) const;
  // The first block of `bytes`, which stand at `at`, that does not agree; {0, 0}: none. Its segments are here.
  ByteRange FirstDamage(ByteRange at, const uint8_t* bytes) const;

  Trailer trailer_;
  ByteRange segments_at_;
  std::vector<uint64_t> segment_hashes_;
  mutable std::mutex mutex_;  // of what adds
  mutable std::vector<std::unique_ptr<const Segment>> owned_;
  mutable std::vector<std::atomic<const Segment*>> loaded_;  // or null: not here yet
};

}  // namespace pilum
