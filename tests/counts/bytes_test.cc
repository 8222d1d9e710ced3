// What sidecars weigh beside their part, exactly: 10,000 rows of conversations. Held against bench/counts/bytes.txt; where a
// change is meant, PILUM_UPDATE_COUNTS=1 writes it anew.
#include <gtest/gtest.h>

#include <map>

#include <arrow/api.h>

#include "pilum/index/sidecar_builder.h"
#include "pilum/part/part_store.h"
#include "tests/counts/conversation.h"
#include "tests/counts/recorded.h"

namespace pilum {
namespace {

// An index of every kind that anybody may ask for, where it has a meaning.
constexpr std::string_view kAsked = R"(owner = "owner_id"
time = "ts"
key = ["id", "content_hash"]
[index]
conversation_id = ["inverted"]
kind = ["inverted"]
tool = ["inverted"]
tokens = ["inverted"]
cost = ["nulls"]
ok = ["inverted", "nulls"]
text = ["trigrams"]
tags = ["members"]
"meta.a" = ["inverted"]
)";

struct Weights {
  std::string text;
  uint64_t lance = 0, idx = 0, idxh = 0, stats = 0;
  double ratio() const { return static_cast<double>(idx + idxh + stats) / static_cast<double>(lance); }
};

Weights Weigh(std::string_view dataset_toml) {
  auto objects = ObjectStore::Memory();
  if (!dataset_toml.empty()) EXPECT_TRUE(objects->PutIfAbsent("d/dataset.toml", dataset_toml).ValueOrDie());
  auto store = PartStore::OpenIn(objects, "d").ValueOrDie();
  ReadContext ctx;
  const auto rows = synthetic::Conversations(10'000, 200);
  auto reader = arrow::RecordBatchReader::Make({rows}, rows->schema()).ValueOrDie();
  EXPECT_EQ(store->Put(*reader, {}, ctx).ValueOrDie().new_parts, 1u);
  const auto part = store->List(ctx).ValueOrDie().at(0);
  Weights out{"", part.bytes, part.idx_bytes, part.idxh_bytes, part.stats_bytes};
  out.text = fmt::format("  lance {}, idx {}, idxh {}, stats {}: sidecars {:.3f} of the part\n", out.lance, out.idx,
                         out.idxh, out.stats, out.ratio());
  std::map<std::pair<std::string, std::string>, uint64_t> families;
  for (const auto& a : store->Attribute(ctx).ValueOrDie()) {
    if (a.object != "lance") families[{a.object, a.family}] += a.bytes;
  }
  for (const auto& [what, bytes] : families) out.text += fmt::format("  {} {}: {}\n", what.first, what.second, bytes);
  return out;
}

TEST(Bytes, SidecarsOfConversations) {
  const Weights by_rules = Weigh({}), as_asked = Weigh(kAsked);
  EXPECT_LE(by_rules.ratio(), 0.5);
  EXPECT_LE(as_asked.ratio(), 1.0);
  for (const Weights& w : {by_rules, as_asked}) {
    EXPECT_LE(w.idxh, std::min(SidecarBuilder::kHeaderLimit, std::max(SidecarBuilder::kHeaderFloor, w.idx / 10)));
  }
  testing::ExpectRecorded("bytes.txt", "indexes by rules\n" + by_rules.text + "indexes asked for\n" + as_asked.text);
}

}  // namespace
}  // namespace pilum
