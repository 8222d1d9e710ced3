#include "pilum/encoding/rep_def.h"

#include <emmintrin.h>

#include <cstring>

#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/type.h>

#include "pilum/encoding/bits.h"
#include "pilum/encoding/codec/codec.h"

namespace pilum {

using codec::Allocate;
using codec::BadBytes;

namespace {

bool IsList(ShapeLayerKind kind) {
  return kind == ShapeLayerKind::kList || kind == ShapeLayerKind::kLargeList || kind == ShapeLayerKind::kMap;
}

Status AddLayer(LevelPlan* plan, LevelLayer::Kind kind, RepDefLayer page_layer) {
  LevelLayer l;
  l.kind = kind;
  bool list = kind == LevelLayer::Kind::kList;
  if (list != IsListLayer(page_layer)) return BadBytes("the page's layers are not those of the column");
  uint16_t& next = plan->max_def;
  switch (page_layer) {
    case RepDefLayer::kNullableItem:
    case RepDefLayer::kNullableList: l.null_level = ++next; break;
    case RepDefLayer::kEmptyableList: l.empty_level = ++next; break;
    case RepDefLayer::kNullAndEmptyList:
      l.null_level = ++next;
      l.empty_level = ++next;
      break;
    default: break;
  }
  if (list)
    ++plan->max_rep;
  else if (plan->max_rep == 0)
    plan->max_visible = next;
  plan->layers.push_back(std::move(l));
  return Status::OK();
}

}  // namespace

Result<LevelPlan> MakeLevelPlan(const LeafColumn& column, const std::vector<RepDefLayer>& stored) {
  std::vector<RepDefLayer> padded;
  // An empty struct's page has one layer however deep it lies: it is written only where nothing on the way is null.
  if (stored.size() == 1 && column.leaf->type()->id() == arrow::Type::STRUCT &&
      column.leaf->type()->num_fields() == 0 && column.num_list_layers() == 0) {
    padded = stored;
    padded.resize(column.layers.size() + 1, RepDefLayer::kAllValidItem);
  }
  const std::vector<RepDefLayer>& layers = padded.empty() ? stored : padded;
  if (layers.size() != column.layers.size() + 1) {
    return BadBytes("{} layers, where the column has {}", layers.size(), column.layers.size() + 1);
  }
  LevelPlan plan;
  plan.layers.reserve(layers.size());
  PILUM_RETURN_NOT_OK(AddLayer(&plan, LevelLayer::Kind::kItem, layers[0]));
  plan.layers[0].type = column.leaf->type();
  std::shared_ptr<arrow::Field> child = column.leaf;
  for (size_t i = 0; i < column.layers.size(); ++i) {
    const ShapeLayer& shape = column.layers[column.layers.size() - 1 - i];
    auto kind = IsList(shape.kind)                             ? LevelLayer::Kind::kList
                : shape.kind == ShapeLayerKind::kFixedSizeList ? LevelLayer::Kind::kFixedSizeList
                                                               : LevelLayer::Kind::kItem;
    PILUM_RETURN_NOT_OK(AddLayer(&plan, kind, layers[i + 1]));
    LevelLayer& l = plan.layers.back();
    l.dimension = shape.dimension;
    switch (shape.kind) {
      case ShapeLayerKind::kStruct: l.type = arrow::struct_({child}); break;
      case ShapeLayerKind::kLargeList: l.type = arrow::large_list(child); break;
      case ShapeLayerKind::kFixedSizeList: l.type = arrow::fixed_size_list(child, shape.dimension); break;
      default: l.type = arrow::list(child); break;
    }
    child = shape.field->WithType(l.type);
  }
  return plan;
}

Status LevelBuffer::Reserve(uint64_t count, arrow::MemoryPool* pool) {
  PILUM_RETURN_NOT_OK(codec::CheckOutput(count, 16));
  PILUM_ASSIGN_OR_RETURN(buffer_, Allocate((count + 1024) * 2, pool));
  data_ = reinterpret_cast<uint16_t*>(buffer_->mutable_data());
  return Status::OK();
}

int64_t BelowToBits(const uint16_t* levels, uint64_t n, uint16_t limit, uint8_t* bits) {
  // Saturating: levels - (limit - 1) is 0 exactly for those below the limit.
  const __m128i less = _mm_set1_epi16(static_cast<short>(limit - 1)), zero = _mm_setzero_si128();
  int64_t ones = 0;
  uint64_t i = 0;
  for (; i + 64 <= n; i += 64) {
    uint64_t word = 0;
    for (int j = 0; j < 4; ++j) {
      const __m128i* at = reinterpret_cast<const __m128i*>(levels + i + j * 16);
      __m128i a = _mm_cmpeq_epi16(_mm_subs_epu16(_mm_loadu_si128(at), less), zero);
      __m128i b = _mm_cmpeq_epi16(_mm_subs_epu16(_mm_loadu_si128(at + 1), less), zero);
      word |= static_cast<uint64_t>(static_cast<uint16_t>(_mm_movemask_epi8(_mm_packs_epi16(a, b)))) << (j * 16);
    }
    ones += __builtin_popcountll(word);
    std::memcpy(bits + i / 8, &word, 8);
  }
  if (i < n) {
    uint64_t word = 0;
    for (uint64_t j = 0; i + j < n; ++j) word |= static_cast<uint64_t>(levels[i + j] < limit) << j;
    ones += __builtin_popcountll(word);
    std::memcpy(bits + i / 8, &word, 8);
  }
  return static_cast<int64_t>(n) - ones;
}

PILUM_VECTORIZE uint64_t CountEqual(const uint16_t* levels, uint64_t n, uint16_t value) {
  uint64_t total = 0;
  for (uint64_t i = 0; i < n;) {  // 16-bit counters over at most 32K values, so that the loop stays in 16-bit lanes
    uint64_t end = std::min(n, i + 32768);
    uint16_t part = 0;
    for (; i < end; ++i) part = static_cast<uint16_t>(part + (levels[i] == value));
    total += part;
  }
  return total;
}

PILUM_VECTORIZE uint64_t CountAtMost(const uint16_t* levels, uint64_t n, uint16_t value) {
  uint64_t total = 0;
  for (uint64_t i = 0; i < n;) {
    uint64_t end = std::min(n, i + 32768);
    uint16_t part = 0;
    for (; i < end; ++i) part = static_cast<uint16_t>(part + (levels[i] <= value));
    total += part;
  }
  return total;
}

PILUM_VECTORIZE uint16_t MaxLevel(const uint16_t* levels, uint64_t n) {
  uint16_t m = 0;
  for (uint64_t i = 0; i < n; ++i) m = std::max(m, levels[i]);
  return m;
}

Status CheckLevels(const LevelPlan& plan, const uint16_t* rep, const uint16_t* def, uint64_t n) {
  uint16_t r = rep ? MaxLevel(rep, n) : uint16_t{0}, d = def ? MaxLevel(def, n) : uint16_t{0};
  if (d > plan.max_def) return BadBytes("definition level {}, where the page has {}", d, plan.max_def);
  if (r > plan.max_rep) return BadBytes("repetition level {}, where the page has {}", r, plan.max_rep);
  return Status::OK();
}

Status CheckLevels(const LevelPlan& plan, const Levels& levels) {
  return CheckLevels(plan, levels.rep.data(), levels.def.data(), levels.count);
}

std::vector<RowRange> SelectEvents(const uint16_t* rep, uint64_t n, uint16_t max_rep, const std::vector<RowRange>& rows,
                                   uint64_t* row) {
  std::vector<uint64_t> starts(bits::Words(n));
  if (n > 0) {
    // Levels are at most max_rep (checked): those not below it start a row.
    BelowToBits(rep, n, max_rep, reinterpret_cast<uint8_t*>(starts.data()));
    for (uint64_t& w : starts) w = ~w;
    if (n % 64) starts.back() &= (uint64_t{1} << (n % 64)) - 1;
  }
  return SelectEvents(starts.data(), n, rows, row);
}

std::vector<RowRange> SelectEvents(const uint64_t* starts, uint64_t n, const std::vector<RowRange>& rows,
                                   uint64_t* row) {
  std::vector<RowRange> out;
  const uint64_t first = *row, last = first + bits::Count(starts, 0, n);
  *row = last;
  if (n == 0) return out;
  // Rows touched: [low, last). A run that begins inside a row also holds the rest of row first - 1.
  const uint64_t low = (starts[0] & 1) != 0 || first == 0 ? first : first - 1;
  auto it = std::lower_bound(rows.begin(), rows.end(), low, [](const RowRange& r, uint64_t v) { return r.end <= v; });
  if (it == rows.end() || it->begin >= last) return out;
  if (it->begin <= low && it->end >= last) return {{0, n}};
  uint64_t word = 0, before = 0;
  auto start = [&](uint64_t i) { return bits::Select(starts, i, &word, &before); };  // calls ascend
  for (; it != rows.end() && it->begin < last; ++it) {
    uint64_t begin = it->begin < first ? 0 : start(it->begin - first);
    uint64_t end = it->end >= last ? n : it->end < first ? 0 : start(it->end - first);
    if (begin < end) out.push_back({begin, end});
  }
  return out;
}

}  // namespace pilum
