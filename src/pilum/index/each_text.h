// Goes over the texts of an array, row by row. For builders of indexes over texts.
#pragma once

#include <optional>
#include <string_view>

#include <arrow/array.h>
#include <arrow/type.h>

#include "pilum/base/status.h"

namespace pilum {

// f(std::optional<std::string_view>) once a row: nullopt is NULL, as of a dictionary's own NULLs.
template <typename F>
Status ForEachText(const arrow::Array& given, const F& f) {
  using arrow::Type;
  using Text = std::optional<std::string_view>;
  auto plain = [&](const auto& array) {
    for (int64_t i = 0; i < array.length(); ++i) f(array.IsNull(i) ? Text() : Text(array.GetView(i)));
    return Status::OK();
  };
  auto coded = [&](const arrow::DictionaryArray& array, const auto& values) -> Status {
    for (int64_t i = 0; i < array.length(); ++i) {
      if (array.IsNull(i)) {
        f(Text());
        continue;
      }
      const int64_t code = array.GetValueIndex(i);
      if (code < 0 || code >= values.length())
        return Status::Invalid("dictionary index ", code, " of ", values.length(), " entries");
      f(values.IsNull(code) ? Text() : Text(values.GetView(code)));
    }
    return Status::OK();
  };
  switch (given.type_id()) {
    case Type::EXTENSION: return ForEachText(*static_cast<const arrow::ExtensionArray&>(given).storage(), f);
    case Type::STRING: return plain(static_cast<const arrow::StringArray&>(given));
    case Type::LARGE_STRING: return plain(static_cast<const arrow::LargeStringArray&>(given));
    case Type::STRING_VIEW: return plain(static_cast<const arrow::StringViewArray&>(given));
    case Type::DICTIONARY: {
      const auto& array = static_cast<const arrow::DictionaryArray&>(given);
      const arrow::Array& values = *array.dictionary();
      switch (values.type_id()) {
        case Type::STRING: return coded(array, static_cast<const arrow::StringArray&>(values));
        case Type::LARGE_STRING: return coded(array, static_cast<const arrow::LargeStringArray&>(values));
        case Type::STRING_VIEW: return coded(array, static_cast<const arrow::StringViewArray&>(values));
        default: break;
      }
      [[fallthrough]];
    }
    default: return Status::TypeError("no texts: ", given.type()->ToString());
  }
}

}  // namespace pilum
