// Pages of the `small` profile: values in large chunks under zstd, in whichever way a sample says.
#include "pilum/encoding/write/internal.h"

namespace pilum::write {

namespace {

GeneralScheme SchemeOf(const CompressedWay& way) { return {Compression::kZstd, way.level, false, true}; }

// Compressed bytes a value takes on a stretch in the middle of the page.
Result<double> SampleCost(const CompressedWay& way) {
  const uint64_t slots = way.page->slice.slots;
  const uint64_t begin = slots / 2,
                 n = std::max<uint64_t>(std::min<uint64_t>(2, slots - begin), way.chunks->Preferred(begin) / 4);
  auto general = MakeGeneralChunks(*way.chunks, SchemeOf(way));
  Bytes out;
  std::vector<uint64_t> sizes;
  PILUM_RETURN_NOT_OK(general->Encode(begin, n, &out, &sizes));
  return static_cast<double>(sizes[0]) / static_cast<double>(n);
}

uint64_t ValueBytes(const EncodedPage& page) {  // of a mini-block page's chunks and a full-zip page's values
  return static_cast<uint64_t>(page.buffers[page.layout.kind == LayoutKind::kMiniBlock ? 1 : 0]->size());
}

}  // namespace

void Contend(EncodedPage other, std::string_view name, EncodedPage* best, Choice* choice) {
  const uint64_t was = ValueBytes(*best), is = ValueBytes(other);
  choice->why += fmt::format("; {}: {} bytes for {}{}", name, is, was, is < was ? "" : ", not taken");
  choice->alternatives.push_back({std::string(name), is});
  if (is >= was) return;
  choice->estimated_size = is;
  *best = std::move(other);
}

Status TryLargeChunks(std::vector<CompressedWay> ways, const PageDictionary* dictionary, Choice* choice,
                      EncodedPage* out) {
  constexpr double kWorth = 0.99;  // a later way has to be better by that: it is slower
  const CompressedWay* best = nullptr;
  double least = 0;
  for (const CompressedWay& way : ways) {
    if (way.page->slice.slots < 2) return Status::OK();
    PILUM_ASSIGN_OR_RETURN(const double cost, SampleCost(way));
    if (best && cost >= least * kWorth) continue;
    best = &way;
    least = cost;
  }
  if (!best) return Status::OK();
  auto general = MakeGeneralChunks(*best->chunks, SchemeOf(*best));
  EncodedPage other;
  PILUM_ASSIGN_OR_RETURN(ChunkFit fit, MiniBlockPage(best->page, *general, dictionary, &other));
  if (fit == ChunkFit::kFits) Contend(std::move(other), best->name, out, choice);
  return Status::OK();
}

}  // namespace pilum::write
