#include "pilum/ingest/json_append.h"

#include <arrow/builder.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/checked_cast.h>
#include <arrow/util/decimal.h>
#include <arrow/util/value_parsing.h>
#include <arrow/visit_type_inline.h>

#include "pilum/base/hash.h"

namespace pilum::ingest {
namespace {

using arrow::internal::checked_cast;
using Kind = JsonValue::Kind;

class Appender {
 public:
  Appender(const JsonValue& value, const std::string& place, arrow::ArrayBuilder* builder)
      : value_(value), place_(place), builder_(builder) {}

  Status Visit(const arrow::NullType& type) { return Misfit(type); }

  Status Visit(const arrow::BooleanType& type) {
    if (value_.kind != Kind::kBool) return Misfit(type);
    return As<arrow::BooleanBuilder>().Append(value_.boolean);
  }

  // Numbers, from a JSON number or from its text ("NaN" is text in JSON).
  template <typename T>
  std::enable_if_t<arrow::is_number_type<T>::value && !arrow::is_half_float_type<T>::value, Status> Visit(
      const T& type) {
    typename T::c_type out{};
    std::string text = value_.ToText();
    if constexpr (arrow::is_floating_type<T>::value) {
      if (value_.kind == Kind::kFloat)
        return As<arrow::NumericBuilder<T>>().Append(static_cast<typename T::c_type>(value_.real));
    }
    bool fits = (value_.is_number() || value_.kind == Kind::kString) &&
                arrow::internal::ParseValue<T>(text.data(), text.size(), &out);
    if (!fits) return Misfit(type);
    return As<typename arrow::TypeTraits<T>::BuilderType>().Append(out);
  }

  template <typename T>
  std::enable_if_t<arrow::is_date_type<T>::value || arrow::is_time_type<T>::value, Status> Visit(const T& type) {
    typename T::c_type out{};
    if (value_.kind != Kind::kString ||
        !arrow::internal::ParseValue<T>(type, value_.text.data(), value_.text.size(), &out)) {
      return Misfit(type);
    }
    return As<typename arrow::TypeTraits<T>::BuilderType>().Append(out);
  }

  Status Visit(const arrow::TimestampType& type) {
    int64_t out = 0;
    bool zoned = false;
    if (value_.kind != Kind::kString ||
        !arrow::internal::ParseTimestampISO8601(value_.text.data(), value_.text.size(), type.unit(), &out, &zoned) ||
        zoned == type.timezone().empty()) {
      return Misfit(type);
    }
    return As<arrow::TimestampBuilder>().Append(out);
  }

  Status Visit(const arrow::DurationType& type) {
    if (value_.kind != Kind::kInt) return Misfit(type);
    return As<arrow::DurationBuilder>().Append(value_.integer);
  }

  template <typename T>
  arrow::enable_if_decimal<T, Status> Visit(const T& type) {
    using Value = typename arrow::TypeTraits<T>::CType;
    if (!value_.is_number() && value_.kind != Kind::kString) return Misfit(type);
    Value out;
    int32_t precision = 0, scale = 0;
    if (!Value::FromString(value_.ToText(), &out, &precision, &scale).ok()) return Misfit(type);
    auto scaled = out.Rescale(scale, type.scale());
    if (!scaled.ok() || !scaled->FitsInPrecision(type.precision())) return Misfit(type);
    return As<typename arrow::TypeTraits<T>::BuilderType>().Append(*scaled);
  }

  template <typename T>
  arrow::enable_if_string<T, Status> Visit(const T& type) {
    if (value_.kind == Kind::kList || value_.kind == Kind::kObject) return Misfit(type);
    return As<typename arrow::TypeTraits<T>::BuilderType>().Append(value_.ToText());
  }

  template <typename T>
  arrow::enable_if_binary<T, Status> Visit(const T& type) {
    std::string bytes;
    if (!Hex(&bytes)) return Misfit(type);
    return As<typename arrow::TypeTraits<T>::BuilderType>().Append(bytes);
  }

  Status Visit(const arrow::FixedSizeBinaryType& type) {
    std::string bytes;
    if (!Hex(&bytes) || static_cast<int>(bytes.size()) != type.byte_width()) return Misfit(type);
    return As<arrow::FixedSizeBinaryBuilder>().Append(bytes);
  }

  Status Visit(const arrow::ListType& type) { return Items<arrow::ListBuilder>(type); }
  Status Visit(const arrow::LargeListType& type) { return Items<arrow::LargeListBuilder>(type); }
  Status Visit(const arrow::FixedSizeListType& type) {
    if (value_.kind == Kind::kList && static_cast<int32_t>(value_.items.size()) != type.list_size())
      return Misfit(type);
    return Items<arrow::FixedSizeListBuilder>(type);
  }

  Status Visit(const arrow::MapType& type) {
    if (value_.kind != Kind::kObject) return Misfit(type);
    auto& map = As<arrow::MapBuilder>();
    PILUM_RETURN_NOT_OK(map.Append());
    for (size_t i = 0; i < value_.keys.size(); ++i) {
      JsonValue key;
      key.kind = Kind::kString;
      key.text = value_.keys[i];
      PILUM_RETURN_NOT_OK(AppendJson(key, place_ + " (key)", map.key_builder()));
      PILUM_RETURN_NOT_OK(AppendJson(value_.items[i], place_ + "." + value_.keys[i], map.item_builder()));
    }
    return Status::OK();
  }

  Status Visit(const arrow::StructType& type) {
    if (value_.kind != Kind::kObject) return Misfit(type);
    auto& row = As<arrow::StructBuilder>();
    PILUM_RETURN_NOT_OK(row.Append());
    std::vector<const JsonValue*> found(static_cast<size_t>(type.num_fields()), nullptr);
    for (size_t i = 0; i < value_.keys.size(); ++i) {
      int f = type.GetFieldIndex(value_.keys[i]);
      if (f < 0) {
        return Status::Invalid(
            fmt::format("column '{}' has no field '{}' in the dataset ({})", place_, value_.keys[i], type.ToString()));
      }
      if (found[static_cast<size_t>(f)])
        return Status::Invalid(fmt::format("'{}.{}' is there twice", place_, value_.keys[i]));
      found[static_cast<size_t>(f)] = &value_.items[i];
    }
    static const JsonValue kNull;
    for (int f = 0; f < type.num_fields(); ++f) {
      const JsonValue* v = found[static_cast<size_t>(f)];
      PILUM_RETURN_NOT_OK(AppendJson(v ? *v : kNull, place_ + "." + type.field(f)->name(), row.field_builder(f)));
    }
    return Status::OK();
  }

  Status Visit(const arrow::DataType& type) {
    return Unsupported("column '{}' is {} in the dataset, which JSON lines cannot hold; use Parquet or Arrow IPC",
                       place_, type.ToString());
  }

 private:
  template <typename B>
  B& As() {
    return checked_cast<B&>(*builder_);
  }

  Status Misfit(const arrow::DataType& type) const {
    std::string shown = value_.ToText();
    if (shown.size() > 40) shown = shown.substr(0, 40) + "…";
    return Status::Invalid(fmt::format("column '{}': {}{} is not {}", place_, KindName(value_.kind),
                                       shown.empty() ? "" : " '" + shown + "'", type.ToString()));
  }

  bool Hex(std::string* out) const {
    if (value_.kind != Kind::kString || value_.text.size() % 2 != 0) return false;
    for (size_t i = 0; i < value_.text.size(); i += 2) {
      const int high = HexDigit(value_.text[i]), low = HexDigit(value_.text[i + 1]);
      if (high < 0 || low < 0) return false;
      out->push_back(static_cast<char>(high << 4 | low));
    }
    return true;
  }

  template <typename B>
  Status Items(const arrow::DataType& type) {
    if (value_.kind != Kind::kList) return Misfit(type);
    auto& list = As<B>();
    PILUM_RETURN_NOT_OK(list.Append());
    for (const auto& item : value_.items) PILUM_RETURN_NOT_OK(AppendJson(item, place_ + "[]", list.value_builder()));
    return Status::OK();
  }

  const JsonValue& value_;
  const std::string& place_;
  arrow::ArrayBuilder* builder_;
};

}  // namespace

Status AppendJson(const JsonValue& value, const std::string& place, arrow::ArrayBuilder* builder) {
  if (value.kind == Kind::kNull) return builder->AppendNull();
  Appender appender(value, place, builder);
  return arrow::VisitTypeInline(*builder->type(), &appender);
}

}  // namespace pilum::ingest
