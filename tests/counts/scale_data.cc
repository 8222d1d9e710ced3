#include "tests/counts/scale_data.h"

#include <array>

#include <arrow/api.h>

#include "tests/counts/synthetic.h"

namespace pilum::scale {

using synthetic::Below;

namespace {

constexpr int64_t kSecond = 1'000'000, kDay = 86'400 * kSecond;
constexpr int64_t kStart = 1'735'689'600 * kSecond;  // 2025-01-01
constexpr int64_t kPartSpan = 30 * kDay;
constexpr int64_t kBatchRows = 16 * 1024;
constexpr int kWords = 56;  // of a text
constexpr std::array kKinds = {"alpha", "beta", "gamma", "delta", "epsilon"};

class PartReader final : public arrow::RecordBatchReader {
 public:
  PartReader(int64_t part, const Shape& shape)
      : shape_(shape), at_(part * shape.part_rows), end_(at_ + shape.part_rows) {}
  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) override {
    *out = nullptr;
    if (at_ == end_) return arrow::Status::OK();
    const int64_t n = std::min(kBatchRows, end_ - at_);
    auto tag = std::make_shared<arrow::StringBuilder>();
    auto leaf = std::make_shared<arrow::Int32Builder>();
    auto name = std::make_shared<arrow::StringBuilder>();
    arrow::Int64Builder id, sid;
    arrow::UInt32Builder u32;
    arrow::StringBuilder kind, text;
    arrow::TimestampBuilder ts(arrow::timestamp(arrow::TimeUnit::MICRO), arrow::default_memory_pool());
    arrow::DoubleBuilder price;
    arrow::Int32Builder late;
    arrow::Date32Builder day;
    arrow::FloatBuilder f32;
    arrow::BooleanBuilder flag;
    arrow::ListBuilder tags(arrow::default_memory_pool(), tag);
    arrow::StructBuilder st(schema_->GetFieldByName("st")->type(), arrow::default_memory_pool(), {leaf, name});
    std::string words;
    for (int64_t k = at_; k < at_ + n; ++k) {
      const Row row = RowAt(k, shape_);
      ARROW_RETURN_NOT_OK(id.Append(row.id));
      ARROW_RETURN_NOT_OK(sid.Append(row.sid));
      ARROW_RETURN_NOT_OK(u32.Append(row.u32));
      ARROW_RETURN_NOT_OK(kind.Append(kKinds[static_cast<size_t>(row.kind)]));
      ARROW_RETURN_NOT_OK(ts.Append(row.ts));
      ARROW_RETURN_NOT_OK(price.AppendOrNull(row.price));
      ARROW_RETURN_NOT_OK(row.late ? late.Append(*row.late) : late.AppendNull());
      ARROW_RETURN_NOT_OK(day.Append(row.day));
      ARROW_RETURN_NOT_OK(f32.Append(row.f32));
      ARROW_RETURN_NOT_OK(flag.Append(row.flag));
      ARROW_RETURN_NOT_OK(tags.Append());
      for (int t : row.tags) ARROW_RETURN_NOT_OK(tag->Append("tag" + std::to_string(t)));
      ARROW_RETURN_NOT_OK(st.Append());
      ARROW_RETURN_NOT_OK(leaf->Append(row.leaf));
      ARROW_RETURN_NOT_OK(name->Append("n" + std::to_string(row.leaf % 7)));
      words.clear();
      synthetic::AppendWords(k, kWords, 20'000, &words);
      if (row.rare_word) words.replace(words.find(' ', words.size() / 2), 1, " zyzzyva ");
      ARROW_RETURN_NOT_OK(text.Append(words));
    }
    at_ += n;
    arrow::ArrayVector columns;
    for (arrow::ArrayBuilder* b : std::initializer_list<arrow::ArrayBuilder*>{
             &id, &sid, &u32, &kind, &ts, &price, &late, &day, &f32, &flag, &tags, &st, &text}) {
      ARROW_ASSIGN_OR_RAISE(auto column, b->Finish());
      columns.push_back(std::move(column));
    }
    *out = arrow::RecordBatch::Make(schema_, n, std::move(columns));
    return arrow::Status::OK();
  }

 private:
  const Shape shape_;
  const std::shared_ptr<arrow::Schema> schema_ = SchemaOf();
  int64_t at_;
  const int64_t end_;
};

}  // namespace

Row RowAt(int64_t k, const Shape& shape) {
  const int64_t part = k / shape.part_rows, i = k % shape.part_rows;
  Row row{};
  row.id = 7 * k + 3;
  // A prime that does not divide the number of rows: every row's number comes once.
  row.sid = 7 * ((k * 2'654'435'761 + 12'345) % shape.rows()) + 3;
  row.u32 = static_cast<uint32_t>(3'000'000'000 + Below(k, 1, shape.part_rows / 50));
  row.kind = static_cast<int>(Below(k, 2, 5));
  const int64_t in_part = std::min(i * (kPartSpan / shape.part_rows) + Below(k, 3, 10 * kSecond), kPartSpan - 1);
  row.ts = kStart + part * kPartSpan + in_part;
  if (Below(k, 4, 3) != 0) row.price = static_cast<double>(Below(k, 5, 8000)) * 0.25;
  const bool in_run = i >= shape.part_rows / 3 && i < shape.part_rows / 3 + 100;
  if (!in_run && Below(k, 6, 5000) != 0) row.late = static_cast<int32_t>(Below(k, 7, 100));
  row.day = static_cast<int32_t>(row.ts / kDay);
  row.f32 = static_cast<float>(Below(k, 8, 1000)) / 10;
  row.flag = Below(k, 9, 1000) == 0;
  for (int64_t t = Below(k, 10, 4); t > 0; --t)
    row.tags.push_back(static_cast<int>(Below(k, 10 + static_cast<uint64_t>(t), 300)));
  row.leaf = static_cast<int32_t>(Below(k, 20, 5000));
  row.rare_word = Below(k, 21, shape.part_rows / 20) == 0;
  return row;
}

std::shared_ptr<arrow::Schema> SchemaOf() {
  return arrow::schema(
      {arrow::field("id", arrow::int64()), arrow::field("sid", arrow::int64()), arrow::field("u32", arrow::uint32()),
       arrow::field("kind", arrow::utf8()), arrow::field("ts", arrow::timestamp(arrow::TimeUnit::MICRO)),
       arrow::field("price", arrow::float64()), arrow::field("late", arrow::int32()),
       arrow::field("day", arrow::date32()), arrow::field("f32", arrow::float32()),
       arrow::field("flag", arrow::boolean()), arrow::field("tags", arrow::list(arrow::utf8())),
       arrow::field("st", arrow::struct_({arrow::field("a", arrow::int32()), arrow::field("b", arrow::utf8())})),
       arrow::field("text", arrow::utf8())});
}

std::shared_ptr<arrow::RecordBatchReader> ReadPart(int64_t part, const Shape& shape) {
  return std::make_shared<PartReader>(part, shape);
}

}  // namespace pilum::scale
