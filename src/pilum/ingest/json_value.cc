#include "pilum/ingest/json_value.h"

#include <nlohmann/json.hpp>

namespace pilum::ingest {
namespace {

constexpr size_t kMaxDepth = 64;

// Builds the value from the parser's events; the parser itself does not recurse, and depth is bounded here.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Builder(JsonValue* root) : root_(root) {}
  bool null() override { return Slot() != nullptr; }
  bool boolean(bool v) override {
    JsonValue* slot = Slot();
    slot->kind = JsonValue::Kind::kBool;
    slot->boolean = v;
    return true;
  }
  bool number_integer(int64_t v) override {
    JsonValue* slot = Slot();
    slot->kind = JsonValue::Kind::kInt;
    slot->integer = v;
    return true;
  }
  bool number_unsigned(uint64_t v) override {
    if (v <= static_cast<uint64_t>(INT64_MAX)) return number_integer(static_cast<int64_t>(v));
    JsonValue* slot = Slot();
    slot->kind = JsonValue::Kind::kUint;
    slot->big = v;
    return true;
  }
  bool number_float(double v, const std::string& written) override {
    JsonValue* slot = Slot();
    slot->kind = JsonValue::Kind::kFloat;
    slot->real = v;
    slot->text = written;
    return true;
  }
  bool string(std::string& v) override {
    JsonValue* slot = Slot();
    slot->kind = JsonValue::Kind::kString;
    slot->text = std::move(v);
    return true;
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return Open(JsonValue::Kind::kObject); }
  bool end_object() override { return Close(); }
  bool start_array(size_t) override { return Open(JsonValue::Kind::kList); }
  bool end_array() override { return Close(); }
  bool key(std::string& v) override {
    open_.back()->keys.push_back(std::move(v));
    return true;
  }
  bool parse_error(size_t position, const std::string& token, const nlohmann::detail::exception& e) override {
    error_ = fmt::format("not JSON at byte {}{}", position, token.empty() ? "" : fmt::format(" (near {:.40})", token));
    return false;
  }
  const std::string& error() const { return error_; }

 private:
  JsonValue* Slot() {
    if (open_.empty()) return root_;
    open_.back()->items.emplace_back();
    return &open_.back()->items.back();
  }
  bool Open(JsonValue::Kind kind) {
    if (open_.size() >= kMaxDepth) {
      error_ = fmt::format("nested deeper than {} levels", kMaxDepth);
      return false;
    }
    JsonValue* slot = Slot();
    slot->kind = kind;
    open_.push_back(slot);
    return true;
  }
  bool Close() {
    open_.pop_back();
    return true;
  }

  JsonValue* root_;
  std::vector<JsonValue*> open_;  // an open value's address is stable: only the innermost one grows
  std::string error_;
};

}  // namespace

std::string_view KindName(JsonValue::Kind kind) {
  switch (kind) {
    case JsonValue::Kind::kNull: return "null";
    case JsonValue::Kind::kBool: return "a boolean";
    case JsonValue::Kind::kString: return "text";
    case JsonValue::Kind::kList: return "a list";
    case JsonValue::Kind::kObject: return "an object";
    default: return "a number";
  }
}

std::string JsonValue::ToText() const {
  switch (kind) {
    case Kind::kBool: return boolean ? "true" : "false";
    case Kind::kInt: return std::to_string(integer);
    case Kind::kUint: return std::to_string(big);
    case Kind::kFloat:
    case Kind::kString: return text;
    default: return "";
  }
}

Result<JsonValue> ParseJson(std::string_view line) {
  JsonValue value;
  Builder builder(&value);
  if (!nlohmann::json::sax_parse(line.begin(), line.end(), &builder, nlohmann::json::input_format_t::json, true)) {
    return Status::Invalid(builder.error());
  }
  return value;
}

}  // namespace pilum::ingest
