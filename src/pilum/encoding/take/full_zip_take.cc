// Full-zip pages: a row is one range of bytes, by arithmetic or by two neighbouring entries of the repetition index.
#include <cstring>

#include "pilum/base/bytes.h"
#include "pilum/encoding/take/value_at.h"

namespace pilum::take {

using codec::BadBytes;
using codec::Bytes;

namespace {

class FullZipTaker : public PageTaker {
 public:
  using PageTaker::PageTaker;
  Result<bool> Init();

  std::vector<ByteRange> AskPrelude() const override { return {}; }
  Status GivePrelude(const std::vector<BufferPtr>&) const override { return Status::OK(); }

  bool has_index() const override { return !fixed_stride_; }
  void IndexOf(std::span<Place> rows) const override {
    const ByteRange& index = page_.buffers()[1];
    for (Place& p : rows) p.range = {index.offset + p.row * index_width_, 2 * index_width_};
  }
  Status Locate(std::span<Place> rows, std::span<const Place> index) const override;
  Status AddCells(std::span<const Place> rows, Cells* out) const override;
  uint64_t ReserveBytes(std::span<const Cell> cells) const override;
  Status AddValues(std::span<const Cell> cells, Cells* scratch, ValueOut* out) const override;

 private:
  uint64_t Entry(const uint8_t* p) const {
    switch (index_width_) {
      case 1: return *p;
      case 2: return LoadLE<uint16_t>(p);
      case 4: return LoadLE<uint32_t>(p);
      default: return LoadLE<uint64_t>(p);
    }
  }
  Status AddRow(Bytes in, Cells* out) const;
  Status AddFlat(std::span<const Place> rows, Cells* out) const;

  uint64_t control_bytes_ = 0, value_bytes_ = 0, index_width_ = 0;
  bool fixed_stride_ = false, encoded_ = false, compressed_ = false;
  Compression scheme_ = Compression::kNone;
  std::shared_ptr<const codec::FsstTable> table_;
};

// False: not addressable. What the page itself claims was checked when it was opened.
Result<bool> FullZipTaker::Init() {
  const PageLayout& l = page_.layout();
  const uint32_t bits = l.bits_rep + l.bits_def;
  control_bytes_ = bits == 0 ? 0 : bits <= 8 ? 1 : bits <= 16 ? 2 : 4;
  value_bytes_ = l.bits_per_value / 8;
  fixed_stride_ = !l.variable_width && !lists();
  if (!fixed_stride_) index_width_ = page_.buffers()[1].size / (page_.info().length + 1);
  const CodecDesc* codec = &*l.value_codec;
  if (!l.variable_width) {
    PILUM_ASSIGN_OR_RETURN(auto reader, ValueReader::Make(*codec));
    // A bool alone has a byte of its own here.
    const bool flat = codec->kind == CodecKind::kFlat || codec->kind == CodecKind::kFixedSizeList;
    return flat && reader && reader->width() == value_bytes_ && value_bytes_ == FixedWidth(*page_.leaf_type());
  }
  if (!IsVariable(*page_.leaf_type())) return false;
  if (codec->kind == CodecKind::kGeneral) {
    compressed_ = true;
    scheme_ = codec->scheme;
    codec = &codec->children[0];
  } else if (codec->kind == CodecKind::kFsst) {
    PILUM_ASSIGN_OR_RETURN(table_, codec::FsstTable::Parse(codec->bytes));
    encoded_ = table_->active();
    codec = &codec->children[0];
  }
  return codec->kind == CodecKind::kVariable;
}

Status FullZipTaker::Locate(std::span<Place> rows, std::span<const Place> index) const {
  const ByteRange& data = page_.buffers()[0];
  if (fixed_stride_) {
    const uint64_t stride = control_bytes_ + value_bytes_;
    for (Place& p : rows) p.range = {data.offset + p.row * stride, stride};
    return Status::OK();
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    const uint64_t begin = Entry(index[i].at), end = Entry(index[i].at + index_width_);
    if (begin > end || end > data.size) {
      return BadBytes("the repetition index points at bytes {} to {} of {}", begin, end, data.size);
    }
    rows[i].range = {data.offset + begin, end - begin};
  }
  return Status::OK();
}

Status FullZipTaker::AddCells(std::span<const Place> rows, Cells* out) const {
  if (!lists()) return AddFlat(rows, out);
  for (const Place& p : rows) PILUM_RETURN_NOT_OK(AddRow({p.at, p.range.size}, out));
  return Status::OK();
}

// One event a row.
Status FullZipTaker::AddFlat(std::span<const Place> rows, Cells* out) const {
  const PageLayout& l = page_.layout();
  const uint32_t mask = (1u << l.bits_def) - 1;
  uint16_t* def = nullptr;
  if (control_bytes_ == 0)
    out->AddValid(rows.size());
  else
    def = out->AddDef(rows.size());
  for (const Place& p : rows) {
    Bytes in(p.at, p.range.size);
    Cell c;
    uint32_t word = 0;
    if (def) {
      if (in.size() < control_bytes_) return BadBytes("a row of {} bytes", in.size());
      word = control_bytes_ == 1 ? in[0] : control_bytes_ == 2 ? LoadLE<uint16_t>(&in[0]) : LoadLE<uint32_t>(&in[0]);
      in = in.subspan(control_bytes_);
      const auto level = static_cast<uint16_t>(word & mask);
      PILUM_RETURN_NOT_OK(CheckLevel(level));
      *def++ = Canonical(level);
      c.null = level != 0;
    }
    if (l.variable_width && !c.null) {
      if (in.size() < value_bytes_) return BadBytes("the data end inside a length");
      const uint64_t size = value_bytes_ == 4 ? LoadLE<uint32_t>(in.data()) : LoadLE<uint64_t>(in.data());
      in = in.subspan(value_bytes_);
      if (size != in.size()) return BadBytes("a value of {} bytes in a row of {}", size, p.range.size);
    } else if (in.size() != (l.variable_width ? 0 : value_bytes_)) {
      return BadBytes("a value of {} bytes", in.size());
    }
    c.bytes = in.data();
    c.size = in.size();
    out->cells.push_back(c);
  }
  return Status::OK();
}

// The events of a row with lists.
Status FullZipTaker::AddRow(Bytes in, Cells* out) const {
  const PageLayout& l = page_.layout();
  const uint32_t mask = (1u << l.bits_def) - 1;
  const uint16_t visible = page_.plan().max_visible, max_rep = page_.plan().max_rep;
  uint64_t at = 0;
  bool first = true;
  while (at < in.size()) {
    if (in.size() - at < control_bytes_) return BadBytes("the data end inside a control word");
    const uint8_t* p = in.data() + at;
    const uint32_t word = control_bytes_ == 1 ? *p : control_bytes_ == 2 ? LoadLE<uint16_t>(p) : LoadLE<uint32_t>(p);
    at += control_bytes_;
    const auto d = static_cast<uint16_t>(word & mask), r = static_cast<uint16_t>(word >> l.bits_def);
    PILUM_RETURN_NOT_OK(CheckLevel(d));
    if (r > max_rep || (r == max_rep) != first) return BadBytes("a repetition level of {} inside a row", r);
    first = false;
    out->rep.push_back(r);
    if (l.bits_def)
      *out->AddDef(1) = Canonical(d);
    else
      out->AddValid(1);
    if (d > visible) continue;
    Cell c;
    c.null = d != 0;
    c.size = value_bytes_;
    if (l.variable_width) {
      c.size = 0;
      if (d == 0) {
        if (in.size() - at < value_bytes_) return BadBytes("the data end inside a length");
        c.size = value_bytes_ == 4 ? LoadLE<uint32_t>(in.data() + at) : LoadLE<uint64_t>(in.data() + at);
        at += value_bytes_;
      }
    }
    if (c.size > in.size() - at) return BadBytes("a value of {} bytes, where {} are left", c.size, in.size() - at);
    c.bytes = in.data() + at;
    at += c.size;
    out->cells.push_back(c);
  }
  if (first) return BadBytes("a row of no events");
  return Status::OK();
}

uint64_t FullZipTaker::ReserveBytes(std::span<const Cell> cells) const {
  if (encoded_) return codec::VariableOut::kUnknown;
  uint64_t total = 0;
  for (const Cell& c : cells) {
    uint64_t size = c.size;
    if (compressed_) {
      auto known = codec::DecompressedSize(scheme_, {c.bytes, c.size});
      if (!known.ok()) return codec::VariableOut::kUnknown;  // AddValues will say what is wrong
      size = *known;
    }
    total += size;
    if (total > codec::kMaxOutputBytes) return codec::VariableOut::kUnknown;
  }
  return total;
}

Status FullZipTaker::AddValues(std::span<const Cell> cells, Cells* scratch, ValueOut* out) const {
  if (!encoded_ && !compressed_) return AddPlainValues(cells, out);
  for (const Cell& c : cells) {
    Bytes in(c.bytes, c.size);
    if (encoded_) {
      PILUM_RETURN_NOT_OK(AddEncoded(*table_, in, &out->strings));
      continue;
    }
    // A copy: what decompresses it reads more than once.
    if (scratch->copy.size() < c.size + codec::kSlack) scratch->copy.resize(c.size + codec::kSlack);
    if (c.size > 0) std::memcpy(scratch->copy.data(), c.bytes, c.size);
    in = Bytes(scratch->copy.data(), c.size);
    PILUM_ASSIGN_OR_RETURN(uint64_t size, codec::DecompressedSize(scheme_, in));
    PILUM_ASSIGN_OR_RETURN(uint8_t * to, out->strings.Reserve(size));
    PILUM_RETURN_NOT_OK(codec::DecompressInto(scheme_, in, to, size));
    out->strings.Push(size);
  }
  return Status::OK();
}

}  // namespace

Result<std::unique_ptr<PageTaker>> MakeFullZipTaker(const PageBase& page, const LevelPlan& plan) {
  auto taker = std::make_unique<FullZipTaker>(page, plan);
  PILUM_ASSIGN_OR_RETURN(bool ok, taker->Init());
  if (!ok) return nullptr;
  return std::unique_ptr<PageTaker>(std::move(taker));
}

}  // namespace pilum::take
