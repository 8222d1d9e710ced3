#include "pilum/change/field_lookup.h"

#include <algorithm>
#include <vector>

namespace pilum {
namespace {

Status NoColumn(const WireFields& fields, const std::string& path) {
  std::vector<std::string> names;
  for (const auto& f : fields) {
    if (f.parent_id() < 0) names.push_back(f.name());
  }
  return NotFoundError("there is no column '{}'; there are {}", path, fmt::join(names, ", "));
}

// The rest of `path` below `parent`; -1: not there.
int FindBelow(const WireFields& fields, int32_t parent, std::string_view path) {
  for (int i = 0; i < fields.size(); ++i) {
    if (fields[i].parent_id() != parent) continue;
    const std::string& name = fields[i].name();
    if (path == name) return i;
    if (path.starts_with(name) && path.substr(name.size()).starts_with('.')) {
      const int at = FindBelow(fields, fields[i].id(), path.substr(name.size() + 1));
      if (at >= 0) return at;
    }
  }
  // A list has one child, whose name people leave out.
  int only = -1, children = 0;
  for (int i = 0; i < fields.size(); ++i) {
    if (parent >= 0 && fields[i].parent_id() == parent) only = i, ++children;
  }
  if (children != 1 || !fields[only].logical_type().starts_with("struct")) return -1;
  return FindBelow(fields, fields[only].id(), path);
}

}  // namespace

Result<int> FindField(const WireFields& fields, const std::string& path) {
  for (int i = 0; i < fields.size(); ++i) {
    if (fields[i].parent_id() < 0 && fields[i].name() == path) return i;
  }
  const int at = FindBelow(fields, -1, path);
  return at >= 0 ? Result<int>(at) : NoColumn(fields, path);
}

std::set<int> FieldAndBelow(const WireFields& fields, int field) {
  std::set<int> out{field};
  std::set<int32_t> ids{fields[field].id()};
  for (int i = field + 1; i < fields.size(); ++i) {
    if (!ids.contains(fields[i].parent_id())) continue;
    out.insert(i);
    ids.insert(fields[i].id());
  }
  return out;
}

FieldPath FieldPathOf(const WireFields& fields, int at) {
  std::vector<std::string> steps{fields[at].name()};
  for (int32_t parent = fields[at].parent_id(); parent >= 0;) {
    const auto above = std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.id() == parent; });
    steps.insert(steps.begin(), above->name());
    parent = above->parent_id();
  }
  return {std::move(steps)};
}

int32_t NextFieldId(const wire::Manifest& manifest) {
  int32_t most = -1;
  for (const auto& f : manifest.fields()) most = std::max(most, f.id());
  for (const auto& fragment : manifest.fragments()) {
    for (const auto& file : fragment.files()) {
      for (const int32_t id : file.fields()) most = std::max(most, id);
    }
  }
  return most + 1;
}

}  // namespace pilum
