// Names: as written first, else the one that matches without regard to case; steps into structs and through lists.
#include "pilum/query/binder.h"
#include "pilum/source/field_path.h"
#include "pilum/values/text.h"
#include "pilum/values/value_builder.h"

namespace pilum {
namespace {

size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

// The field that `part` names, -1 for none; an error for two.
Result<int> FindField(const arrow::FieldVector& fields, const NamePart& part, size_t pos) {
  int exact = -1, folded = -1;
  for (int i = 0; i < static_cast<int>(fields.size()); ++i) {
    if (fields[static_cast<size_t>(i)]->name() != part.text) continue;
    if (exact >= 0) return ErrorAt(pos, "there are two columns named '{}'", part.text);
    exact = i;
  }
  if (exact >= 0) return exact;
  const std::string wanted = FoldCase(part.text);
  for (int i = 0; i < static_cast<int>(fields.size()); ++i) {
    const std::string& name = fields[static_cast<size_t>(i)]->name();
    if (name.size() > 4 * wanted.size() || FoldCase(name) != wanted) continue;
    if (folded >= 0) {
      return ErrorAt(pos, "'{}' could be '{}' or '{}'; write it as it is", part.text,
                     fields[static_cast<size_t>(folded)]->name(), name);
    }
    folded = i;
  }
  return folded;
}

std::vector<std::string> NamesOf(const arrow::FieldVector& fields) {
  std::vector<std::string> names;
  for (const auto& f : fields) names.push_back(f->name());
  return names;
}

}  // namespace

std::string NearNames(const std::string& name, const std::vector<std::string>& names) {
  std::vector<std::pair<size_t, std::string>> near;
  const std::string wanted = FoldCase(name.substr(0, 100));
  for (const auto& n : names) {
    if (n.size() > 100) continue;
    const std::string folded = FoldCase(n);
    size_t d = EditDistance(wanted, folded);
    bool inside =
        wanted.size() >= 3 && (folded.find(wanted) != std::string::npos || wanted.find(folded) != std::string::npos);
    if (d <= 1 + wanted.size() / 3 || (inside && !folded.empty())) near.emplace_back(d, n);
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string out;
  for (size_t i = 0; i < near.size() && i < 3; ++i) out += (i == 0 ? "; near: " : ", ") + near[i].second;
  return out;
}

bool Binder::IsSourceName(const std::string& name) const {
  return std::any_of(source_names_.begin(), source_names_.end(),
                     [&](const std::string& s) { return FoldCase(s) == FoldCase(name); });
}

Result<ResolvedColumn> Binder::Resolve(const std::vector<NamePart>& parts, size_t pos) const {
  size_t first = 0;
  PILUM_ASSIGN_OR_RETURN(int at, FindField(schema_.fields(), parts[0], pos));
  if (at < 0 && parts.size() > 1 && IsSourceName(parts[0].text)) {
    first = 1;
    PILUM_ASSIGN_OR_RETURN(at, FindField(schema_.fields(), parts[1], pos));
  }
  if (at < 0) {
    return ErrorAt(pos, "there is no column '{}'{}", parts[first].text,
                   NearNames(parts[first].text, NamesOf(schema_.fields())));
  }
  ResolvedColumn out;
  const auto& field = schema_.field(at);
  out.path.steps.push_back(field->name());
  out.type = TypeOf(*field);
  for (size_t i = first + 1; i < parts.size(); ++i) {
    // Through lists to what they hold; the lists are put around the field's type again afterwards.
    std::vector<std::shared_ptr<arrow::DataType>> lists;
    auto inner = PlainType(out.type);
    while (inner->id() == arrow::Type::LIST || inner->id() == arrow::Type::LARGE_LIST ||
           inner->id() == arrow::Type::FIXED_SIZE_LIST) {
      lists.push_back(inner);
      inner = PlainType(static_cast<const arrow::BaseListType&>(*inner).value_type());
    }
    if (inner->id() != arrow::Type::STRUCT) {
      return ErrorAt(pos, "'{}' is {} and has no field '{}'", out.path.ToString(), out.type->ToString(), parts[i].text);
    }
    PILUM_ASSIGN_OR_RETURN(int child, FindField(inner->fields(), parts[i], pos));
    if (child < 0) {
      return ErrorAt(pos, "'{}' has no field '{}'{}", out.path.ToString(), parts[i].text,
                     NearNames(parts[i].text, NamesOf(inner->fields())));
    }
    out.path.steps.push_back(inner->field(child)->name());
    out.type = TypeOf(*inner->field(child));
    out.through_list |= !lists.empty();
    for (auto list = lists.rbegin(); list != lists.rend(); ++list) {
      const auto& l = **list;
      out.type = l.id() == arrow::Type::LIST ? arrow::list(out.type)
                 : l.id() == arrow::Type::LARGE_LIST
                     ? arrow::large_list(out.type)
                     : arrow::fixed_size_list(out.type, static_cast<const arrow::FixedSizeListType&>(l).list_size());
    }
  }
  return out;
}

std::vector<FieldPath> Binder::json_only() const {
  const std::set<FieldPath> plain = plain_columns();
  std::set<FieldPath> out(columns_.begin(), columns_.end());
  std::erase_if(out, [&](const FieldPath& path) { return plain.contains(path); });
  return {out.begin(), out.end()};
}

std::set<FieldPath> Binder::plain_columns() const {
  std::set<FieldPath> out;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (!looked_into_.contains(i)) out.insert(columns_[i]);
  }
  return out;
}

std::vector<FieldPath> Binder::columns() const { return MinimalPaths(columns_); }

}  // namespace pilum
