#include "pilum/table/row_ids.h"

#include <gtest/gtest.h>

#include "lance_table.pb.h"
#include "pilum/base/bytes.h"

namespace pilum {
namespace {

template <typename T>
std::string Numbers(std::initializer_list<T> values) {
  std::string out;
  for (T v : values) AppendLE(&out, v);
  return out;
}

// 100..102, 200..205 without 202, 300..307 of bits 0, 2, 7, then {50, 60, 70} sorted and {9, 3, 2^40} in that order.
wire::RowIdSequence Everything() {
  wire::RowIdSequence s;
  auto* range = s.add_segments()->mutable_range();
  range->set_start(100), range->set_end(103);
  auto* holes = s.add_segments()->mutable_range_with_holes();
  holes->set_start(200), holes->set_end(206);
  holes->mutable_holes()->mutable_u16_array()->set_base(200);
  holes->mutable_holes()->mutable_u16_array()->set_offsets(Numbers<uint16_t>({2}));
  auto* bits = s.add_segments()->mutable_range_with_bitmap();
  bits->set_start(300), bits->set_end(308), bits->set_bitmap("\x85");
  auto* sorted = s.add_segments()->mutable_sorted_array()->mutable_u32_array();
  sorted->set_base(50), sorted->set_offsets(Numbers<uint32_t>({0, 10, 20}));
  s.add_segments()->mutable_array()->mutable_u64_array()->set_values(Numbers<uint64_t>({9, 3, uint64_t{1} << 40}));
  return s;
}

const std::vector<uint64_t> kIds = {
    100, 101, 102, 200, 201, 203, 204, 205, 300, 302, 307, 50, 60, 70, 9, 3, uint64_t{1} << 40};

TEST(RowIds, EveryEncoding) {
  const auto ids = RowIdSequence::Parse(Everything().SerializeAsString(), kIds.size()).ValueOrDie();
  std::vector<uint64_t> all;
  ids.Append(RowSet::All(kIds.size()), &all);
  EXPECT_EQ(all, kIds);
  std::vector<uint64_t> some;
  ids.Append(RowSet::FromSorted({1, 5, 7, 8, 12, 14, 16}), &some);
  EXPECT_EQ(some, (std::vector<uint64_t>{101, 203, 205, 300, 60, 9, uint64_t{1} << 40}));
}

void ExpectCorrupt(const wire::RowIdSequence& s, uint64_t rows) {
  EXPECT_EQ(KindOf(RowIdSequence::Parse(s.SerializeAsString(), rows).status()), ErrorKind::kCorrupt)
      << s.SerializeAsString().size();
}

TEST(RowIds, DamageIsAnError) {
  ExpectCorrupt(Everything(), kIds.size() - 1);
  ExpectCorrupt(Everything(), kIds.size() + 1);
  EXPECT_FALSE(RowIdSequence::Parse("\xff\xff", 0).ok());
  wire::RowIdSequence s;
  auto* range = s.add_segments()->mutable_range();
  range->set_start(0), range->set_end(UINT64_MAX);
  ExpectCorrupt(s, 10);  // and nothing is allocated for it
  range->set_start(5), range->set_end(1);
  ExpectCorrupt(s, 10);
  auto* bits = s.mutable_segments(0)->mutable_range_with_bitmap();
  bits->set_start(0), bits->set_end(8), bits->set_bitmap("");
  ExpectCorrupt(s, 0);
  bits->set_end(3), bits->set_bitmap("\x0f");
  ExpectCorrupt(s, 4);
  auto* holes = s.mutable_segments(0)->mutable_range_with_holes();
  holes->set_start(0), holes->set_end(4);
  holes->mutable_holes()->mutable_u16_array()->set_offsets(Numbers<uint16_t>({3, 1}));
  ExpectCorrupt(s, 2);
  holes->mutable_holes()->mutable_u16_array()->set_offsets("x");
  ExpectCorrupt(s, 4);
  s.mutable_segments(0)->Clear();
  ExpectCorrupt(s, 0);
  s.Clear();
  s.add_segments()->mutable_range();
  EXPECT_TRUE(RowIdSequence::Parse(s.SerializeAsString(), 0).ok());
}

TEST(RowVersions, OnlyTheLengthOfASpanCounts) {
  wire::RowDatasetVersionSequence s;
  auto* first = s.add_runs();
  auto* bits = first->mutable_span()->mutable_range_with_bitmap();
  bits->set_start(1000), bits->set_end(1008), bits->set_bitmap("\x11");  // two
  first->set_version(4);
  auto* second = s.add_runs();
  second->mutable_span()->mutable_range()->set_end(3);
  second->set_version(2);
  const auto versions = RowVersionSequence::Parse(s.SerializeAsString(), 5).ValueOrDie();
  std::vector<uint64_t> out;
  versions.Append(RowSet::All(5), &out);
  EXPECT_EQ(out, (std::vector<uint64_t>{4, 4, 2, 2, 2}));
  out.clear();
  versions.Append(RowSet::FromSorted({1, 4}), &out);
  EXPECT_EQ(out, (std::vector<uint64_t>{4, 2}));
  EXPECT_EQ(KindOf(RowVersionSequence::Parse(s.SerializeAsString(), 6).status()), ErrorKind::kCorrupt);
}

}  // namespace
}  // namespace pilum
