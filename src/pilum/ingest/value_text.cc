#include "pilum/ingest/value_text.h"

#include <cmath>

#include <arrow/array.h>
#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <arrow/util/checked_cast.h>
#include <arrow/util/float16.h>
#include <arrow/visit_array_inline.h>

#include "pilum/base/types.h"

namespace pilum {
namespace {

using arrow::internal::checked_cast;

void AppendHex(std::string_view bytes, std::string* out) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (unsigned char b : bytes) {
    out->push_back(kDigits[b >> 4]);
    out->push_back(kDigits[b & 15]);
  }
}

// Days since 1970-01-01 as year-month-day (proleptic Gregorian; any year).
void AppendDate(int64_t days, std::string* out) {
  int64_t z = days + 719468;
  int64_t era = (z >= 0 ? z : z - 146096) / 146097;
  auto doe = static_cast<uint64_t>(z - era * 146097);
  uint64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
  int64_t year = static_cast<int64_t>(yoe) + era * 400;
  uint64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
  uint64_t mp = (5 * doy + 2) / 153;
  uint64_t day = doy - (153 * mp + 2) / 5 + 1, month = mp < 10 ? mp + 3 : mp - 9;
  if (month <= 2) ++year;
  if (year < 0) out->push_back('-');
  fmt::format_to(std::back_inserter(*out), "{:04}-{:02}-{:02}", year < 0 ? -year : year, month, day);
}

int64_t PerSecond(arrow::TimeUnit::type unit) {
  switch (unit) {
    case arrow::TimeUnit::SECOND: return 1;
    case arrow::TimeUnit::MILLI: return 1000;
    case arrow::TimeUnit::MICRO: return 1'000'000;
    default: return 1'000'000'000;
  }
}

std::string_view UnitName(arrow::TimeUnit::type unit) {
  switch (unit) {
    case arrow::TimeUnit::SECOND: return "s";
    case arrow::TimeUnit::MILLI: return "ms";
    case arrow::TimeUnit::MICRO: return "us";
    default: return "ns";
  }
}

// hh:mm:ss, and the unit's digits of the fraction where it is not zero.
void AppendTime(int64_t value, arrow::TimeUnit::type unit, std::string* out) {
  int64_t per = PerSecond(unit), seconds = value / per, rest = value % per;
  fmt::format_to(std::back_inserter(*out), "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
  int digits = per == 1 ? 0 : per == 1000 ? 3 : per == 1'000'000 ? 6 : 9;
  if (rest != 0) fmt::format_to(std::back_inserter(*out), ".{:0{}}", rest, digits);
}

void AppendTimestamp(int64_t value, const arrow::TimestampType& type, TextStyle style, std::string* out) {
  int64_t per_day = PerSecond(type.unit()) * 86400;
  int64_t day = value / per_day, rest = value % per_day;
  if (rest < 0) {
    rest += per_day;
    --day;
  }
  AppendDate(day, out);
  out->push_back(style == TextStyle::kTable ? ' ' : 'T');
  AppendTime(rest, type.unit(), out);
  if (!type.timezone().empty()) out->push_back('Z');
}

template <typename Float>
void AppendFloat(Float v, TextStyle style, std::string* out) {
  if (std::isfinite(v)) {
    fmt::format_to(std::back_inserter(*out), "{}", v);
    return;
  }
  std::string_view text = std::isnan(v) ? "NaN" : v < 0 ? "-inf" : "inf";
  if (style == TextStyle::kJson) {
    AppendJsonString(text, out);
  } else {
    out->append(text);
  }
}

// A control character must not reach a terminal, and a row is one line.
void AppendEscaped(std::string_view text, std::string* out) {
  for (char c : text) {
    auto u = static_cast<unsigned char>(c);
    if (c == '\n')
      out->append("\\n");
    else if (c == '\t')
      out->append("\\t");
    else if (c == '\r')
      out->append("\\r");
    else if (u < 0x20 || u == 0x7f)
      fmt::format_to(std::back_inserter(*out), "\\x{:02x}", u);
    else
      out->push_back(c);
  }
}

class ValueWriter {
 public:
  ValueWriter(int64_t i, TextStyle style, std::string* out) : i_(i), style_(style), out_(out) {}

  Status Visit(const arrow::BooleanArray& a) { return Raw(a.Value(i_) ? "true" : "false"); }
  Status Visit(const arrow::HalfFloatArray& a) {
    AppendFloat(arrow::util::Float16::FromBits(a.Value(i_)).ToFloat(), style_, out_);
    return Status::OK();
  }
  template <typename T>
  arrow::enable_if_t<arrow::is_number_type<T>::value && !arrow::is_half_float_type<T>::value, Status> Visit(
      const arrow::NumericArray<T>& a) {
    if constexpr (arrow::is_floating_type<T>::value) {
      AppendFloat(a.Value(i_), style_, out_);
    } else {
      fmt::format_int text(a.Value(i_));
      out_->append(text.data(), text.size());
    }
    return Status::OK();
  }
  // StringArray is a BinaryArray in Arrow: each by its own name.
  Status Visit(const arrow::StringArray& a) { return Text(a.GetView(i_), true); }
  Status Visit(const arrow::LargeStringArray& a) { return Text(a.GetView(i_), true); }
  Status Visit(const arrow::BinaryArray& a) { return Text(a.GetView(i_), false); }
  Status Visit(const arrow::LargeBinaryArray& a) { return Text(a.GetView(i_), false); }
  Status Visit(const arrow::StringViewArray& a) { return Text(a.GetView(i_), true); }
  Status Visit(const arrow::BinaryViewArray& a) { return Text(a.GetView(i_), false); }
  Status Visit(const arrow::Decimal32Array& a) { return Raw(a.FormatValue(i_)); }
  Status Visit(const arrow::Decimal64Array& a) { return Raw(a.FormatValue(i_)); }
  Status Visit(const arrow::Decimal128Array& a) { return Raw(a.FormatValue(i_)); }
  Status Visit(const arrow::Decimal256Array& a) { return Raw(a.FormatValue(i_)); }
  Status Visit(const arrow::FixedSizeBinaryArray& a) { return Text(a.GetView(i_), false); }

  Status Visit(const arrow::Date32Array& a) {
    return Quoted([&] { AppendDate(a.Value(i_), out_); });
  }
  Status Visit(const arrow::Date64Array& a) {
    int64_t ms = a.Value(i_);
    return Quoted([&] { AppendDate(ms / 86'400'000 - (ms % 86'400'000 < 0), out_); });
  }
  Status Visit(const arrow::Time32Array& a) {
    return Quoted([&] { AppendTime(a.Value(i_), checked_cast<const arrow::Time32Type&>(*a.type()).unit(), out_); });
  }
  Status Visit(const arrow::Time64Array& a) {
    return Quoted([&] { AppendTime(a.Value(i_), checked_cast<const arrow::Time64Type&>(*a.type()).unit(), out_); });
  }
  Status Visit(const arrow::TimestampArray& a) {
    const auto& type = checked_cast<const arrow::TimestampType&>(*a.type());
    return Quoted([&] { AppendTimestamp(a.Value(i_), type, style_, out_); });
  }
  Status Visit(const arrow::DurationArray& a) {
    out_->append(std::to_string(a.Value(i_)));
    if (style_ == TextStyle::kTable) out_->append(UnitName(checked_cast<const arrow::DurationType&>(*a.type()).unit()));
    return Status::OK();
  }
  Status Visit(const arrow::MonthDayNanoIntervalArray& a) {
    auto v = a.GetValue(i_);
    return Quoted(
        [&] { fmt::format_to(std::back_inserter(*out_), "{} months {} days {} ns", v.months, v.days, v.nanoseconds); });
  }

  Status Visit(const arrow::DictionaryArray& a) {
    AppendValueText(*a.dictionary(), a.GetValueIndex(i_), style_, out_);
    return Status::OK();
  }
  Status Visit(const arrow::ExtensionArray& a) {
    const auto& type = checked_cast<const arrow::ExtensionType&>(*a.type());
    if (type.extension_name() == "arrow.uuid" && type.storage_type()->id() == arrow::Type::FIXED_SIZE_BINARY) {
      return Uuid(checked_cast<const arrow::FixedSizeBinaryArray&>(*a.storage()).GetView(i_));
    }
    AppendValueText(*a.storage(), i_, style_, out_);
    return Status::OK();
  }

  Status Visit(const arrow::MapArray& a) {
    bool object = arrow::is_base_binary_like(a.keys()->type_id());
    out_->push_back(object ? '{' : '[');
    for (int64_t k = a.value_offset(i_); k < a.value_offset(i_ + 1); ++k) {
      if (k > a.value_offset(i_)) out_->push_back(',');
      if (!object) out_->push_back('[');
      AppendValueText(*a.keys(), k, TextStyle::kJson, out_);
      out_->push_back(object ? ':' : ',');
      AppendValueText(*a.items(), k, TextStyle::kJson, out_);
      if (!object) out_->push_back(']');
    }
    out_->push_back(object ? '}' : ']');
    return Status::OK();
  }
  Status Visit(const arrow::ListArray& a) { return Items(a, a.value_length(i_)); }
  Status Visit(const arrow::LargeListArray& a) { return Items(a, a.value_length(i_)); }
  Status Visit(const arrow::ListViewArray& a) { return Items(a, a.value_length(i_)); }
  Status Visit(const arrow::LargeListViewArray& a) { return Items(a, a.value_length(i_)); }
  Status Visit(const arrow::FixedSizeListArray& a) { return Items(a, a.value_length()); }
  Status Visit(const arrow::StructArray& a) {
    out_->push_back('{');
    for (int f = 0; f < a.num_fields(); ++f) {
      if (f > 0) out_->push_back(',');
      AppendJsonString(a.struct_type()->field(f)->name(), out_);
      out_->push_back(':');
      AppendValueText(*a.struct_type()->field(f), *a.field(f), i_, TextStyle::kJson, out_);
    }
    out_->push_back('}');
    return Status::OK();
  }
  Status Visit(const arrow::Array& a) {
    return Quoted([&] { out_->append("<" + a.type()->ToString() + ">"); });
  }

  // The text of 16 bytes.
  Status Uuid(std::string_view bytes) {
    return Quoted([&] {
      for (size_t k = 0; k < bytes.size(); ++k) {
        if (k == 4 || k == 6 || k == 8 || k == 10) out_->push_back('-');
        AppendHex(bytes.substr(k, 1), out_);
      }
    });
  }

 private:
  Status Raw(std::string_view text) {
    out_->append(text);
    return Status::OK();
  }
  template <typename F>
  Status Quoted(F&& append) {
    if (style_ == TextStyle::kJson) out_->push_back('"');
    append();
    if (style_ == TextStyle::kJson) out_->push_back('"');
    return Status::OK();
  }
  Status Text(std::string_view v, bool utf8) {
    if (!utf8) return Quoted([&] { AppendHex(v, out_); });
    if (style_ == TextStyle::kJson)
      AppendJsonString(v, out_);
    else if (style_ == TextStyle::kTable)
      AppendEscaped(v, out_);
    else
      out_->append(v);
    return Status::OK();
  }
  template <typename ListArray>
  Status Items(const ListArray& a, int64_t length) {
    const int64_t begin = a.value_offset(i_);
    const auto& field = *a.type()->field(0);
    out_->push_back('[');
    for (int64_t k = begin; k < begin + length; ++k) {
      if (k > begin) out_->push_back(',');
      AppendValueText(field, *a.values(), k, TextStyle::kJson, out_);
    }
    out_->push_back(']');
    return Status::OK();
  }

  int64_t i_;
  TextStyle style_;
  std::string* out_;
};

// The length of the valid UTF-8 sequence at `s`, 0 if there is none.
size_t Utf8Length(std::string_view s) {
  auto b = [&](size_t k) { return static_cast<unsigned char>(s[k]); };
  auto tail = [&](size_t k) { return k < s.size() && (b(k) & 0xC0) == 0x80; };
  if (b(0) < 0x80) return 1;
  if (b(0) >= 0xC2 && b(0) <= 0xDF) return tail(1) ? 2 : 0;
  if (b(0) >= 0xE0 && b(0) <= 0xEF) {
    if (!tail(1) || !tail(2) || (b(0) == 0xE0 && b(1) < 0xA0) || (b(0) == 0xED && b(1) > 0x9F)) return 0;
    return 3;
  }
  if (b(0) >= 0xF0 && b(0) <= 0xF4) {
    if (!tail(1) || !tail(2) || !tail(3) || (b(0) == 0xF0 && b(1) < 0x90) || (b(0) == 0xF4 && b(1) > 0x8F)) return 0;
    return 4;
  }
  return 0;
}

}  // namespace

void AppendJsonString(std::string_view text, std::string* out) {
  out->push_back('"');
  for (size_t i = 0; i < text.size();) {
    auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x80) {
      size_t n = Utf8Length(text.substr(i));
      if (n == 0) {
        out->append("\xef\xbf\xbd");
        ++i;
      } else {
        out->append(text.substr(i, n));
        i += n;
      }
      continue;
    }
    switch (c) {
      case '"': out->append("\\\""); break;
      case '\\': out->append("\\\\"); break;
      case '\n': out->append("\\n"); break;
      case '\r': out->append("\\r"); break;
      case '\t': out->append("\\t"); break;
      default:
        if (c < 0x20 || c == 0x7f)
          fmt::format_to(std::back_inserter(*out), "\\u{:04x}", c);
        else
          out->push_back(static_cast<char>(c));
    }
    ++i;
  }
  out->push_back('"');
}

void AppendValueText(const arrow::Array& array, int64_t i, TextStyle style, std::string* out) {
  if (array.type_id() == arrow::Type::NA || array.IsNull(i) ||
      (array.type_id() == arrow::Type::DICTIONARY &&
       checked_cast<const arrow::DictionaryArray&>(array).dictionary()->IsNull(
           checked_cast<const arrow::DictionaryArray&>(array).GetValueIndex(i)))) {
    if (style == TextStyle::kJson) out->append("null");
    return;
  }
  ValueWriter writer(i, style, out);
  (void)arrow::VisitArrayInline(array, &writer);  // every Visit appends and says OK
}

void AppendValueText(const arrow::Field& field, const arrow::Array& array, int64_t i, TextStyle style,
                     std::string* out) {
  if (!IsUuidField(field) || array.type_id() != arrow::Type::FIXED_SIZE_BINARY || array.IsNull(i)) {
    return AppendValueText(array, i, style, out);
  }
  (void)ValueWriter(i, style, out).Uuid(checked_cast<const arrow::FixedSizeBinaryArray&>(array).GetView(i));
}

}  // namespace pilum
