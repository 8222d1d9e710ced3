#include "pilum/part/union_schema.h"

#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "pilum/part/stands_for.h"
#include "pilum/part/widen.h"

namespace pilum {
namespace {

struct Column {
  std::shared_ptr<arrow::Field> field;
  uint64_t parts = 0;  // that have it
  // Each type met, with the first part that has it.
  std::vector<std::pair<std::shared_ptr<arrow::DataType>, const std::string*>> types;
};

std::string Clash(const Column& c, const arrow::DataType& type, const std::string& part) {
  const auto* other = &c.types[0];
  for (const auto& t : c.types) {
    if (!CommonType(t.first, type.GetSharedPtr())) {
      other = &t;
      break;
    }
  }
  return fmt::format("column '{}' is {} in {} and {} in {}; no type holds both", c.field->name(),
                     other->first->ToString(), *other->second, type.ToString(), part);
}

}  // namespace

std::shared_ptr<const arrow::KeyValueMetadata> WithoutStoreKeys(
    const std::shared_ptr<const arrow::KeyValueMetadata>& metadata) {
  if (!metadata) return nullptr;
  auto out = std::make_shared<arrow::KeyValueMetadata>();
  for (int64_t i = 0; i < metadata->size(); ++i) {
    const std::string& key = metadata->key(i);
    if (key != kBatchIdKey && key != kBatchRowKey && key != kStandsForKey) out->Append(key, metadata->value(i));
  }
  return out->size() > 0 ? out : nullptr;
}

UnionSchema UnionSchema::Of(const std::vector<NamedSchema>& parts) {
  UnionSchema out;
  std::vector<Column> columns;
  std::map<std::string, size_t> by_name;
  const arrow::Schema* last = nullptr;
  for (const NamedSchema& part : parts) {
    // Thousands of parts have one schema: a repetition only counts.
    if (last && (part.schema.get() == last || part.schema->Equals(*last, false))) {
      for (const auto& f : last->fields()) ++columns[by_name[f->name()]].parts;
      continue;
    }
    last = part.schema.get();
    for (const auto& field : part.schema->fields()) {
      auto [it, is_new] = by_name.emplace(field->name(), columns.size());
      if (is_new) columns.push_back({field});
      Column& c = columns[it->second];
      if (part.schema->GetAllFieldIndices(field->name()).size() > 1) {
        out.clashes.emplace(field->name(),
                            fmt::format("{} has more than one column named '{}'", part.name, field->name()));
      }
      ++c.parts;
      auto common = CommonField(c.field, field);
      if (!common) {
        out.clashes.emplace(field->name(), Clash(c, *field->type(), part.name));
      } else {
        c.field = common;
      }
      if (c.types.size() < 16) c.types.emplace_back(field->type(), &part.name);
    }
  }
  arrow::FieldVector fields;
  for (const Column& c : columns) fields.push_back(c.parts < parts.size() ? c.field->WithNullable(true) : c.field);
  out.schema =
      arrow::schema(std::move(fields), parts.empty() ? nullptr : WithoutStoreKeys(parts[0].schema->metadata()));
  return out;
}

}  // namespace pilum
