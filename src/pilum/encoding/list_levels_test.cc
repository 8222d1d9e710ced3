// Plain lists by bitmaps against the same lists by levels (rep_def.h), on random lists, chunks and rows.
#include "pilum/encoding/list_levels.h"

#include <random>

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "pilum/base/bytes.h"

namespace pilum {
namespace {

using L = RepDefLayer;

struct Chunk {
  std::vector<uint16_t> rep, def;
  uint64_t values = 0;
};

struct Lists {
  LevelPlan plan;
  bool has_def = false;
  std::vector<Chunk> chunks;
  uint64_t rows = 0;
};

std::string FlatBytes(const std::vector<uint16_t>& levels) {
  std::string s(levels.size() * 2 + codec::kSlack, '\xaa');
  if (!levels.empty()) std::memcpy(s.data(), levels.data(), levels.size() * 2);
  return s;
}

// FastLanes at one bit: value i is bit `row` of word i % 64.
std::string PackedBytes(const std::vector<uint16_t>& levels) {
  const size_t blocks = (levels.size() + 1023) / 1024;
  std::vector<uint16_t> words(blocks * 64);
  for (size_t i = 0; i < levels.size(); ++i) {
    const size_t in_block = i % 1024, row = in_block / 128 + (in_block % 128 >= 64 ? 8 : 0);
    words[i / 1024 * 64 + i % 64] = static_cast<uint16_t>(words[i / 1024 * 64 + i % 64] | (levels[i] & 1) << row);
  }
  return FlatBytes(words);
}

CodecDesc FlatCodec(uint64_t bits) {
  CodecDesc d;
  d.bits = bits;
  return d;
}
CodecDesc PackedCodec() {
  CodecDesc d;
  d.kind = CodecKind::kOutOfLineBitpacking;
  d.bits = 16;
  d.children = {FlatCodec(1)};
  return d;
}

Lists Draw(std::mt19937_64* random, const std::shared_ptr<arrow::DataType>& type, L item, L list) {
  Lists out;
  const LeafColumn column = LeafColumnsOf(arrow::Schema({arrow::field("c", type)})).ValueOrDie()[0];
  static std::vector<std::unique_ptr<LeafColumn>> keep;
  keep.push_back(std::make_unique<LeafColumn>(column));
  out.plan = MakeLevelPlan(*keep.back(), {item, list}).ValueOrDie();
  out.has_def = out.plan.max_def > 0 && (*random)() % 8 != 0;
  const LevelLayer &leaf = out.plan.layers[0], &outer = out.plan.layers[1];
  for (uint64_t n = 1 + (*random)() % 4; n > 0; --n) {
    Chunk c;
    const uint64_t events = (*random)() % 3 ? (*random)() % 1500 : (*random)() % 70;
    for (uint64_t i = 0; i < events; ++i) {
      const bool first = out.rows == 0 && c.rep.empty();
      uint16_t rep = first || (*random)() % 3 == 0, def = 0;
      if (leaf.null_level && (*random)() % 5 == 0) def = leaf.null_level;
      if (rep && outer.null_level && (*random)() % 6 == 0) def = outer.null_level;
      if (rep && outer.empty_level && (*random)() % 6 == 0) def = outer.empty_level;
      if (!out.has_def) def = 0;
      out.rows += rep;
      c.rep.push_back(rep);
      c.def.push_back(def);
      // What follows a list without items must start one.
      if (def > out.plan.max_visible && i + 1 < events) {
        c.rep.push_back(1);
        c.def.push_back(0);
        ++out.rows, ++i;
      }
    }
    if (!c.def.empty() && c.def.back() > out.plan.max_visible) c.def.back() = 0;  // the next chunk may go on
    for (uint16_t d : c.def) c.values += d <= out.plan.max_visible;
    out.chunks.push_back(std::move(c));
  }
  return out;
}

std::vector<RowRange> DrawRows(std::mt19937_64* random, uint64_t rows) {
  if ((*random)() % 3 == 0) return {{0, rows}};
  std::vector<RowRange> out;
  for (uint64_t at = (*random)() % 5; at < rows;) {
    const uint64_t n = std::min(rows - at, 1 + (*random)() % ((*random)() % 2 ? 4 : 700));
    out.push_back({at, at + n});
    at += n + 1 + (*random)() % 50;
  }
  return out;
}

std::shared_ptr<arrow::ArrayData> Leaf(const Validity& v) {
  arrow::Int32Builder b;
  for (uint64_t i = 0; i < v.count; ++i) EXPECT_TRUE(b.Append(static_cast<int32_t>(i)).ok());
  auto values = b.Finish().ValueOrDie();
  return arrow::ArrayData::Make(arrow::int32(), static_cast<int64_t>(v.count), {v.bitmap, values->data()->buffers[1]},
                                v.null_count);
}

Result<std::shared_ptr<arrow::Array>> ByLevels(const Lists& lists, const std::vector<RowRange>& rows, uint64_t count) {
  std::vector<uint16_t> rep, def;
  uint64_t row = 0;
  for (const Chunk& c : lists.chunks) {
    for (const RowRange& e : SelectEvents(c.rep.data(), c.rep.size(), 1, rows, &row)) {
      rep.insert(rep.end(), c.rep.begin() + static_cast<long>(e.begin), c.rep.begin() + static_cast<long>(e.end));
      def.insert(def.end(), c.def.begin() + static_cast<long>(e.begin), c.def.begin() + static_cast<long>(e.end));
    }
  }
  auto* pool = arrow::default_memory_pool();
  Levels levels;
  levels.count = rep.size();
  PILUM_RETURN_NOT_OK(levels.rep.Reserve(rep.size(), pool));
  std::copy(rep.begin(), rep.end(), levels.rep.data());
  PILUM_RETURN_NOT_OK(levels.def.Reserve(def.size(), pool));
  std::copy(def.begin(), def.end(), levels.def.data());
  PILUM_ASSIGN_OR_RETURN(Validity v, LeafValidity(lists.plan, levels, pool));
  PILUM_ASSIGN_OR_RETURN(auto data, Unravel(lists.plan, std::move(levels), count, Leaf(v), pool));
  return arrow::MakeArray(data);
}

// Also counts the values that the chunks are asked for.
Result<std::shared_ptr<arrow::Array>> ByBitmaps(const Lists& lists, const std::vector<RowRange>& rows, uint64_t count,
                                                bool packed) {
  const CodecDesc flat = FlatCodec(16), bit = PackedCodec();
  const bool packed_def = packed && lists.plan.max_def <= 1;
  ListLevels levels(lists.plan, packed ? &bit : &flat, lists.has_def ? (packed_def ? &bit : &flat) : nullptr);
  uint64_t row = 0, values = 0;
  for (const Chunk& c : lists.chunks) {
    const std::string rep = packed ? PackedBytes(c.rep) : FlatBytes(c.rep),
                      def = packed_def ? PackedBytes(c.def) : FlatBytes(c.def);
    auto view = [](const std::string& s) {
      return codec::Bytes(reinterpret_cast<const uint8_t*>(s.data()), s.size() - codec::kSlack);
    };
    std::vector<RowRange> ranges;
    PILUM_RETURN_NOT_OK(levels.AppendChunk(view(rep), view(def), c.rep.size(), c.values, rows, &row, &ranges));
    values += codec::CountOf(ranges);
  }
  EXPECT_EQ(values, levels.num_values());
  auto* pool = arrow::default_memory_pool();
  PILUM_ASSIGN_OR_RETURN(Validity v, levels.LeafValidity(pool));
  PILUM_ASSIGN_OR_RETURN(auto data, levels.Wrap(Leaf(v), count, pool));
  return arrow::MakeArray(data);
}

TEST(ListLevels, AgreesWithTheLevels) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 400; ++round) {
    const L item = random() % 2 ? L::kNullableItem : L::kAllValidItem;
    const L kinds[] = {L::kAllValidList, L::kNullableList, L::kEmptyableList, L::kNullAndEmptyList};
    auto type = round % 2 ? arrow::list(arrow::int32()) : arrow::large_list(arrow::int32());
    const Lists lists = Draw(&random, type, item, kinds[random() % 4]);
    const std::vector<RowRange> rows = DrawRows(&random, lists.rows);
    const uint64_t count = codec::CountOf(rows);
    auto want = ByLevels(lists, rows, count);
    ASSERT_TRUE(want.ok()) << want.status();
    for (bool packed : {false, true}) {
      auto got = ByBitmaps(lists, rows, count, packed);
      ASSERT_TRUE(got.ok()) << got.status();
      ASSERT_TRUE((*got)->ValidateFull().ok()) << (*got)->ValidateFull();
      ASSERT_TRUE((*got)->Equals(**want)) << round << '\n' << (*got)->ToString() << (*want)->ToString();
    }
  }
}

TEST(ListLevels, RefusesLevelsThatDoNotFit) {
  const LeafColumn column =
      LeafColumnsOf(arrow::Schema({arrow::field("c", arrow::list(arrow::int32()))})).ValueOrDie()[0];
  auto read = [&](L list, std::vector<uint16_t> rep, std::vector<uint16_t> def, uint64_t values, uint64_t rows) {
    Lists lists;
    lists.plan = MakeLevelPlan(column, {L::kNullableItem, list}).ValueOrDie();
    lists.has_def = true;
    lists.chunks.push_back({rep, def, values});
    return ByBitmaps(lists, {{0, rows}}, rows, false).ok();
  };
  EXPECT_TRUE(read(L::kNullAndEmptyList, {1, 0, 1, 1}, {0, 1, 2, 3}, 2, 3));
  EXPECT_FALSE(read(L::kNullAndEmptyList, {1, 0, 1, 1}, {0, 1, 2, 4}, 2, 3));  // a level too high
  EXPECT_FALSE(read(L::kAllValidList, {1, 0, 1}, {0, 1, 2}, 3, 2));
  EXPECT_FALSE(read(L::kNullAndEmptyList, {2, 0, 1, 1}, {0, 1, 2, 3}, 2, 3));
  EXPECT_FALSE(read(L::kNullAndEmptyList, {0, 1}, {0, 0}, 2, 1));        // an item before the first list
  EXPECT_FALSE(read(L::kNullAndEmptyList, {1, 0}, {0, 2}, 1, 1));        // a null list that continues one
  EXPECT_FALSE(read(L::kNullAndEmptyList, {1, 1}, {0, 0}, 2, 3));        // fewer rows than asked for
  EXPECT_FALSE(read(L::kNullAndEmptyList, {1, 0, 1}, {0, 0, 0}, 2, 2));  // fewer values than slots
  EXPECT_FALSE(read(L::kNullAndEmptyList, {1, 0, 1}, {0, 0, 2}, 3, 2));  // more
}

}  // namespace
}  // namespace pilum
