#include "pilum/part/part_probe.h"

#include <set>

#include <arrow/type.h>

#include "pilum/part/widen.h"

namespace pilum {
namespace {

using arrow::Type;

// The struct that a further step enters: the type itself, or a list's items. Null: no step leads on.
const arrow::DataType* StructUnder(const arrow::DataType* type, bool through_lists) {
  while (through_lists &&
         (type->id() == Type::LIST || type->id() == Type::LARGE_LIST || type->id() == Type::FIXED_SIZE_LIST)) {
    type = type->field(0)->type().get();
  }
  return type->id() == Type::STRUCT ? type : nullptr;
}

// The field at the end of a path outside of lists.
enum class Found { kYes, kMissing, kNo };
Found Walk(const arrow::Schema& schema, const FieldPath& path, const arrow::DataType** out) {
  const auto top = schema.GetAllFieldIndices(path.steps[0]);
  if (top.empty()) return Found::kMissing;
  if (top.size() > 1) return Found::kNo;
  const arrow::DataType* type = schema.field(top[0])->type().get();
  for (size_t i = 1; i < path.steps.size(); ++i) {
    if (type->id() == Type::NA) return Found::kMissing;  // NULL throughout, and so is all in it
    const auto* parent = StructUnder(type, false);
    if (!parent) return Found::kNo;
    const auto at = static_cast<const arrow::StructType*>(parent)->GetAllFieldIndices(path.steps[i]);
    if (at.empty()) return Found::kMissing;
    if (at.size() > 1) return Found::kNo;
    type = parent->field(at[0])->type().get();
  }
  *out = type;
  return Found::kYes;
}

const arrow::DataType* ItemOf(const arrow::DataType& type) {
  if (type.id() == Type::EXTENSION) return ItemOf(*static_cast<const arrow::ExtensionType&>(type).storage_type());
  const bool list = type.id() == Type::LIST || type.id() == Type::LARGE_LIST || type.id() == Type::FIXED_SIZE_LIST;
  return list ? type.field(0)->type().get() : nullptr;
}

// As two questions about one column each.
PartProbe TranslatePair(const Probe& probe, const arrow::Schema& snapshot, const arrow::Schema& part) {
  const Probe first{Probe::Kind::kInSet, probe.column, probe.set};
  const Probe second{Probe::Kind::kInSet, probe.second, probe.second_set};
  const PartProbe a = TranslateProbe(first, snapshot, part), b = TranslateProbe(second, snapshot, part);
  for (const PartProbe* one : {&a, &b}) {
    if (one->kind != PartProbe::Kind::kAsk) return {one->kind, &probe, {}};
  }
  PartProbe out{PartProbe::Kind::kAsk, &probe, probe};
  out.own->set = a.probe().set;
  out.own->second_set = b.probe().set;
  return out;
}

}  // namespace

PartProbe TranslateProbe(const Probe& probe, const arrow::Schema& snapshot, const arrow::Schema& part) {
  if (probe.kind == Probe::Kind::kInPair) return TranslatePair(probe, snapshot, part);
  const arrow::DataType *wide = nullptr, *own = nullptr;
  if (probe.column.steps.empty() || Walk(snapshot, probe.column, &wide) != Found::kYes) return {};
  switch (Walk(part, probe.column, &own)) {
    case Found::kNo: return {};
    case Found::kMissing: return {PartProbe::Kind::kAllNull, &probe, {}};
    case Found::kYes: break;
  }
  if (own->id() == Type::NA) return {PartProbe::Kind::kAllNull, &probe, {}};
  PartProbe out{PartProbe::Kind::kAsk, &probe, {}};
  if (probe.kind == Probe::Kind::kHasElement) {
    wide = ItemOf(*wide);
    own = ItemOf(*own);
    if (!wide || !own) return {};
  }
  if (probe.kind == Probe::Kind::kIsNull || wide->Equals(*own)) return out;
  auto set = NarrowSet(probe.set, *wide, *own);
  if (!set) return {};
  out.own = probe;
  out.own->set = std::move(*set);
  return out;
}

Candidates AllNullAnswer(Probe::Kind kind, uint64_t num_rows) {
  const RowSet all = RowSet::All(num_rows);
  if (kind == Probe::Kind::kIsNull) return {all, all, {}};
  return {{}, {}, all};
}

std::vector<FieldPath> TranslateColumns(const std::vector<FieldPath>& columns, const arrow::Schema& part) {
  std::set<FieldPath> done;
  std::vector<FieldPath> out;
  for (const FieldPath& path : columns) {
    auto field = part.GetFieldByName(path.steps[0]);
    if (!field) continue;
    FieldPath own{{path.steps[0]}};
    for (size_t i = 1; i < path.steps.size(); ++i) {
      const auto* parent = StructUnder(field->type().get(), true);
      if (!parent || parent->num_fields() == 0) break;  // a NULL column, or an empty struct: read it as it is
      auto child = static_cast<const arrow::StructType*>(parent)->GetFieldByName(path.steps[i]);
      field = child ? child : parent->field(0);
      own.steps.push_back(field->name());
      if (!child) {  // any sibling tells the struct's NULLs; go down to one leaf of it
        while (field->type()->id() == Type::STRUCT && field->type()->num_fields() > 0) {
          field = field->type()->field(0);
          own.steps.push_back(field->name());
        }
        break;
      }
    }
    if (done.insert(own).second) out.push_back(std::move(own));
  }
  return out;
}

}  // namespace pilum
