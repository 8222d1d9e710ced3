#include "pilum/change/new_fields.h"

#include <algorithm>
#include <functional>
#include <set>

#include <arrow/type.h>

#include "pilum/change/field_lookup.h"

namespace pilum {
namespace {

struct Node {
  wire::Field field;
  std::vector<Node> children;

  Node* Child(const std::string& name) {
    for (Node& c : children) {
      if (c.field.name() == name) return &c;
    }
    return nullptr;
  }
};

Node TreeOf(const WireFields& fields) {
  Node root;
  root.field.set_id(-1);
  // Parents come before their children.
  const std::function<Node*(Node*, int32_t)> find = [&](Node* node, int32_t id) -> Node* {
    if (node->field.id() == id) return node;
    for (Node& c : node->children) {
      if (Node* found = find(&c, id)) return found;
    }
    return nullptr;
  };
  for (const auto& f : fields) {
    Node* parent = find(&root, f.parent_id());
    (parent ? parent : &root)->children.push_back({f, {}});
  }
  return root;
}

void Flatten(const Node& node, WireFields* out) {
  for (const Node& c : node.children) {
    auto* field = out->Add();
    *field = c.field;
    field->set_parent_id(node.field.id());
    Flatten(c, out);
  }
}

constexpr int32_t kNew = -3;  // an id that is not given yet

void MarkNew(Node* node) {
  node->field.set_id(kNew);
  for (Node& c : node->children) MarkNew(&c);
}

void Number(Node* node, int32_t* next) {
  for (Node& c : node->children) {
    if (c.field.id() == kNew) c.field.set_id((*next)++);
    Number(&c, next);
  }
}

// A struct whose fields have columns of their own.
bool IsOpenStruct(const wire::Field& f) {
  return f.logical_type() == "struct" && f.extension_name().empty() && !f.metadata().contains("packed") &&
         !f.metadata().contains("lance-encoding:packed");
}

Status Merge(Node* into, const Node& from, const std::string& above, bool into_structs) {
  for (const Node& c : from.children) {
    const std::string path = above + c.field.name();
    Node* there = into->Child(c.field.name());
    if (!there) {
      into->children.push_back(c);
      MarkNew(&into->children.back());
      continue;
    }
    if (!IsOpenStruct(c.field) || !IsOpenStruct(there->field)) {
      return UsageError("Column {} already exists in the dataset", path);
    }
    if (!into_structs) {
      return Unsupported("Column {} is a struct col, add sub column is not supported in Lance files before 2.2", path);
    }
    PILUM_RETURN_NOT_OK(Merge(there, c, path + ".", into_structs));
  }
  return Status::OK();
}

// `columns` with the ids that they have in `merged`.
void TakeIds(Node* columns, Node* merged) {
  for (Node& c : columns->children) {
    Node* there = merged->Child(c.field.name());
    const auto children = std::move(c.children);
    c = {there->field, children};
    TakeIds(&c, there);
  }
}

Result<FileSchema> SchemaOf(const WireFields& fields) {
  wire::Schema schema;
  *schema.mutable_fields() = fields;
  return ParseSchemaMessage(SerializeWire(schema));
}

}  // namespace

bool AllowsNullsAsBefore(const WireFields& before, const WireFields& now) {
  std::set<int32_t> forbade;
  for (const auto& f : before) {
    if (!f.nullable()) forbade.insert(f.id());
  }
  return std::all_of(now.begin(), now.end(),
                     [&](const wire::Field& f) { return f.nullable() || forbade.contains(f.id()); });
}

Status CheckNames(const WireFields& fields) {
  std::set<std::pair<int32_t, std::string>> names;
  for (const auto& f : fields) {
    if (!names.emplace(f.parent_id(), f.name()).second) return UsageError("two columns would be named '{}'", f.name());
  }
  return Status::OK();
}

Result<NewFields> AddFields(const WireFields& fields, const arrow::Schema& columns, int32_t next_id,
                            bool into_structs) {
  for (const auto& f : columns.fields()) {
    if (f->name().find('.') == std::string::npos) continue;
    return UsageError("Top level field {} cannot contain `.`. Maybe you meant to create a struct field?", f->name());
  }
  PILUM_ASSIGN_OR_RETURN(const WireFields added, FieldsOf(columns));
  Node merged = TreeOf(fields), file = TreeOf(added);
  PILUM_RETURN_NOT_OK(Merge(&merged, file, "", into_structs));
  Number(&merged, &next_id);
  TakeIds(&file, &merged);
  NewFields out;
  Flatten(merged, &out.all);
  WireFields in_file;
  Flatten(file, &in_file);
  PILUM_ASSIGN_OR_RETURN(out.file, SchemaOf(in_file));
  return out;
}

Result<FileSchema> PartOfFields(const WireFields& fields, const std::vector<int>& chosen) {
  std::set<int> wanted;
  for (const int at : chosen) {
    wanted.merge(FieldAndBelow(fields, at));
    for (int32_t parent = fields[at].parent_id(); parent >= 0;) {
      int above = -1;
      for (int i = 0; i < fields.size(); ++i) {
        if (fields[i].id() == parent) above = i;
      }
      if (above < 0) break;
      wanted.insert(above);
      parent = fields[above].parent_id();
    }
  }
  WireFields part;
  for (const int i : wanted) *part.Add() = fields[i];
  return SchemaOf(part);
}

}  // namespace pilum
