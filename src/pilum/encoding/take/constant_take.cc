// Constant pages: one value for all, or none; levels, where there are some, are known whole once the prelude is.
#include "pilum/encoding/page/constant_page.h"
#include "pilum/encoding/take/page_taker.h"

namespace pilum::take {
namespace {

class ConstantTaker : public PageTaker {
 public:
  ConstantTaker(const ConstantPage& page, const LevelPlan& plan) : PageTaker(page, plan), constant_(page) {}

  std::vector<ByteRange> AskPrelude() const override {
    return constant_.prelude() ? std::vector<ByteRange>{} : constant_.buffers();
  }
  Status GivePrelude(const std::vector<BufferPtr>& fetched) const override {
    if (constant_.prelude()) return Status::OK();
    return constant_.ParsePrelude(fetched).status();
  }
  Status Locate(std::span<Place>, std::span<const Place>) const override { return Status::OK(); }

  Status AddCells(std::span<const Place> rows, Cells* out) const override {
    const auto held = constant_.prelude();  // the page keeps it
    const ConstantPrelude& p = *held;
    const uint64_t width = FixedWidth(*page_.leaf_type());
    const bool variable = IsVariable(*page_.leaf_type());
    if (p.has_value && !variable && p.value.size() != width) {
      return codec::BadBytes("a constant of {} bytes for type {}", p.value.size(), page_.leaf_type()->ToString());
    }
    Cell value;
    value.bytes = p.has_value ? reinterpret_cast<const uint8_t*>(p.value.data()) : nullptr;
    value.size = p.value.size();
    for (const Place& row : rows) {
      uint64_t begin = row.row, end = row.row + 1;
      if (lists()) {
        begin = p.row_start[row.row];
        end = p.row_start[row.row + 1];
        for (uint64_t i = begin; i < end; ++i) {
          if (p.rep[i] > page_.plan().max_rep) return codec::BadBytes("a repetition level of {}", p.rep[i]);
        }
        out->rep.insert(out->rep.end(), p.rep.begin() + static_cast<std::ptrdiff_t>(begin),
                        p.rep.begin() + static_cast<std::ptrdiff_t>(end));
      }
      if (p.def.empty() && p.has_value) {
        out->AddValid(end - begin);
        out->cells.insert(out->cells.end(), end - begin, value);
        continue;
      }
      uint16_t* def = out->AddDef(end - begin);
      for (uint64_t i = begin; i < end; ++i) {
        const uint16_t level = p.def.empty() ? 0 : p.def[i];
        PILUM_RETURN_NOT_OK(CheckLevel(level));
        *def = Canonical(level);
        if (!p.has_value && *def == 0) *def = 1;  // a slot without any value is null
        ++def;
        if (level <= page_.plan().max_visible) out->cells.push_back(value);
      }
    }
    return Status::OK();
  }

  uint64_t ReserveBytes(std::span<const Cell> cells) const override {
    return cells.empty()                                              ? 0
           : codec::CheckOutput(cells.size(), cells[0].size * 8).ok() ? cells.size() * cells[0].size
                                                                      : 0;
  }
  Status AddValues(std::span<const Cell> cells, Cells*, ValueOut* out) const override {
    return AddPlainValues(cells, out);
  }

 private:
  const ConstantPage& constant_;
};

}  // namespace

Result<std::unique_ptr<PageTaker>> MakeConstantTaker(const PageBase& page, const LevelPlan& plan) {
  const auto* constant = dynamic_cast<const ConstantPage*>(&page);
  // Dictionary columns have keys of their page's own, and a constant page has none.
  if (!constant || StorageType(*page.leaf_type()).id() == arrow::Type::DICTIONARY) return nullptr;
  // A constant of a fixed-size list is not written by anybody.
  if (StorageType(*page.leaf_type()).id() == arrow::Type::FIXED_SIZE_LIST) return nullptr;
  if (constant->buffers().empty()) PILUM_RETURN_NOT_OK(constant->ParsePrelude({}).status());  // nothing to ask for
  return std::unique_ptr<PageTaker>(new ConstantTaker(*constant, plan));
}

}  // namespace pilum::take
