// Constant pages: no values, or one that every visible slot has; and levels where there is more to say. Nothing is ever
// allocated for the length of the page, which costs a file no bytes: only for the rows of a read.
#include <algorithm>
#include <cstring>

#include "pilum/base/bytes.h"
#include "pilum/encoding/gathered.h"
#include "pilum/encoding/page/constant_page.h"

namespace pilum {

using codec::BadBytes;
using codec::Bytes;

Status ConstantPage::Check() const {
  const PageLayout& l = layout();
  size_t n = buffers().size();
  if (n > 3 || (l.inline_value && n != 0 && n != 2)) return BadBytes("{} buffers of a constant page", n);
  if (c_.version == FileVersion::kV2_1 && n != 0 && n != 2) return BadBytes("a constant value in a 2.1 file");
  if (plan().has_lists() && n < 2) return BadBytes("lists without levels");
  return Status::OK();
}

Status ConstantPage::ParseLevels(Bytes bytes, const std::optional<CodecDesc>& codec, uint64_t count,
                                 std::vector<uint16_t>* out) const {
  CodecDesc raw;
  raw.bits = 16;
  if (!codec) {
    if (bytes.size() % 2 != 0) return BadBytes("levels of {} bytes", bytes.size());
    count = bytes.size() / 2;
  }
  if (count == 0) return Status::OK();
  const CodecDesc& desc = codec ? *codec : raw;
  if (count > codec::MaxBlockValues(desc, bytes)) return BadBytes("{} levels in {} bytes", count, bytes.size());
  PILUM_RETURN_NOT_OK(codec::CheckOutput(count, 16));
  out->resize((count + 1023) / 1024 * 1024 + codec::kSlack);
  RowRange all{0, count};
  PILUM_RETURN_NOT_OK(codec::DecodeLevels(desc, bytes, count, {&all, 1}, out->data()));
  out->resize(count);
  return Status::OK();
}

// u32 k, u32 sizes[k], then the k Arrow buffers of an array of one value.
Status ConstantPage::ParseScalar(Bytes bytes, std::string* out) const {
  ByteCursor in(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  uint32_t k = in.Read<uint32_t>();
  if (k < 1 || k > 2) return BadBytes("a constant of {} buffers", k);
  uint64_t sizes[2] = {};
  for (uint32_t i = 0; i < k; ++i) sizes[i] = in.Read<uint32_t>();
  std::string_view first = in.ReadBytes(sizes[0]), second = k == 2 ? in.ReadBytes(sizes[1]) : "";
  if (!in.ok()) return BadBytes("a constant that passes its {} bytes", bytes.size());
  if (k == 1) {
    out->assign(first);
    return Status::OK();
  }
  ByteCursor offsets(first);
  uint64_t begin = IsWide(*leaf_type()) ? offsets.Read<uint64_t>() : offsets.Read<uint32_t>();
  uint64_t end = IsWide(*leaf_type()) ? offsets.Read<uint64_t>() : offsets.Read<uint32_t>();
  if (!offsets.ok() || begin > end || end > second.size())
    return BadBytes("a constant with offsets {} to {}", begin, end);
  out->assign(second.substr(begin, end - begin));
  return Status::OK();
}

Status ConstantPage::IndexRows(ConstantPrelude* p) const {
  const uint16_t max_rep = plan().max_rep;
  uint64_t rows = CountEqual(p->rep.data(), p->rep.size(), max_rep);
  if (rows != c_.num_rows || (rows > 0 && p->rep[0] != max_rep))
    return BadBytes("the levels hold {} rows, not {}", rows, c_.num_rows);
  p->row_start.reserve(rows + 1);
  for (uint64_t i = 0; i < p->rep.size(); ++i) {
    if (p->rep[i] == max_rep) p->row_start.push_back(i);
  }
  p->row_start.push_back(p->rep.size());
  return Status::OK();
}

Result<std::shared_ptr<const ConstantPrelude>> ConstantPage::ParsePrelude(const std::vector<BufferPtr>& fetched) const {
  if (fetched.size() != buffers().size()) return BadBytes("{} buffers for {} ranges", fetched.size(), buffers().size());
  auto p = std::make_shared<ConstantPrelude>();
  const PageLayout& l = layout();
  if (l.inline_value) {
    p->has_value = true;
    p->value = *l.inline_value;
  } else if (value_in_buffer()) {
    p->has_value = true;
    PILUM_RETURN_NOT_OK(ParseScalar(BytesOf(fetched[0]), &p->value));
  }
  if (fetched.size() >= 2) {
    const size_t at = fetched.size() - 2;
    PILUM_RETURN_NOT_OK(ParseLevels(BytesOf(fetched[at]), l.rep_codec, l.num_rep_values, &p->rep));
    PILUM_RETURN_NOT_OK(ParseLevels(BytesOf(fetched[at + 1]), l.def_codec, l.num_def_values, &p->def));
  }
  p->events = plan().has_lists() ? p->rep.size() : c_.info.length;
  if (!plan().has_lists() && !p->rep.empty()) return BadBytes("repetition levels in a column without lists");
  if (!p->def.empty() && p->def.size() != p->events)
    return BadBytes("{} definition levels for {} events", p->def.size(), p->events);
  if (plan().has_lists()) PILUM_RETURN_NOT_OK(IndexRows(p.get()));
  return prelude_.Put(std::move(p));
}

namespace {

class ConstantRead : public PageRead {
 public:
  ConstantRead(const ConstantPage& page, RowSet rows)
      : page_(page), rows_(std::move(rows)), claim_(&page.prelude_once()) {}

  Result<std::vector<ByteRange>> Next(std::vector<BufferPtr> fetched) override {
    if (!asked_) {
      asked_ = true;
      prelude_ = claim_.Wait();
      if (prelude_) return std::vector<ByteRange>{};
      std::vector<ByteRange> ranges = page_.buffers();
      if (!ranges.empty()) return ranges;
    }
    if (prelude_) return std::vector<ByteRange>{};
    auto parsed = page_.ParsePrelude(fetched);
    if (!parsed.ok()) return page_.InPage(parsed.status());
    prelude_ = std::move(*parsed);
    claim_.Done();
    return std::vector<ByteRange>{};
  }

  Result<std::shared_ptr<arrow::Array>> Decode(ReadContext& ctx) override { return page_.InPage(DecodeRows(ctx)); }

 private:
  Status SliceLevels(Levels* levels, arrow::MemoryPool* pool) const;
  Result<codec::DataBlock> Repeat(uint64_t n, arrow::MemoryPool* pool) const;
  Result<codec::DataBlock> RepeatVariable(uint64_t n, arrow::MemoryPool* pool) const;

  Result<std::shared_ptr<arrow::Array>> DecodeRows(ReadContext& ctx) const {
    arrow::MemoryPool* pool = ctx.memory_pool();
    Levels levels;
    PILUM_RETURN_NOT_OK(SliceLevels(&levels, pool));
    PILUM_RETURN_NOT_OK(CheckLevels(page_.plan(), levels));
    PILUM_ASSIGN_OR_RETURN(Validity validity, LeafValidity(page_.plan(), levels, pool));
    std::shared_ptr<arrow::ArrayData> leaf;
    if (!prelude_->has_value) {
      PILUM_ASSIGN_OR_RETURN(leaf, MakeNulls(page_.leaf_type(), validity.count, pool));
    } else {
      PILUM_ASSIGN_OR_RETURN(codec::DataBlock block, Repeat(validity.count, pool));
      PILUM_ASSIGN_OR_RETURN(leaf, MakeLeaf(page_.leaf_type(), std::move(block), validity, pool));
    }
    return FinishRead(page_, std::move(levels), rows_.size(), std::move(leaf), validity.count, ctx);
  }

  const ConstantPage& page_;
  RowSet rows_;
  FetchOnce<ConstantPrelude>::Claim claim_;
  bool asked_ = false;
  std::shared_ptr<const ConstantPrelude> prelude_;
};

// The levels of the rows that were asked for.
Status ConstantRead::SliceLevels(Levels* levels, arrow::MemoryPool* pool) const {
  const bool lists = page_.plan().has_lists();
  std::vector<RowRange> events = lists ? rows_.ranges() : page_.ItemsOf(rows_);
  if (lists) {
    for (RowRange& r : events) r = {prelude_->row_start[r.begin], prelude_->row_start[r.end]};
  }
  const uint64_t count = codec::CountOf(events);
  if (!prelude_->rep.empty()) PILUM_RETURN_NOT_OK(levels->rep.Reserve(count, pool));
  if (!prelude_->def.empty()) PILUM_RETURN_NOT_OK(levels->def.Reserve(count, pool));
  for (const RowRange& r : events) {
    if (levels->rep) std::memcpy(levels->rep.data() + levels->count, prelude_->rep.data() + r.begin, r.size() * 2);
    if (levels->def) std::memcpy(levels->def.data() + levels->count, prelude_->def.data() + r.begin, r.size() * 2);
    levels->count += r.size();
  }
  return Status::OK();
}

// `value` over and over, by copies that double.
void RepeatBytes(const std::string& value, uint64_t total, uint8_t* out) {
  if (total == 0) return;
  uint64_t done = value.size();
  std::memcpy(out, value.data(), done);
  while (done < total) {
    const uint64_t step = std::min(done, total - done);
    std::memcpy(out + done, out, step);
    done += step;
  }
}

template <typename T>
PILUM_VECTORIZE void Multiples(uint64_t size, uint64_t n, T* out) {
  for (uint64_t i = 0; i < n; ++i) out[i] = static_cast<T>(i * size);
}

Result<codec::DataBlock> ConstantRead::Repeat(uint64_t n, arrow::MemoryPool* pool) const {
  const arrow::DataType& type = StorageType(*page_.leaf_type());
  auto id = type.id();
  if (id == arrow::Type::STRING || id == arrow::Type::BINARY || IsWide(type)) return RepeatVariable(n, pool);
  const std::string& value = prelude_->value;
  const uint64_t bits = id == arrow::Type::FIXED_SIZE_LIST ? 0 : FixedBits(type), width = (bits + 7) / 8;
  if ((bits == 0 && id != arrow::Type::FIXED_SIZE_BINARY) || value.size() != width)
    return BadBytes("a constant of {} bytes for type {}", value.size(), type.ToString());
  PILUM_RETURN_NOT_OK(codec::CheckOutput(n, bits));
  codec::DataBlock b;
  b.count = n;
  b.bits = bits;
  PILUM_ASSIGN_OR_RETURN(auto data, codec::Allocate(bits == 1 ? (n + 7) / 8 : n * width, pool));
  uint8_t* out = data->mutable_data();
  if (bits == 1) {
    std::memset(out, value[0] ? 0xff : 0, data->size());
  } else if (width == 1) {
    std::memset(out, value[0], n);
  } else if (width == 0) {  // fixed_size_binary(0)
  } else {
    RepeatBytes(value, n * width, out);
  }
  b.data = std::move(data);
  return b;
}

Result<codec::DataBlock> ConstantRead::RepeatVariable(uint64_t n, arrow::MemoryPool* pool) const {
  const std::string& value = prelude_->value;
  auto total = CheckedMul(n, value.size());
  if (!total) return codec::CheckOutput(UINT64_MAX, 8);
  const bool wide = IsWide(*page_.leaf_type());
  PILUM_RETURN_NOT_OK(CheckGathered(n, *total, wide ? 8 : 4));
  PILUM_ASSIGN_OR_RETURN(auto offsets, codec::Allocate((n + 1) * (wide ? 8 : 4), pool));
  PILUM_ASSIGN_OR_RETURN(auto data, codec::Allocate(*total, pool));
  if (wide)
    Multiples(value.size(), n + 1, reinterpret_cast<int64_t*>(offsets->mutable_data()));
  else
    Multiples(value.size(), n + 1, reinterpret_cast<int32_t*>(offsets->mutable_data()));
  RepeatBytes(value, *total, data->mutable_data());
  return VariableBlock(n, wide, std::move(offsets), std::move(data));
}

}  // namespace

std::unique_ptr<PageRead> ConstantPage::StartRead(RowSet rows) const {
  return std::make_unique<ConstantRead>(*this, std::move(rows));
}

Result<std::unique_ptr<Page>> MakeConstantPage(PageContext&& context) {
  auto page = std::make_unique<ConstantPage>(std::move(context));
  PILUM_RETURN_NOT_OK(page->Check());
  return std::unique_ptr<Page>(std::move(page));
}

}  // namespace pilum
