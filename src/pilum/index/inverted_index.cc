#include "pilum/index/inverted_index.h"

#include <algorithm>
#include <tuple>

#include "pilum/index/inverted_builder.h"
#include "pilum/index/postings.h"

namespace pilum {
namespace {

constexpr uint32_t kLeftOut = ~uint32_t{0};  // in place of the length of postings

}  // namespace

// Views into one block's bytes.
struct InvertedIndex::Block {
  ValueListView values;
  std::string_view counts;  // per value: bytes of its postings, its rows
  std::string_view postings;
  std::vector<uint64_t> begins;  // of each value's postings

  uint32_t BytesOf(uint64_t i) const { return LoadLE<uint32_t>(counts.data() + 8 * i); }
};

Result<InvertedIndex> InvertedIndex::Open(std::shared_ptr<const SidecarReader> reader, const SectionEntry& entry,
                                          uint64_t num_rows, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(BlockRoot root, reader->ReadRootOfRows(entry, num_rows, ctx));
  InvertedIndex index;
  index.reader_ = std::move(reader);
  index.num_rows_ = num_rows;
  index.root_ = std::make_shared<const BlockRoot>(std::move(root));
  ByteCursor in(index.root_->family);
  auto corrupt = [&](std::string_view what) { return Corrupt(index.reader_->name(), "inverted index", what); };
  const auto domain = in.Read<uint8_t>();
  index.shape_.is_unsigned = in.Read<uint8_t>() != 0;
  index.shape_.scale = in.Read<int16_t>();
  in.Read<uint32_t>();
  if (!in.ok() || domain == 0 || domain > static_cast<uint8_t>(Domain::kBinary)) return corrupt("no domain of values");
  index.shape_.domain = static_cast<Domain>(domain);
  const size_t n = index.root_->blocks.size();
  if (n > in.remaining() / 20) return corrupt("fewer heads than blocks");
  for (size_t i = 0; i < n; ++i) {
    Head head{};
    head.values = in.Read<uint32_t>();
    head.rows = in.Read<uint64_t>();
    head.runs = in.Read<uint64_t>();
    index.heads_.push_back(head);
    index.runs_ += head.runs;
  }
  if (!index.firsts_.Read(index.shape_, n, &in) || in.remaining() != 0) return corrupt("its root does not add up");
  return index;
}

// Blocks whose values may lie in the interval: [first, second).
std::pair<size_t, size_t> InvertedIndex::BlocksOf(const Interval& i) const {
  size_t begin = 0, end = heads_.size();
  if (i.lower) begin = firsts_.LowerBound(i.lower->value, true);
  if (begin > 0) --begin;  // the one before may hold values up to the next one's first
  if (i.upper) end = firsts_.LowerBound(i.upper->value, i.upper->inclusive);
  return {begin, std::max(begin, end)};
}

InvertedIndex::Touched InvertedIndex::Touch(const ValueSet& set) const {
  // How much of each block is asked for: values as points, or nearly all of it.
  std::vector<double> share(heads_.size(), 0);
  size_t begin = 0, end = 0;
  std::optional<Value> next;  // the first value past these blocks, where they are one
  for (const Interval& i : set.intervals()) {
    // Long lists have many points a block, in order.
    if (!next || !i.upper || !(i.upper->value < *next)) {
      std::tie(begin, end) = BlocksOf(i);
      next = end == begin + 1 && end < heads_.size() ? std::optional(firsts_.At(end)) : std::nullopt;
    }
    const bool point = i.lower && i.upper && Compare(i.lower->value, i.upper->value) == 0;
    for (size_t b = begin; b < end; ++b) {
      if (heads_[b].values == 1 && !set.Contains(firsts_.At(b))) continue;
      // A value may hold more rows than its neighbours: count each twice.
      share[b] += point ? 2.0 / std::max<uint32_t>(1, heads_[b].values) : b > begin && b + 1 < end ? 1.0 : 0.5;
    }
  }
  Touched out;
  for (size_t b = 0; b < share.size(); ++b) {
    if (share[b] == 0) continue;
    const BlockRef& ref = root_->blocks[b];
    const double part = heads_[b].values == 1 ? 1.0 : std::min(1.0, share[b]);
    out.blocks.push_back(b);
    out.runs += static_cast<double>(heads_[b].runs) * part;
    out.bytes += reader_->FetchCost(ref.offset, ref.stored) + ref.raw;
  }
  return out;
}

Result<std::optional<InvertedIndex::Answer>> InvertedIndex::Rows(const ValueSet& set, uint64_t possible,
                                                                 bool may_invert, ReadContext& ctx) const {
  const std::optional<Answer> no_help;
  if (!AllOfDomain(set, shape_.domain)) return no_help;
  Touched touched = Touch(set);
  ValueSet complement;
  Answer answer;
  // What is outside of the set holds fewer runs only where the set holds most of them.
  if (may_invert && touched.runs * 2 >= static_cast<double>(runs_)) {
    complement = set.Complement();
    Touched others = Touch(complement);
    if (others.runs < touched.runs) {
      touched = std::move(others);
      answer.outside = true;
    }
  }
  // Reading the column's values costs about 1 a row; a run of postings 10 (measured, with the sets of rows made of it), a
  // byte of a block a quarter. So little is never worth a thought: 16 runs, and 4 KiB.
  const double cost =
      (touched.runs - 16) * InvertedBuilder::kRunShare + (static_cast<double>(touched.bytes) - 4096) / 4;
  if (cost > static_cast<double>(possible)) return no_help;
  std::vector<BlockRef> refs;
  for (size_t b : touched.blocks) refs.push_back(root_->blocks[b]);
  PILUM_ASSIGN_OR_RETURN(const auto blocks, reader_->ReadBlocks(refs, ctx));
  std::vector<RowRange> runs;
  bool complete = true;
  PILUM_RETURN_NOT_OK(ReadRows(answer.outside ? complement : set, blocks, &runs, &complete));
  if (!complete) return no_help;
  answer.rows = UnionOfRuns(std::move(runs), num_rows_);
  return std::optional(std::move(answer));
}

Status InvertedIndex::Parse(std::string_view bytes, Block* block) const {
  ByteCursor in(bytes);
  const auto n = in.Read<uint32_t>();
  const bool values = in.ok() && block->values.Read(shape_, n, &in);
  if (values && n <= in.remaining() / 8) {
    block->counts = in.ReadBytes(uint64_t{8} * n);
    uint64_t at = 0;
    for (uint64_t i = 0; i < n; ++i) {
      block->begins.push_back(at);
      const uint32_t size = block->BytesOf(i);
      if (size != kLeftOut) at += size;
    }
    block->postings = in.ReadBytes(at);
    if (in.ok() && in.remaining() == 0) return Status::OK();
  }
  return Corrupt(reader_->name(), "inverted index", "a block does not add up");
}

// `complete`: false where postings that are asked for were left out.
Status InvertedIndex::ReadRows(const ValueSet& set, const std::vector<std::string>& blocks, std::vector<RowRange>* out,
                               bool* complete) const {
  for (const std::string& bytes : blocks) {
    Block block;
    PILUM_RETURN_NOT_OK(Parse(bytes, &block));
    const uint64_t n = block.values.size();
    if (n == 0) continue;
    const Value low = block.values.At(0), high = block.values.At(n - 1);
    // Intervals ascend: the first that ends at or above the block's first value, up to those above its last.
    const auto& all = set.intervals();
    auto i = std::partition_point(all.begin(), all.end(),
                                  [&](const Interval& x) { return x.upper && Compare(x.upper->value, low) < 0; });
    for (; i != all.end() && !(i->lower && Compare(i->lower->value, high) > 0); ++i) {
      const uint64_t begin = i->lower ? block.values.LowerBound(i->lower->value, !i->lower->inclusive) : 0;
      const uint64_t end = i->upper ? block.values.LowerBound(i->upper->value, i->upper->inclusive) : n;
      for (uint64_t v = begin; v < end; ++v) {
        const uint32_t size = block.BytesOf(v);
        if (size == kLeftOut) {
          *complete = false;
          return Status::OK();
        }
        if (!ReadPostings(block.postings.substr(block.begins[v], size), num_rows_, out))
          return Corrupt(reader_->name(), "inverted index", "postings that are no rows of the part");
      }
    }
    if (out->size() > num_rows_ + 4096)
      *out = UnionOfRuns(std::move(*out), num_rows_).ranges();  // of lists: rows repeat
  }
  return Status::OK();
}

Result<std::optional<InvertedIndex::RowsEach>> InvertedIndex::Each(const std::vector<Value>& values, uint64_t possible,
                                                                   ReadContext& ctx) const {
  const ValueSet set = ValueSet::Points(values);
  if (!AllOfDomain(set, shape_.domain)) return std::optional<RowsEach>();
  const Touched touched = Touch(set);
  constexpr uint64_t kAlways = 4096;
  if (touched.bytes > possible * 8 + kAlways) return std::optional<RowsEach>();
  std::vector<BlockRef> refs;
  for (size_t b : touched.blocks) refs.push_back(root_->blocks[b]);
  PILUM_ASSIGN_OR_RETURN(const auto blocks, reader_->ReadBlocks(refs, ctx));
  RowsEach out;
  for (const Value& v : values) {
    std::vector<RowRange> runs;
    bool complete = true;
    PILUM_RETURN_NOT_OK(ReadRows(ValueSet::Point(v), blocks, &runs, &complete));
    out.push_back(complete ? std::optional(RowSet::FromRanges(std::move(runs))) : std::nullopt);
  }
  return std::optional(std::move(out));
}

Status InvertedIndex::ForEachValue(const std::function<void(const Value&)>& f, ReadContext& ctx) const {
  constexpr size_t kAtOnce = 64;
  for (size_t at = 0; at < root_->blocks.size(); at += kAtOnce) {
    const auto begin = root_->blocks.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = begin + static_cast<std::ptrdiff_t>(std::min(kAtOnce, root_->blocks.size() - at));
    PILUM_ASSIGN_OR_RETURN(const auto blocks, reader_->ReadBlocks({begin, end}, ctx));
    for (const std::string& bytes : blocks) {
      Block block;
      PILUM_RETURN_NOT_OK(Parse(bytes, &block));
      for (uint64_t v = 0; v < block.values.size(); ++v) f(block.values.At(v));
    }
  }
  return Status::OK();
}

Status InvertedIndex::ForEach(const std::function<void(const Value&, const RowSet&)>& f, ReadContext& ctx) const {
  for (const BlockRef& ref : root_->blocks) {
    PILUM_ASSIGN_OR_RETURN(const auto blocks, reader_->ReadBlocks({ref}, ctx));
    Block block;
    PILUM_RETURN_NOT_OK(Parse(blocks[0], &block));
    for (uint64_t v = 0; v < block.values.size(); ++v) {
      const uint32_t size = block.BytesOf(v);
      if (size == kLeftOut) continue;
      std::vector<RowRange> runs;
      if (!ReadPostings(block.postings.substr(block.begins[v], size), num_rows_, &runs))
        return Corrupt(reader_->name(), "inverted index", "postings that are no rows of the part");
      f(block.values.At(v), RowSet::FromRanges(std::move(runs)));
    }
  }
  return Status::OK();
}

}  // namespace pilum
