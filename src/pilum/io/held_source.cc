#include "pilum/io/held_source.h"

#include <arrow/buffer.h>

namespace pilum {
namespace {

class HeldSource final : public ByteSource {
 public:
  HeldSource(std::string name, uint64_t size, const ReadCost& cost)
      : name_(std::move(name)), size_(size), cost_(cost) {}
  uint64_t size() const override { return size_; }
  const std::string& name() const override { return name_; }
  const ReadCost& cost() const override { return cost_; }
  Status Hold(const ByteSource& source, ReadContext& ctx) {
    PILUM_ASSIGN_OR_RETURN(BufferPtr bytes, source.ReadRange({0, size_}, ctx));
    return HoldTail(std::string_view(*bytes));
  }

 protected:
  Status ReadAt(ByteRange, uint8_t*, ReadContext&) const override {
    return Status::Invalid(name_, ": it is held whole, and was asked for more");
  }

 private:
  const std::string name_;
  const uint64_t size_;
  const ReadCost cost_;
};

}  // namespace

Result<std::shared_ptr<const ByteSource>> HoldWhole(const ByteSource& source, ReadContext& ctx) {
  auto out = std::make_shared<HeldSource>(source.name(), source.size(), source.cost());
  PILUM_RETURN_NOT_OK(out->Hold(source, ctx));
  return out;
}

}  // namespace pilum
