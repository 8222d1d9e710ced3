// Column names as Python callers write them -> FieldPath.
#include <algorithm>

#include <arrow/type.h>

#include "pilum/python/convert.h"

namespace pilum::python {
namespace {

bool MatchFields(const arrow::FieldVector& fields, std::string_view rest, std::vector<std::string>* steps);

// `rest` names something inside a value of `type`; list layers on the way are no steps of a FieldPath.
bool MatchInside(const arrow::DataType& type, std::string_view rest, std::vector<std::string>* steps) {
  switch (type.id()) {
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST:
    case arrow::Type::FIXED_SIZE_LIST:
    case arrow::Type::MAP: {
      const auto& item = type.field(0);
      if (rest == item->name()) return true;
      if (rest.size() > item->name().size() && rest.starts_with(item->name()) && rest[item->name().size()] == '.') {
        if (MatchInside(*item->type(), rest.substr(item->name().size() + 1), steps)) return true;
      }
      return MatchInside(*item->type(), rest, steps);
    }
    case arrow::Type::STRUCT: return MatchFields(type.fields(), rest, steps);
    default: return false;
  }
}

bool MatchFields(const arrow::FieldVector& fields, std::string_view rest, std::vector<std::string>* steps) {
  for (const auto& field : fields) {
    if (rest == field->name()) {
      steps->push_back(field->name());
      return true;
    }
  }
  for (const auto& field : fields) {
    const std::string& name = field->name();
    if (rest.size() <= name.size() || !rest.starts_with(name) || rest[name.size()] != '.') continue;
    size_t depth = steps->size();
    steps->push_back(name);
    if (MatchInside(*field->type(), rest.substr(name.size() + 1), steps)) return true;
    steps->resize(depth);
  }
  return false;
}

bool IsPrefix(const FieldPath& outer, const FieldPath& inner) {
  return outer.steps.size() <= inner.steps.size() &&
         std::equal(outer.steps.begin(), outer.steps.end(), inner.steps.begin());
}

}  // namespace

FieldPath ResolveColumn(const arrow::Schema& schema, std::string_view name) {
  FieldPath path;
  if (MatchFields(schema.fields(), name, &path.steps)) return path;
  for (size_t begin = 0;;) {
    size_t dot = name.find('.', begin);
    path.steps.emplace_back(name.substr(begin, dot == name.npos ? dot : dot - begin));
    if (dot == name.npos) return path;
    begin = dot + 1;
  }
}

std::vector<FieldPath> ResolveColumns(const arrow::Schema& schema, const std::vector<std::string>& names) {
  std::vector<FieldPath> paths;
  for (const auto& name : names) paths.push_back(ResolveColumn(schema, name));
  // A whole field takes the place of the first path into it.
  for (size_t i = 0; i < paths.size(); ++i) {
    for (size_t j = i + 1; j < paths.size();) {
      if (!IsPrefix(paths[i], paths[j]) && !IsPrefix(paths[j], paths[i])) {
        ++j;
        continue;
      }
      if (paths[j].steps.size() < paths[i].steps.size()) paths[i] = paths[j];
      paths.erase(paths.begin() + static_cast<std::ptrdiff_t>(j));
      j = i + 1;  // a wider path may now swallow an earlier one
    }
  }
  return paths;
}

}  // namespace pilum::python
