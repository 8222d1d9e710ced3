#include "tests/counts/conversation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <arrow/api.h>
#include <fmt/format.h>

#include "tests/counts/synthetic.h"

namespace pilum::synthetic {
namespace {

constexpr int64_t kSecond = 1'000'000, kHour = 3'600 * kSecond, kDay = 24 * kHour;
constexpr int64_t kStart = 1'735'689'600 * kSecond;  // 2025-01-01
constexpr std::array kKinds = {"user", "assistant", "tool_call", "tool_result", "system"};
constexpr std::array kKindOf = {0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4};  // of 20 rows

struct When {
  int64_t ts, conversation;
  bool operator<(const When& o) const { return ts != o.ts ? ts < o.ts : conversation < o.conversation; }
};

// Conversations begin over a year; some are far longer than others; a row comes hours after the begin of its own.
std::vector<When> Times(int64_t rows, int64_t conversations) {
  std::vector<When> out;
  for (int64_t k = 0; k < rows; ++k) {
    const int64_t c = k < conversations ? k : Skewed(k, 1, conversations);
    const int64_t hours = std::min(std::min(Below(k, 2, 48), Below(k, 3, 48)), Below(k, 4, 48));
    out.push_back({kStart + Below(c, 5, 365 * kDay) + hours * kHour + Below(k, 6, kHour), c});
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string Hex(int64_t k, uint64_t purpose, int words) {
  std::string out;
  for (int i = 0; i < words; ++i) out += fmt::format("{:016x}", Mix(k, purpose + static_cast<uint64_t>(i)));
  return out;
}

}  // namespace

std::shared_ptr<arrow::RecordBatch> Conversations(int64_t rows, int64_t conversations) {
  auto ok = [](const arrow::Status& st) {
    if (!st.ok()) st.Abort();
  };
  arrow::Int64Builder id;
  arrow::StringBuilder conversation, owner1, owner, kind, tool, hash, text;
  arrow::TimestampBuilder ts(arrow::timestamp(arrow::TimeUnit::MICRO), arrow::default_memory_pool());
  arrow::StringDictionary32Builder kind_d;
  arrow::UInt32Builder tokens;
  arrow::DoubleBuilder cost;
  arrow::BooleanBuilder good;
  arrow::Date32Builder day;
  auto tag = std::make_shared<arrow::StringBuilder>();
  arrow::ListBuilder tags(arrow::default_memory_pool(), tag);
  auto a = std::make_shared<arrow::Int32Builder>();
  auto b = std::make_shared<arrow::StringBuilder>();
  const auto meta_type = arrow::struct_({arrow::field("a", arrow::int32()), arrow::field("b", arrow::utf8())});
  arrow::StructBuilder meta(meta_type, arrow::default_memory_pool(), {a, b});
  const auto times = Times(rows, conversations);
  std::string words;
  for (int64_t k = 0; k < rows; ++k) {
    const auto [at, c] = times[static_cast<size_t>(k)];
    const char* of_kind = kKinds[static_cast<size_t>(kKindOf[static_cast<size_t>(Below(k, 10, 20))])];
    ok(id.Append(static_cast<int64_t>(Mix(k, 11) >> 2)));
    ok(conversation.Append("conv-" + Hex(c, 12, 1)));
    ok(owner1.Append("owner-solo"));
    ok(owner.Append(fmt::format("owner-{:03}", Skewed(c, 13, 50))));
    ok(ts.Append(at));
    ok(kind.Append(of_kind));
    ok(kind_d.Append(of_kind));
    ok(tool.Append(fmt::format("tool_{}_{}", Skewed(k, 14, 10), Skewed(k, 15, 20))));
    ok(tokens.Append(static_cast<uint32_t>(1 + (Mix(k, 16) % 1500) * (Mix(k, 17) % 1500) / 1500)));
    ok(Below(k, 18, 100) < 12 ? cost.AppendNull() : cost.Append(static_cast<double>(Mix(k, 19) >> 11) * 0x1p-60));
    ok(Below(k, 20, 100) < 5 ? good.AppendNull() : good.Append(Below(k, 21, 100) < 93));
    ok(day.Append(static_cast<int32_t>(at / kDay)));
    ok(hash.Append(Hex(k, 32, 4)));
    words.clear();
    AppendWords(k, 20 + Below(k, 22, 29), 50'000, &words);
    ok(text.Append(words));
    ok(tags.Append());
    for (uint64_t t = 0; t < Mix(k, 23) % 4; ++t) ok(tag->Append(fmt::format("tag{:02}", Skewed(k, 24 + t, 100))));
    ok(meta.Append());
    ok(a->Append(static_cast<int32_t>(Below(k, 30, 1000))));
    ok(b->Append(fmt::format("m{}", Below(k, 31, 5000))));
  }
  arrow::FieldVector fields;
  arrow::ArrayVector columns;
  auto add = [&](const char* name, arrow::ArrayBuilder& builder) {
    columns.push_back(builder.Finish().ValueOrDie());
    fields.push_back(arrow::field(name, columns.back()->type()));
  };
  add("id", id), add("conversation_id", conversation), add("owner1", owner1), add("owner_id", owner), add("ts", ts);
  add("kind", kind), add("kind_d", kind_d), add("tool", tool), add("tokens", tokens), add("cost", cost);
  add("ok", good), add("day", day), add("content_hash", hash), add("text", text), add("tags", tags), add("meta", meta);
  return arrow::RecordBatch::Make(arrow::schema(fields), rows, columns);
}

}  // namespace pilum::synthetic
