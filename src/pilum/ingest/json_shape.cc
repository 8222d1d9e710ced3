#include "pilum/ingest/json_shape.h"

#include <arrow/type.h>

namespace pilum::ingest {
namespace {

using Kind = JsonValue::Kind;
constexpr size_t kMaxFields = 100'000;

bool IsScalar(Kind k) { return k != Kind::kNull && k != Kind::kList && k != Kind::kObject; }

}  // namespace

Status JsonShape::Add(const JsonValue& value, const std::string& place, int64_t line) {
  const Kind kind = value.kind;
  if (kind == Kind::kNull) return Status::OK();
  if (first_line_[static_cast<size_t>(kind)] == 0) {
    for (size_t k = 1; k < 8; ++k) {
      auto other = static_cast<Kind>(k);
      if (first_line_[k] == 0 || other == kind || (IsScalar(other) && IsScalar(kind))) continue;
      return Status::Invalid(fmt::format("column '{}' is {} here and {} in line {}; one column holds one kind", place,
                                         KindName(kind), KindName(other), first_line_[k]));
    }
    first_line_[static_cast<size_t>(kind)] = line;
  }
  switch (kind) {
    case Kind::kInt: negative_ |= value.integer < 0; return Status::OK();
    case Kind::kString: text_.Add(value.text); return Status::OK();
    case Kind::kObject: return AddObject(value, place, line);
    case Kind::kList:
      if (!item_) item_ = std::make_unique<JsonShape>();
      for (const auto& item : value.items) PILUM_RETURN_NOT_OK(item_->Add(item, place + "[]", line));
      return Status::OK();
    default: return Status::OK();
  }
}

Status JsonShape::AddObject(const JsonValue& value, const std::string& place, int64_t line) {
  for (size_t i = 0; i < value.keys.size(); ++i) {
    auto [it, is_new] = index_.emplace(value.keys[i], fields_.size());
    if (is_new) {
      if (fields_.size() >= kMaxFields) {
        return Status::Invalid(fmt::format("over {} different fields in '{}'; are its keys data?", kMaxFields, place));
      }
      fields_.emplace_back(value.keys[i], std::make_unique<JsonShape>());
    }
    std::string inner = place.empty() ? value.keys[i] : place + "." + value.keys[i];
    PILUM_RETURN_NOT_OK(fields_[it->second].second->Add(value.items[i], inner, line));
  }
  return Status::OK();
}

std::shared_ptr<arrow::DataType> JsonShape::type() const {
  auto saw = [&](Kind k) { return first_line_[static_cast<size_t>(k)] != 0; };
  const bool number = saw(Kind::kInt) || saw(Kind::kUint) || saw(Kind::kFloat);
  if (saw(Kind::kObject)) {
    arrow::FieldVector fields;
    for (const auto& [name, shape] : fields_) fields.push_back(arrow::field(name, shape->type()));
    return arrow::struct_(std::move(fields));
  }
  if (saw(Kind::kList)) return arrow::list(item_->type());
  if (number + saw(Kind::kBool) + saw(Kind::kString) > 1) return arrow::utf8();
  if (saw(Kind::kBool)) return arrow::boolean();
  if (saw(Kind::kString)) return text_.type();
  if (saw(Kind::kFloat) || (saw(Kind::kUint) && negative_)) return arrow::float64();
  if (saw(Kind::kUint)) return arrow::uint64();
  return number ? arrow::int64() : arrow::null();
}

}  // namespace pilum::ingest
