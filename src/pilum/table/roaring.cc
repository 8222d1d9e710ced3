#include "pilum/table/roaring.h"

#include <bit>

#include "pilum/base/bytes.h"

namespace pilum {
namespace {

constexpr uint32_t kNoRuns = 12346, kWithRuns = 12347;  // low 16 bits of the first word
constexpr uint32_t kFewContainers = 4;                  // below it and with runs there are no offsets
constexpr uint32_t kMaxArray = 4096;                    // values of an array container; more are a bitmap

Status Bad(const ByteCursor& c, std::string_view what) {
  return MakeError(ErrorKind::kCorrupt, fmt::format("Roaring bitmap at byte {}: {}", c.offset(), what));
}

Status ReadRuns(ByteCursor* c, uint64_t base, uint64_t cardinality, RowSet* out) {
  const auto runs = c->Read<uint16_t>();
  uint64_t next = 0, count = 0;
  for (uint32_t i = 0; i < runs; ++i) {
    const uint64_t start = c->Read<uint16_t>(), size = uint64_t{1} + c->Read<uint16_t>();
    if (!c->ok()) return Bad(*c, "its runs are cut off");
    if (start < next || start + size > 65536) return Bad(*c, "its runs are not in order");
    out->Append(base + start, base + start + size);
    next = start + size;
    count += size;
  }
  return count == cardinality ? Status::OK() : Bad(*c, "its runs are not as many values as it says");
}

Status ReadArray(ByteCursor* c, uint64_t base, uint64_t cardinality, RowSet* out) {
  const std::string_view values = c->ReadBytes(cardinality * 2);
  if (!c->ok()) return Bad(*c, "its values are cut off");
  int64_t last = -1;
  for (uint64_t i = 0; i < cardinality; ++i) {
    const auto v = LoadLE<uint16_t>(values.data() + 2 * i);
    if (v <= last) return Bad(*c, "its values are not in order");
    out->Append(base + v, base + v + 1);
    last = v;
  }
  return Status::OK();
}

Status ReadBitmap(ByteCursor* c, uint64_t base, uint64_t cardinality, RowSet* out) {
  const std::string_view bits = c->ReadBytes(8192);
  if (!c->ok()) return Bad(*c, "its bits are cut off");
  uint64_t count = 0;
  for (uint64_t w = 0; w < 1024; ++w) {
    auto word = LoadLE<uint64_t>(bits.data() + 8 * w);
    count += static_cast<uint64_t>(std::popcount(word));
    for (uint64_t at = 0; word != 0;) {
      const int zeros = std::countr_zero(word);
      word >>= zeros;
      const int ones = std::countr_one(word);
      at += static_cast<uint64_t>(zeros);
      out->Append(base + 64 * w + at, base + 64 * w + at + static_cast<uint64_t>(ones));
      at += static_cast<uint64_t>(ones);
      word = ones == 64 ? 0 : word >> ones;
    }
  }
  return count == cardinality ? Status::OK() : Bad(*c, "its bits are not as many values as it says");
}

}  // namespace

Result<RowSet> ParseRoaring32(std::string_view bytes) {
  ByteCursor c(bytes);
  const auto word = c.Read<uint32_t>();
  const bool with_runs = (word & 0xffff) == kWithRuns;
  if (!c.ok() || (!with_runs && word != kNoRuns)) return Bad(c, "it does not begin like one");
  const uint32_t containers = with_runs ? (word >> 16) + 1 : c.Read<uint32_t>();
  if (containers > 65536) return Bad(c, fmt::format("{} containers are too many", containers));
  const std::string_view is_run = c.ReadBytes(with_runs ? (containers + 7) / 8 : 0);
  const std::string_view keys = c.ReadBytes(uint64_t{containers} * 4);
  if (!with_runs || containers >= kFewContainers) c.ReadBytes(uint64_t{containers} * 4);  // offsets: they follow anyway
  if (!c.ok()) return Bad(c, "its header is cut off");
  RowSet out;
  int64_t last_key = -1;
  for (uint32_t i = 0; i < containers; ++i) {
    const auto key = LoadLE<uint16_t>(keys.data() + 4 * i);
    const uint64_t cardinality = uint64_t{1} + LoadLE<uint16_t>(keys.data() + 4 * i + 2);
    if (key <= last_key) return Bad(c, "its containers are not in order");
    last_key = key;
    const uint64_t base = uint64_t{key} << 16;
    const bool run = with_runs && (is_run[i / 8] >> (i % 8) & 1) != 0;
    PILUM_RETURN_NOT_OK(run                        ? ReadRuns(&c, base, cardinality, &out)
                        : cardinality <= kMaxArray ? ReadArray(&c, base, cardinality, &out)
                                                   : ReadBitmap(&c, base, cardinality, &out));
  }
  if (c.remaining() > 0) return Bad(c, fmt::format("{} bytes are left over", c.remaining()));
  return out;
}

}  // namespace pilum
