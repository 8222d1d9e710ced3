// Constant pages: the page and its prelude. constant_page.cc holds the reads, take/constant_take.cc the takes.
#pragma once

#include <string>
#include <vector>

#include "pilum/encoding/page/fetch_once.h"
#include "pilum/encoding/page/page_base.h"

namespace pilum {

// Decoded once: all levels of the page, where each row starts (lists), and the value.
struct ConstantPrelude {
  uint64_t events = 0;
  std::vector<uint16_t> rep, def;
  std::vector<uint64_t> row_start;  // lists: rows + 1
  bool has_value = false;
  std::string value;  // raw bytes of the scalar
  uint64_t bytes() const { return (rep.size() + def.size()) * 2 + row_start.size() * 8 + value.size(); }
};

class ConstantPage : public PageBase {
 public:
  using PageBase::PageBase;
  Status Check() const;
  std::unique_ptr<PageRead> StartRead(RowSet rows) const override;
  uint64_t cached_bytes() const override {
    auto held = prelude();
    return held ? held->bytes() : 0;
  }
  std::shared_ptr<const ConstantPrelude> prelude() const { return prelude_.get(); }
  FetchOnce<ConstantPrelude>& prelude_once() const { return prelude_; }
  bool value_in_buffer() const { return buffers().size() == 1 || buffers().size() == 3; }
  Result<std::shared_ptr<const ConstantPrelude>> ParsePrelude(const std::vector<BufferPtr>& fetched) const;

 private:
  Status ParseLevels(codec::Bytes bytes, const std::optional<CodecDesc>& codec, uint64_t count,
                     std::vector<uint16_t>* out) const;
  Status IndexRows(ConstantPrelude* p) const;
  Status ParseScalar(codec::Bytes bytes, std::string* out) const;

  mutable FetchOnce<ConstantPrelude> prelude_;
};

}  // namespace pilum
