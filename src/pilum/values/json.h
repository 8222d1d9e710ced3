// JSON text, parsed into a flat list of nodes that point into it: nothing is copied, no tree is made. Called by table (JSON
// columns) and query (json_* functions). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pilum/base/status.h"

namespace pilum {

enum class JsonKind : uint8_t { kNull, kFalse, kTrue, kNumber, kString, kArray, kObject };

// Whole numbers that 64 bits hold stay exact, signed or not; others are doubles, infinite where they are too large.
using JsonNumber = std::variant<int64_t, uint64_t, double>;

// A document as numbered nodes, whatever form it has: text (JsonDoc) or JSONB (jsonb_doc.h). Node 0 is the whole. Belongs to
// one thread.
class JsonTree {
 public:
  static constexpr size_t kMaxDepth = 1000;
  static constexpr uint32_t kNone = UINT32_MAX;

  virtual ~JsonTree() = default;
  virtual JsonKind kind(uint32_t i) const = 0;
  // Without spaces between tokens, added to `out`.
  virtual void AppendCompact(uint32_t i, std::string* out) const = 0;
  // Of a string: what it stands for.
  virtual std::string StringOf(uint32_t i) const = 0;
  virtual JsonNumber NumberOf(uint32_t i) const = 0;

  // kNone: `i` is no object, or has no such key; of equal keys the last counts.
  virtual uint32_t Member(uint32_t i, std::string_view key) const = 0;
  // kNone: `i` is no array, or has not so many.
  virtual uint32_t Element(uint32_t i, uint64_t index) const = 0;
  virtual uint64_t CountElements(uint32_t i) const = 0;
  // The elements of an array, the values of an object, nothing else's, added to `out`.
  virtual void AddChildren(uint32_t i, std::vector<uint32_t>* out) const = 0;
};

class JsonDoc final : public JsonTree {
 public:
  struct Node {
    JsonKind kind;
    uint32_t begin, end;  // bytes of the text; a string's with its quotes
    uint32_t next;        // the node after this one and all inside it
  };

  // All of `text` is one value (RFC 8259, UTF-8, at most kMaxDepth levels) and outlives this, or kUsage says at which byte it
  // is wrong. May be called again; memory is kept.
  Status Parse(std::string_view text);

  // The nodes inside an array follow it; those inside an object follow as key, value, key, value.
  const Node& node(uint32_t i) const { return nodes_[i]; }
  std::string_view TextOf(uint32_t i) const { return text_.substr(nodes_[i].begin, nodes_[i].end - nodes_[i].begin); }

  JsonKind kind(uint32_t i) const override { return nodes_[i].kind; }
  void AppendCompact(uint32_t i, std::string* out) const override;
  std::string StringOf(uint32_t i) const override;
  JsonNumber NumberOf(uint32_t i) const override;
  uint32_t Member(uint32_t i, std::string_view key) const override;
  uint32_t Element(uint32_t i, uint64_t index) const override;
  uint64_t CountElements(uint32_t i) const override;
  void AddChildren(uint32_t i, std::vector<uint32_t>* out) const override;

 private:
  class Parser;

  std::string_view text_;
  std::vector<Node> nodes_;
};

// The double that `text` as a whole is, as JSON and Rust write it: "1e3", "inf", "NaN", "-.5". nullopt: it is none.
std::optional<double> ParseDouble(std::string_view text);

// The inside of a JSON string of `text` at `out`, which has room for MostJsonText bytes, of which more than come out may be
// written; where it ends. `ascii` becomes false if there is any other byte in it; whether it is UTF-8 the caller knows.
constexpr size_t MostJsonText(size_t size) { return 6 * size + 8; }
char* WriteJsonText(std::string_view text, char* out, bool* ascii);
// As AppendJsonDouble, at `out`, which has room for kMostJsonNumber bytes.
inline constexpr size_t kMostJsonNumber = 40;
char* WriteJsonDouble(double value, char* out);

// A quoted JSON string of UTF-8 `text`, added to `out`: escapes only what must be.
void AppendJsonLiteral(std::string_view text, std::string* out);
// The shortest digits that give the same double, with a point or an exponent so that it reads as one; null where it is not
// finite.
void AppendJsonDouble(double value, std::string* out);

}  // namespace pilum
