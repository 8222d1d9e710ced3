// The page layouts of version 2.3: a structure (dense: levels; sparse: positions) and values (chunked, zipped, one for
// all, none). What has levels becomes the mini-block, full-zip and constant layouts that it equals but for its message.
#include <utility>

#include <fmt/format.h>

#include "lance_encodings_v2_3.pb.h"
#include "pilum/encoding/descriptor_wire.h"

namespace pilum {
namespace {

constexpr FileVersion kVersion = FileVersion::kV2_3;
constexpr int kMaxLayers = 200;

Result<CodecDesc> Needed(bool present, const wire::CompressiveEncoding& m, std::string_view what) {
  PILUM_ASSIGN_OR_RETURN(auto codec, ParseCodec(present, m, kVersion));
  if (!codec) return BadLayout(fmt::format("no encoding of {}", what));
  return *std::move(codec);
}

Status ParseChunked(const wire::v2_3::Chunked& m, PageLayout* p) {
  p->kind = LayoutKind::kMiniBlock;
  PILUM_ASSIGN_OR_RETURN(p->value_codec, Needed(m.has_values(), m.values(), "values"));
  PILUM_ASSIGN_OR_RETURN(p->rep_codec, ParseCodec(m.levels().has_rep(), m.levels().rep(), kVersion));
  PILUM_ASSIGN_OR_RETURN(p->def_codec, ParseCodec(m.levels().has_def(), m.levels().def(), kVersion));
  PILUM_ASSIGN_OR_RETURN(p->dictionary, ParseCodec(m.has_dictionary(), m.dictionary(), kVersion));
  p->repetition_index_depth = m.levels().repetition_index_depth();
  p->num_dictionary_items = m.num_dictionary_items();
  p->num_buffers = m.num_buffers();
  p->num_items = m.num_items();
  p->has_large_chunk = true;
  return Status::OK();
}

Status ParseZipped(const wire::v2_3::Zipped& m, PageLayout* p) {
  p->kind = LayoutKind::kFullZip;
  p->bits_rep = m.levels().bits_rep();
  p->bits_def = m.levels().bits_def();
  if (p->bits_rep > 16 || p->bits_def > 16)
    return BadLayout(fmt::format("{} + {} level bits", p->bits_rep, p->bits_def));
  p->variable_width = m.width_case() == wire::v2_3::Zipped::kBitsPerOffset;
  p->bits_per_value = p->variable_width ? m.bits_per_offset() : m.bits_per_value();
  PILUM_RETURN_NOT_OK(CheckValueBits(p->bits_per_value));
  if (p->variable_width ? p->bits_per_value != 32 && p->bits_per_value != 64 : p->bits_per_value % 8 != 0)
    return BadLayout(fmt::format("zipped {} of {} bits", p->variable_width ? "lengths" : "values", p->bits_per_value));
  p->num_items = m.num_items();
  p->num_visible_items = m.num_visible_items();
  PILUM_ASSIGN_OR_RETURN(p->value_codec, Needed(m.has_values(), m.values(), "values"));
  return Status::OK();
}

Status ParseValues(const wire::v2_3::Values& m, PageLayout* p) {
  switch (m.values_case()) {
    case wire::v2_3::Values::kChunked: return ParseChunked(m.chunked(), p);
    case wire::v2_3::Values::kZipped: return ParseZipped(m.zipped(), p);
    case wire::v2_3::Values::kIndexed: {
      PILUM_RETURN_NOT_OK(ParseZipped(m.indexed().items(), p));
      PILUM_ASSIGN_OR_RETURN(p->indices, Needed(m.indexed().has_indices(), m.indexed().indices(), "indices"));
      return Status::OK();
    }
    case wire::v2_3::Values::kConstant:
      p->kind = LayoutKind::kConstant;
      p->inline_value = m.constant().scalar();
      return Status::OK();
    case wire::v2_3::Values::kNone: p->kind = LayoutKind::kConstant; return Status::OK();
    default:
      return Unsupported(
          "page layout: values of a kind that is not known; the unstable version 2.3 may have "
          "changed since this Pilum was made");
  }
}

Status ParsePositions(const wire::v2_3::Positions& m, SparseLayer* layer) {
  if (m.meaning() != 1 && m.meaning() != 2) return BadLayout(fmt::format("positions with meaning {}", m.meaning()));
  layer->names_valid = m.meaning() == 2;
  layer->validity.count = m.count();
  PILUM_ASSIGN_OR_RETURN(layer->validity.codec, Needed(m.has_positions(), m.positions(), "positions"));
  return Status::OK();
}

Result<SparseLayer> ParseLayer(const wire::v2_3::SparseLayer& m) {
  SparseLayer layer;
  switch (m.layer_case()) {
    case wire::v2_3::SparseLayer::kValidity: PILUM_RETURN_NOT_OK(ParsePositions(m.validity(), &layer)); break;
    case wire::v2_3::SparseLayer::kList: {
      const auto& list = m.list();
      layer.kind = SparseLayer::Kind::kList;
      layer.num_child_slots = list.num_child_slots();
      layer.non_empty.count = layer.counts.count = list.num_non_empty();
      PILUM_ASSIGN_OR_RETURN(layer.non_empty.codec,
                             Needed(list.has_non_empty_positions(), list.non_empty_positions(), "list positions"));
      PILUM_ASSIGN_OR_RETURN(layer.counts.codec, Needed(list.has_counts(), list.counts(), "list counts"));
      PILUM_RETURN_NOT_OK(ParsePositions(list.validity(), &layer));
      break;
    }
    case wire::v2_3::SparseLayer::kFixedSizeList:
      layer.kind = SparseLayer::Kind::kFixedSizeList;
      layer.dimension = m.fixed_size_list().dimension();
      PILUM_RETURN_NOT_OK(ParsePositions(m.fixed_size_list().validity(), &layer));
      break;
    default: return BadLayout("a sparse layer of no kind");
  }
  return layer;
}

// The layers as others name them, and the values inside: one a slot of the leaf.
Status MakeSparse(const wire::v2_3::Structure::Sparse& m, PageLayout* p) {
  if (m.layers().empty() || m.layers_size() > kMaxLayers) return BadLayout(fmt::format("{} layers", m.layers_size()));
  PageLayout sparse;
  sparse.kind = LayoutKind::kSparse;
  for (const auto& layer : m.layers()) {
    PILUM_ASSIGN_OR_RETURN(SparseLayer parsed, ParseLayer(layer));
    const bool list = parsed.kind == SparseLayer::Kind::kList;
    sparse.layers.insert(sparse.layers.begin(), list ? RepDefLayer::kNullAndEmptyList : RepDefLayer::kNullableItem);
    sparse.sparse.push_back(std::move(parsed));
  }
  if (p->rep_codec || p->def_codec || p->repetition_index_depth || p->bits_rep || p->bits_def)
    return BadLayout("levels in a sparse page");
  const bool none = p->kind == LayoutKind::kConstant && !p->inline_value;
  p->layers = {RepDefLayer::kAllValidItem};
  sparse.indices = std::exchange(p->indices, std::nullopt);
  if (!none) sparse.inner = std::make_shared<const PageLayout>(std::move(*p));
  *p = std::move(sparse);
  return Status::OK();
}

}  // namespace

Result<PageLayout> ParsePlanarLayout(std::string_view message) {
  wire::v2_3::PlanarLayout m;
  if (message.size() > INT32_MAX || !m.ParseFromArray(message.data(), static_cast<int>(message.size())))
    return BadLayout("not a protobuf message");
  PageLayout p;
  PILUM_RETURN_NOT_OK(ParseValues(m.values(), &p));
  if (m.structure().has_sparse()) {
    PILUM_RETURN_NOT_OK(MakeSparse(m.structure().sparse(), &p));
    return p;
  }
  if (p.indices) return Unsupported("page layout: indexed values in a page with levels");
  for (int v : m.structure().dense().layers()) {
    if (v < 1 || v > 6) return BadLayout(fmt::format("layer kind {}", v));
    p.layers.push_back(static_cast<RepDefLayer>(v));
  }
  if (p.layers.empty()) return BadLayout("no layers");
  return p;
}

}  // namespace pilum
