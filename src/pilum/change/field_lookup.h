// Fields of a stored schema by name. Called by operations on columns. Pure.
#pragma once

#include <set>
#include <string>

#include "pilum/base/types.h"
#include "pilum/table/commit/schema_fields.h"

namespace pilum {

// "a.b": field b of struct a (a list's item may be left out); a top-level name with dots in it comes first. Its index in
// `fields`. kNotFound says which columns there are.
Result<int> FindField(const WireFields& fields, const std::string& path);
// Indices of the field itself and of all below it.
std::set<int> FieldAndBelow(const WireFields& fields, int field);
// Names from the outside in.
FieldPath FieldPathOf(const WireFields& fields, int field);
// Above all ids that the schema or a data file of `manifest` has or had.
int32_t NextFieldId(const wire::Manifest& manifest);

}  // namespace pilum
