#include "pilum/table/row_ids.h"

#include <algorithm>
#include <bit>

#include "lance_table.pb.h"
#include "pilum/base/bytes.h"
#include "pilum/file/quiet_protobuf.h"

namespace pilum {
namespace {

Status Bad(std::string what) { return MakeError(ErrorKind::kCorrupt, std::move(what)); }

// The numbers of an encoded array, one after another.
class EncodedNumbers {
 public:
  static Result<EncodedNumbers> Of(const wire::EncodedU64Array& array) {
    EncodedNumbers out;
    switch (array.array_case()) {
      case wire::EncodedU64Array::kU16Array:
        out = EncodedNumbers(array.u16_array().base(), array.u16_array().offsets(), 2);
        break;
      case wire::EncodedU64Array::kU32Array:
        out = EncodedNumbers(array.u32_array().base(), array.u32_array().offsets(), 4);
        break;
      case wire::EncodedU64Array::kU64Array: out = EncodedNumbers(0, array.u64_array().values(), 8); break;
      default: return Bad("an array of ids of no known width");
    }
    if (out.bytes_.size() % out.width_ != 0) return Bad("an array of ids is cut off");
    return out;
  }
  uint64_t size() const { return bytes_.size() / width_; }
  // Wraps around where base and offset are too large together; whoever needs order checks it.
  uint64_t operator[](uint64_t i) const {
    const char* p = bytes_.data() + i * width_;
    return base_ + (width_ == 2 ? LoadLE<uint16_t>(p) : width_ == 4 ? LoadLE<uint32_t>(p) : LoadLE<uint64_t>(p));
  }

 private:
  EncodedNumbers() = default;
  EncodedNumbers(uint64_t base, std::string_view bytes, size_t width) : base_(base), bytes_(bytes), width_(width) {}
  uint64_t base_ = 0;
  std::string_view bytes_;
  size_t width_ = 1;
};

uint64_t CountBits(std::string_view bits) {
  uint64_t n = 0;
  for (const char byte : bits) n += static_cast<uint64_t>(std::popcount(static_cast<uint8_t>(byte)));
  return n;
}

template <typename Range>
Result<uint64_t> SpanOf(const Range& range) {
  if (range.end() < range.start()) return Bad(fmt::format("ids from {} to {}", range.start(), range.end()));
  return range.end() - range.start();
}

Result<uint64_t> CountIds(const wire::U64Segment& segment) {
  switch (segment.segment_case()) {
    case wire::U64Segment::kRange: return SpanOf(segment.range());
    case wire::U64Segment::kRangeWithHoles: {
      PILUM_ASSIGN_OR_RETURN(const uint64_t span, SpanOf(segment.range_with_holes()));
      PILUM_ASSIGN_OR_RETURN(auto holes, EncodedNumbers::Of(segment.range_with_holes().holes()));
      if (holes.size() > span) return Bad("more holes than ids");
      return span - holes.size();
    }
    case wire::U64Segment::kRangeWithBitmap: {
      PILUM_ASSIGN_OR_RETURN(const uint64_t span, SpanOf(segment.range_with_bitmap()));
      const std::string& bits = segment.range_with_bitmap().bitmap();
      if (bits.size() != span / 8 + (span % 8 != 0)) return Bad("a bitmap of ids is not as long as its range");
      if (span % 8 != 0 && static_cast<uint8_t>(bits.back()) >> (span % 8) != 0) return Bad("ids past a range's end");
      return CountBits(bits);
    }
    case wire::U64Segment::kSortedArray:
    case wire::U64Segment::kArray: {
      PILUM_ASSIGN_OR_RETURN(auto ids,
                             EncodedNumbers::Of(segment.has_array() ? segment.array() : segment.sorted_array()));
      return ids.size();
    }
    default: return Bad("a segment of ids of no known kind");
  }
}

Result<RowSet> WithoutHoles(const wire::U64Segment::RangeWithHoles& segment) {
  PILUM_ASSIGN_OR_RETURN(auto holes, EncodedNumbers::Of(segment.holes()));
  RowSet ids;
  uint64_t next = segment.start();
  for (uint64_t i = 0; i < holes.size(); ++i) {
    const uint64_t hole = holes[i];
    if (hole < next || hole >= segment.end()) return Bad(fmt::format("hole {} is out of order or range", hole));
    ids.Append(next, hole);
    next = hole + 1;
  }
  ids.Append(next, segment.end());
  return ids;
}

RowSet OfBitmap(const wire::U64Segment::RangeWithBitmap& segment) {
  RowSet ids;
  const std::string& bits = segment.bitmap();
  for (uint64_t i = 0; i < bits.size(); ++i) {
    for (auto byte = static_cast<uint8_t>(bits[i]); byte != 0; byte &= static_cast<uint8_t>(byte - 1)) {
      const uint64_t id = segment.start() + 8 * i + static_cast<uint64_t>(std::countr_zero(byte));
      ids.Append(id, id + 1);
    }
  }
  return ids;
}

Result<std::variant<RowSet, std::vector<uint64_t>>> IdsOf(const wire::U64Segment& segment) {
  using Ids = std::variant<RowSet, std::vector<uint64_t>>;
  switch (segment.segment_case()) {
    case wire::U64Segment::kRange: return Ids(RowSet::Range(segment.range().start(), segment.range().end()));
    case wire::U64Segment::kRangeWithHoles: {
      PILUM_ASSIGN_OR_RETURN(RowSet ids, WithoutHoles(segment.range_with_holes()));
      return Ids(std::move(ids));
    }
    case wire::U64Segment::kRangeWithBitmap: return Ids(OfBitmap(segment.range_with_bitmap()));
    default: break;
  }
  PILUM_ASSIGN_OR_RETURN(auto encoded,
                         EncodedNumbers::Of(segment.has_array() ? segment.array() : segment.sorted_array()));
  std::vector<uint64_t> ids(encoded.size());
  for (uint64_t i = 0; i < ids.size(); ++i) ids[i] = encoded[i];
  return Ids(std::move(ids));
}

template <typename Message>
Status ParseMessage(std::string_view bytes, std::string_view what, Message* out) {
  QuietProtobuf();
  if (bytes.size() > INT32_MAX || !out->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Bad(fmt::format("the sequence of {} does not parse", what));
  }
  return Status::OK();
}

// Adds `n` to `*sum`, which may not pass `rows`.
Status AddCounted(uint64_t n, uint64_t rows, std::string_view what, uint64_t* sum) {
  if (n > rows - *sum) return Bad(fmt::format("more {} than its {} rows", what, rows));
  *sum += n;
  return Status::OK();
}

}  // namespace

Result<uint64_t> RowIdSequence::Count(std::string_view bytes, uint64_t most) {
  wire::RowIdSequence message;
  PILUM_RETURN_NOT_OK(ParseMessage(bytes, "row ids", &message));
  uint64_t counted = 0;
  for (const auto& segment : message.segments()) {
    PILUM_ASSIGN_OR_RETURN(const uint64_t n, CountIds(segment));
    PILUM_RETURN_NOT_OK(AddCounted(n, most, "row ids", &counted));
  }
  return counted;
}

Result<RowIdSequence> RowIdSequence::Parse(std::string_view bytes, uint64_t rows) {
  wire::RowIdSequence message;
  PILUM_RETURN_NOT_OK(ParseMessage(bytes, "row ids", &message));
  RowIdSequence out;
  uint64_t counted = 0;
  for (const auto& segment : message.segments()) {
    PILUM_ASSIGN_OR_RETURN(const uint64_t n, CountIds(segment));
    out.segments_.push_back({counted, n, {}});
    PILUM_RETURN_NOT_OK(AddCounted(n, rows, "row ids", &counted));
  }
  if (counted != rows) return Bad(fmt::format("{} row ids for {} rows", counted, rows));
  for (int i = 0; i < message.segments_size(); ++i) {
    PILUM_ASSIGN_OR_RETURN(out.segments_[static_cast<size_t>(i)].ids, IdsOf(message.segments(i)));
  }
  return out;
}

void RowIdSequence::Append(const RowSet& rows, std::vector<uint64_t>* out) const {
  for (const Segment& segment : segments_) {
    const RowSet own = rows.Slice(segment.first_row, segment.first_row + segment.rows);
    const RowSet* ranges = std::get_if<RowSet>(&segment.ids);
    uint64_t before = 0;  // ids of the segment before `range`
    auto range = ranges ? ranges->ranges().begin() : std::vector<RowRange>::const_iterator();
    for (const RowRange& r : own.ranges()) {
      for (uint64_t row = r.begin; row < r.end; ++row) {
        if (!ranges) {
          out->push_back(std::get<std::vector<uint64_t>>(segment.ids)[row]);
          continue;
        }
        while (row - before >= range->size()) before += range++->size();
        out->push_back(range->begin + (row - before));
      }
    }
  }
}

Result<RowVersionSequence> RowVersionSequence::Parse(std::string_view bytes, uint64_t rows) {
  wire::RowDatasetVersionSequence message;
  PILUM_RETURN_NOT_OK(ParseMessage(bytes, "row versions", &message));
  RowVersionSequence out;
  uint64_t counted = 0;
  for (const auto& run : message.runs()) {
    // What the span's numbers are says nothing: they may be places in a sequence of long ago.
    PILUM_ASSIGN_OR_RETURN(const uint64_t n, CountIds(run.span()));
    PILUM_RETURN_NOT_OK(AddCounted(n, rows, "row versions", &counted));
    out.runs_.push_back({counted, run.version()});
  }
  if (counted != rows) return Bad(fmt::format("{} row versions for {} rows", counted, rows));
  return out;
}

void RowVersionSequence::Append(const RowSet& rows, std::vector<uint64_t>* out) const {
  auto run = runs_.begin();
  for (const RowRange& r : rows.ranges()) {
    for (uint64_t row = r.begin; row < r.end; ++row) {
      while (row >= run->end_row) ++run;
      out->push_back(run->version);
    }
  }
}

}  // namespace pilum
