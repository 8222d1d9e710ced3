#include "pilum/encoding/page/miniblock.h"

#include <algorithm>

#include "pilum/base/bytes.h"
#include "pilum/base/recycling_pool.h"
#include "pilum/base/utf8.h"

namespace pilum {
namespace miniblock {

using codec::BadBytes;
using codec::Bytes;

Status MiniBlockPage::Check() const {
  const PageLayout& l = layout();
  size_t want = 2 + (l.dictionary ? 1 : 0) + (l.repetition_index_depth > 0 ? 1 : 0);
  // More buffers than the layout names are tolerated, as other readers do.
  if (buffers().size() < want) return BadBytes("{} buffers, not {}", buffers().size(), want);
  if (l.repetition_index_depth > 1) return Unsupported("a repetition index of depth {}", l.repetition_index_depth);
  if (buffers()[0].size % word_bytes() != 0) return BadBytes("a chunk table of {} bytes", buffers()[0].size);
  uint64_t chunks = buffers()[0].size / word_bytes();
  if (chunks > buffers()[1].size / 8) return BadBytes("{} chunks in {} bytes", chunks, buffers()[1].size);
  if (l.num_items > chunks * kMaxChunkValues) return BadBytes("{} items in {} chunks", l.num_items, chunks);
  if (plan().has_lists() != l.rep_codec.has_value())
    return BadBytes("repetition levels do not go with the column's lists");
  if (!plan().has_lists() && l.num_items != c_.info.length) {
    return BadBytes("{} items, but a length of {}", l.num_items, c_.info.length);
  }
  if (c_.num_rows > chunks * kMaxChunkEvents) return BadBytes("{} rows in {} chunks", c_.num_rows, chunks);
  bool dict_type = StorageType(*leaf_type()).id() == arrow::Type::DICTIONARY;
  if (dict_type && !l.dictionary) return BadBytes("a dictionary column without a dictionary");
  PILUM_ASSIGN_OR_RETURN(uint64_t value_buffers, codec::CountBuffers(*l.value_codec));
  if (l.num_buffers > kMaxValueBuffers || value_buffers != l.num_buffers) {
    return BadBytes("{} value buffers for {}", l.num_buffers, l.value_codec->ToString());
  }
  return Status::OK();
}

// A chunk's word: its 8-byte words less one, and the logarithm of its number of values (0: the last chunk, of the rest).
template <typename Word>
Status MiniBlockPage::FillTable(Bytes words, ChunkTable* t) const {
  const uint64_t n = t->size();
  uint64_t *offsets = t->offset.data(), *values = t->value.data();  // local: no store can change where they point
  const uint8_t* in = words.data();
  uint64_t offset = 0, value = 0, silent = 0;  // how many do not say their number of values
  for (uint64_t i = 0; i < n; ++i) {
    offsets[i] = offset;
    values[i] = value;
    const uint64_t word = LoadLE<Word>(in + i * sizeof(Word)), log = word & 15;
    silent += log == 0;
    offset += ((word >> 4) + 1) * 8;
    value += uint64_t{1} << log;
  }
  t->offset[n] = offset;
  t->value[n] = layout().num_items;
  auto is_silent = [&](uint64_t i) { return (LoadLE<Word>(in + i * sizeof(Word)) & 15) == 0; };
  if (silent > (n > 0 && is_silent(n - 1) ? 1u : 0u)) {
    uint64_t first = 0;
    while (first + 1 < n && !is_silent(first)) ++first;
    return BadBytes("chunk {} of {} does not say its number of values", first, n);
  }
  const uint64_t before = n ? t->value[n - 1] : 0;
  if (n > 0 && (before > t->value[n] || t->value[n] - before > kMaxChunkValues)) {
    return BadBytes("the chunks before the last hold {} of {} items", before, t->value[n]);
  }
  return Status::OK();
}

Result<ChunkTable> MiniBlockPage::ParseTable(Bytes words) const {
  const uint64_t n = words.size() / word_bytes();
  ChunkTable t(n);
  PILUM_RETURN_NOT_OK(word_bytes() == 4 ? FillTable<uint32_t>(words, &t) : FillTable<uint16_t>(words, &t));
  if (t.offset[n] != buffers()[1].size) {
    return BadBytes("the chunks add up to {} bytes, the data buffer has {}", t.offset[n], buffers()[1].size);
  }
  return t;
}

namespace {

// Whether each value is UTF-8 (of binary ones nobody asks).
bool HoldsUtf8(const codec::DataBlock& items) {
  if (items.kind != codec::DataBlock::Kind::kVariable) return false;
  const uint8_t* bytes = items.data->data();
  return items.wide ? AreUtf8(reinterpret_cast<const int64_t*>(items.offsets->data()), items.count, bytes)
                    : AreUtf8(reinterpret_cast<const int32_t*>(items.offsets->data()), items.count, bytes);
}

}  // namespace

Result<std::shared_ptr<const Prelude>> MiniBlockPage::ParsePrelude(const BufferPtr& table,
                                                                   const BufferPtr& dictionary) const {
  auto p = std::make_shared<Prelude>();
  PILUM_ASSIGN_OR_RETURN(p->chunks, ParseTable(BytesOf(table)));
  p->bytes = p->chunks.offset.size() * 16;
  if (layout().dictionary) {
    const arrow::DataType& storage = StorageType(*leaf_type());
    bool dict_type = storage.id() == arrow::Type::DICTIONARY;
    const auto& value_type = dict_type ? static_cast<const arrow::DictionaryType&>(storage).value_type() : leaf_type();
    codec::DecodeSpec spec;
    spec.wide = IsWide(*value_type);
    spec.pool = DefaultReadPool();  // not the read's own: the prelude outlives the read
    auto items = codec::DecodeBlock(*layout().dictionary, BytesOf(dictionary), layout().num_dictionary_items, spec);
    if (!items.ok()) return WithContext("dictionary", items.status());
    p->items = std::move(*items);
    p->bytes += (p->items.data ? p->items.data->size() : 0) + (p->items.offsets ? p->items.offsets->size() : 0);
    p->utf8 = HoldsUtf8(p->items);
    if (dict_type) {
      Validity all{p->items.count, nullptr, 0};
      PILUM_ASSIGN_OR_RETURN(auto data, MakeLeaf(value_type, p->items, all, spec.pool));
      p->dictionary = arrow::MakeArray(data);
    }
  }
  return prelude_.Put(std::move(p));
}

// Per chunk: rows that finish in it, events after the last of them. Leftovers mean that the next chunk begins inside a
// row.
Result<std::shared_ptr<const RowIndex>> MiniBlockPage::ParseIndex(const BufferPtr& bytes, size_t chunks) const {
  if (static_cast<uint64_t>(bytes->size()) != chunks * 16) {
    return BadBytes("a repetition index of {} bytes for {} chunks", bytes->size(), chunks);
  }
  auto index = std::make_shared<RowIndex>();
  index->started.resize(chunks + 1);
  index->finished.resize(chunks + 1);
  uint64_t finished = 0;
  for (size_t c = 0; c < chunks; ++c) {
    uint64_t rows = LoadLE<uint64_t>(bytes->data() + c * 16), leftover = LoadLE<uint64_t>(bytes->data() + c * 16 + 8);
    if (rows > c_.num_rows - finished) return BadBytes("the repetition index counts more than {} rows", c_.num_rows);
    finished += rows;
    index->finished[c + 1] = finished;
    index->started[c + 1] = finished + (leftover > 0 ? 1 : 0);
    if (index->started[c + 1] < index->started[c]) return BadBytes("the repetition index loses a row at chunk {}", c);
  }
  if (finished != c_.num_rows || index->started[chunks] != finished) {
    return BadBytes("the repetition index counts {} rows, not {}", finished, c_.num_rows);
  }
  return index_.Put(std::move(index));
}

}  // namespace miniblock

Result<std::unique_ptr<Page>> MakeMiniBlockPage(PageContext&& context) {
  auto page = std::make_unique<miniblock::MiniBlockPage>(std::move(context));
  PILUM_RETURN_NOT_OK(page->Check());
  return std::unique_ptr<Page>(std::move(page));
}

}  // namespace pilum
