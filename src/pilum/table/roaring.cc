#include "pilum/table/roaring.h"

#include <algorithm>
#include <bit>
#include <vector>

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

// The values that share their upper 16 bits.
struct Container {
  uint16_t key = 0;
  RowSet values;  // the lower 16 bits
  uint64_t cardinality = 0;
  uint64_t plain_size() const { return cardinality <= kMaxArray ? 2 * cardinality : 8192; }
  uint64_t run_size() const { return 2 + 4 * values.ranges().size(); }
  bool is_run() const { return run_size() < plain_size(); }
  uint64_t size() const { return std::min(run_size(), plain_size()); }
};

std::vector<Container> ContainersOf(const RowSet& values) {
  std::vector<Container> out;
  for (const RowRange& r : values.ranges()) {
    for (uint64_t begin = r.begin; begin < r.end;) {
      const uint64_t key = begin >> 16, base = key << 16, end = std::min(r.end, base + 65536);
      if (out.empty() || out.back().key != key) out.push_back({static_cast<uint16_t>(key), {}, 0});
      out.back().values.Append(begin - base, end - base);
      out.back().cardinality += end - begin;
      begin = end;
    }
  }
  return out;
}

void AppendContainer(const Container& c, std::string* out) {
  if (c.is_run()) {
    AppendLE<uint16_t>(out, static_cast<uint16_t>(c.values.ranges().size()));
    for (const RowRange& r : c.values.ranges()) {
      AppendLE<uint16_t>(out, static_cast<uint16_t>(r.begin));
      AppendLE<uint16_t>(out, static_cast<uint16_t>(r.size() - 1));
    }
    return;
  }
  std::string bits(c.cardinality <= kMaxArray ? 0 : 8192, '\0');
  for (const RowRange& r : c.values.ranges()) {
    for (uint64_t v = r.begin; v < r.end; ++v) {
      if (bits.empty()) {
        AppendLE<uint16_t>(out, static_cast<uint16_t>(v));
      } else {
        bits[v / 8] = static_cast<char>(static_cast<uint8_t>(bits[v / 8]) | 1u << (v % 8));
      }
    }
  }
  *out += bits;
}

}  // namespace

std::string SerializeRoaring32(const RowSet& values) {
  const std::vector<Container> containers = ContainersOf(values);
  const auto n = static_cast<uint32_t>(containers.size());
  const bool with_runs = std::any_of(containers.begin(), containers.end(), [](const auto& c) { return c.is_run(); });
  std::string out;
  AppendLE<uint32_t>(&out, with_runs ? kWithRuns | (n - 1) << 16 : kNoRuns);
  if (with_runs) {
    std::string is_run((n + 7) / 8, '\0');
    for (uint32_t i = 0; i < n; ++i) {
      if (containers[i].is_run())
        is_run[i / 8] = static_cast<char>(static_cast<uint8_t>(is_run[i / 8]) | 1u << (i % 8));
    }
    out += is_run;
  } else {
    AppendLE<uint32_t>(&out, n);
  }
  for (const Container& c : containers) {
    AppendLE<uint16_t>(&out, c.key);
    AppendLE<uint16_t>(&out, static_cast<uint16_t>(c.cardinality - 1));
  }
  if (!with_runs || n >= kFewContainers) {
    uint64_t at = out.size() + 4 * uint64_t{n};
    for (const Container& c : containers) {
      AppendLE<uint32_t>(&out, static_cast<uint32_t>(at));
      at += c.size();
    }
  }
  for (const Container& c : containers) AppendContainer(c, &out);
  return out;
}

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
