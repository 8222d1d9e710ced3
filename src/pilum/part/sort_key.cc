#include "pilum/part/sort_key.h"

#include <bit>
#include <limits>

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/source/field_path.h"
#include "pilum/values/value.h"

namespace pilum {
namespace {

void AppendBigEndian(uint64_t v, std::string* out) {
  for (int shift = 56; shift >= 0; shift -= 8) out->push_back(static_cast<char>(v >> shift));
}

// Bytes of any length, none the beginning of another: 0 is written as 0 1, the end as 0 0.
void AppendText(std::string_view text, std::string* out) {
  for (char c : text) {
    out->push_back(c);
    if (c == 0) out->push_back(1);
  }
  out->append(2, '\0');
}

void AppendKey(const Value& v, std::string* out) {
  switch (v.domain()) {
    case Domain::kInt: {  // from -2^63 to 2^64
      const auto up = static_cast<unsigned __int128>(v.as_int() + (Int128{1} << 63));
      out->push_back(static_cast<char>(up >> 64));
      return AppendBigEndian(static_cast<uint64_t>(up), out);
    }
    case Domain::kFloat: {  // NaN is the greatest
      const auto bits = std::bit_cast<uint64_t>(v.as_float());
      return AppendBigEndian(bits >> 63 ? ~bits : bits | uint64_t{1} << 63, out);
    }
    case Domain::kDecimal: {
      const auto words = v.as_decimal().little_endian_array();
      AppendBigEndian(words[3] ^ uint64_t{1} << 63, out);
      for (const size_t w : {2, 1, 0}) AppendBigEndian(words[w], out);
      return;
    }
    default: return AppendText(v.as_bytes(), out);
  }
}

}  // namespace

Result<FieldPath> SortColumn(const arrow::Schema& schema, const std::string& dotted) {
  FieldPath path{{dotted}};
  if (!schema.GetFieldByName(dotted)) {
    path.steps.clear();
    for (size_t at = 0; at <= dotted.size();) {
      const size_t end = std::min(dotted.find('.', at), dotted.size());
      path.steps.push_back(dotted.substr(at, end - at));
      at = end + 1;
    }
  }
  const auto field = FieldAt(schema, path);
  if (!field.ok()) return UsageError("there is no column '{}' to sort by", dotted);
  if (!IsNormalizable(*(*field)->type()))
    return UsageError("column '{}' is {}: its values have no order to sort by", dotted, (*field)->type()->ToString());
  return path;
}

bool HasDays(const arrow::DataType& type) { return type.id() == arrow::Type::TIMESTAMP || arrow::is_date(type.id()); }

namespace {

int64_t PerDay(const arrow::DataType& type) {
  if (type.id() == arrow::Type::DATE64) return 86'400'000;
  if (type.id() != arrow::Type::TIMESTAMP) return 1;  // a date32
  switch (static_cast<const arrow::TimestampType&>(type).unit()) {
    case arrow::TimeUnit::SECOND: return 86'400;
    case arrow::TimeUnit::MILLI: return 86'400'000;
    case arrow::TimeUnit::MICRO: return 86'400'000'000;
    default: return 86'400'000'000'000;
  }
}

int64_t Floored(int64_t value, int64_t per_day) { return value / per_day - (value % per_day < 0); }

}  // namespace

int64_t DayOf(int64_t value, const arrow::DataType& type) { return Floored(value, PerDay(type)); }

Result<std::vector<int64_t>> DaysOf(const arrow::Array& times) {
  if (!HasDays(*times.type())) return UsageError("{} has no days", times.type()->ToString());
  const int64_t per_day = PerDay(*times.type());
  std::vector<int64_t> out;
  out.reserve(static_cast<size_t>(times.length()));
  for (int64_t i = 0; i < times.length(); ++i) {
    PILUM_ASSIGN_OR_RETURN(const auto value, ValueAt(times, i));
    const auto v = value ? static_cast<int64_t>(value->as_int()) : 0;
    out.push_back(!value ? std::numeric_limits<int64_t>::max() : Floored(v, per_day));
  }
  return out;
}

Status SortKeys::Append(const arrow::RecordBatch& rows, const std::vector<FieldPath>& columns,
                        arrow::MemoryPool* pool) {
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (const FieldPath& path : columns) {
    PILUM_ASSIGN_OR_RETURN(auto array, ArrayAt(rows, path, pool));
    arrays.push_back(std::move(array));
  }
  for (int64_t i = 0; i < rows.num_rows(); ++i) {
    for (const auto& array : arrays) {
      PILUM_ASSIGN_OR_RETURN(const auto value, ValueAt(*array, i));
      bytes_.push_back(value ? 0 : 1);
      if (value) AppendKey(*value, &bytes_);
    }
    ends_.push_back(bytes_.size());
  }
  return Status::OK();
}

}  // namespace pilum
