// JSONB as a tree whose nodes are looked up as they are asked for, by their offsets: what is not asked for is neither read nor
// checked. Called by query (json_* functions). Belongs to one thread; memory is kept from document to document.
#pragma once

#include <vector>

#include "pilum/values/json.h"

namespace pilum {

class JsonbDoc final : public JsonTree {
 public:
  static constexpr size_t kMostNodes = size_t{1} << 20;  // looked up in one document

  // `bytes` outlive this. false: they are not plain JSONB from the start (text in its place, damage); what they are
  // AppendJsonbText says (jsonb.h).
  bool Open(std::string_view bytes);
  // Since Open something was met that cannot be, that is no JSON, or more than kMostNodes: what was answered then means nothing,
  // and AppendJsonbText is to be asked. Otherwise all answers are those of a JsonDoc of the text.
  bool failed() const { return failed_; }

  JsonKind kind(uint32_t i) const override;
  void AppendCompact(uint32_t i, std::string* out) const override;
  std::string StringOf(uint32_t i) const override;
  JsonNumber NumberOf(uint32_t i) const override;
  uint32_t Member(uint32_t i, std::string_view key) const override;
  uint32_t Element(uint32_t i, uint64_t index) const override;
  uint64_t CountElements(uint32_t i) const override;
  void AddChildren(uint32_t i, std::vector<uint32_t>* out) const override;

 private:
  struct Node {
    uint32_t type;  // of the entry (jsonb_layout.h)
    uint32_t depth;
    std::string_view bytes;
  };
  // Where the values of an array or object are.
  struct Values {
    uint64_t count = 0;
    std::string_view entries;  // a word a value
    std::string_view bytes;    // one after another
    uint32_t depth = 0;
  };

  template <typename T>
  T Fail(T value) const {
    failed_ = true;
    return value;
  }
  uint32_t Add(uint32_t type, std::string_view bytes, uint32_t depth) const;
  uint32_t AddValue(const Values& values, uint64_t index) const;
  // The members of an object: their values, and which of them has `key`, the last of several.
  std::optional<Values> MembersOf(const Node& node, const std::string_view* key, std::optional<uint64_t>* found) const;
  std::optional<Values> ElementsOf(const Node& node) const;

  // Lookups add to these.
  mutable std::vector<Node> nodes_;
  mutable bool failed_ = false;
};

}  // namespace pilum
