// Blob pages: the payloads go where the file stands, the page says where that was.
#include "pilum/encoding/write/internal.h"

namespace pilum::write {

namespace {

// Blob pages: (position, size) rows of 16 bytes, filled in when the payloads have been stored.
struct PendingBlobs {
  LeafColumn column;
  ColumnSetup setup;
  Bytes payload;
  Vec<uint64_t> ends;
  Vec<uint8_t> levels;  // definition level of each row
};

Status SealBlobs(PendingBlobs& blobs, BlobSink* sink, EncodedPage* out) {
  ValueStore rows;
  rows.kind.width = 16;
  rows.kind.packed = true;
  rows.kind.field_bits = {64, 64};
  rows.slots = blobs.ends.size();
  for (size_t i = 0; i < blobs.ends.size(); ++i) {
    uint64_t begin = i ? blobs.ends[i - 1] : 0, size = blobs.ends[i] - begin, position = 0;
    if (size > 0) {
      PILUM_ASSIGN_OR_RETURN(position,
                             sink->WritePayload({reinterpret_cast<const char*>(blobs.payload.data()) + begin, size}));
    } else if (blobs.levels[i] != 0) {
      position = static_cast<uint64_t>(blobs.levels[i]) << 16;
    }
    AppendInt<uint64_t>(&rows.bytes, position);
    AppendInt<uint64_t>(&rows.bytes, size);
  }
  Vec<uint8_t> def(rows.slots);
  std::fill(def.begin(), def.end(), uint8_t{0});
  PageSlice slice{nullptr, def.data(), rows.slots, rows.slots, 0, rows.slots, &rows};
  PageContext page = MakeContext(&blobs.setup, slice);
  auto chunks = MakeFlatChunks(page);
  EncodedPage inner;
  PILUM_ASSIGN_OR_RETURN(ChunkFit fit, MiniBlockPage(&page, *chunks, nullptr, &inner));
  if (fit != ChunkFit::kFits) return Status::Invalid("blob descriptors do not fit");
  out->buffers = std::move(inner.buffers);
  out->layout.inner = std::make_shared<PageLayout>(std::move(inner.layout));
  return Status::OK();
}

}  // namespace

EncodedPage BlobPage(const PageContext& page) {
  auto blobs = std::make_shared<PendingBlobs>();
  blobs->column.leaf = page.column->leaf;
  blobs->column.name = page.column->name;
  blobs->setup.column = &blobs->column;
  blobs->setup.plan = *LevelPlan::Make(blobs->column);
  blobs->setup.version = page.version;
  const PageSlice& s = page.slice;
  const ValueStore& v = *s.values;
  uint64_t base = s.first_slot ? v.ends[s.first_slot - 1] : 0;
  for (uint64_t i = 0; i < s.slots; ++i) {
    blobs->ends.push_back(v.ends[s.first_slot + i] - base);
    blobs->levels.push_back(page.def.map[s.def[i]]);
  }
  Append(&blobs->payload, v.bytes.data() + base, s.slots ? blobs->ends.back() : 0);
  EncodedPage out;
  out.layout.kind = LayoutKind::kBlob;
  out.layout.layers = page.layers;
  out.choice = {LayoutKind::kBlob, CodecKind::kPackedStruct, false, {}, s.slots * 16, "blob column"};
  out.seal = [blobs](BlobSink* sink, EncodedPage* p) { return SealBlobs(*blobs, sink, p); };
  return out;
}

}  // namespace pilum::write
