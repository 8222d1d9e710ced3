#include "pilum/encoding/descriptor.h"

#include <cstddef>

#include <fmt/format.h>

#include "lance_encodings.pb.h"
#include "pilum/encoding/descriptor_wire.h"

namespace pilum {

Status BadLayout(std::string_view what) { return MakeError(ErrorKind::kCorrupt, fmt::format("page layout: {}", what)); }

namespace {

constexpr int kMaxCodecDepth = 16;
constexpr uint64_t kMaxBits = uint64_t{1}
                              << 40;  // of one value; far above any real width, and products with counts are checked

Result<Compression> ParseScheme(const wire::BufferCompression& c) {
  if (c.scheme() == 1) return Compression::kLz4;
  if (c.scheme() == 2) return Compression::kZstd;
  return Unsupported("page layout: compression scheme {} is not known", c.scheme());
}

Status RefuseInner(bool present) {
  if (present)
    return Unsupported("page layout: a buffer compression inside flat, variable or bit packing is not known");
  return Status::OK();
}

Status CheckBits(uint64_t bits) {
  if (bits == 0 || bits > kMaxBits) return BadLayout(fmt::format("{} bits a value", bits));
  return Status::OK();
}

Status CheckPackBits(uint64_t bits) {
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
    return BadLayout(fmt::format("bit packing of {}-bit values", bits));
  return Status::OK();
}

class CodecParser {
 public:
  explicit CodecParser(FileVersion version) : next_(version == FileVersion::kV2_3) {}
  Result<CodecDesc> Parse(const wire::CompressiveEncoding& m, int depth = 0) {
    if (depth > kMaxCodecDepth) return BadLayout("encodings are nested too deep");
    CodecDesc d;
    switch (m.compression_case()) {
      case wire::CompressiveEncoding::kFlat:
        d.bits = m.flat().bits_per_value();
        PILUM_RETURN_NOT_OK(CheckBits(d.bits));
        PILUM_RETURN_NOT_OK(RefuseInner(m.flat().has_data()));
        return d;
      case wire::CompressiveEncoding::kVariable:
        d.kind = CodecKind::kVariable;
        PILUM_RETURN_NOT_OK(RefuseInner(m.variable().has_values()));
        PILUM_RETURN_NOT_OK(Child(m.variable().has_offsets(), m.variable().offsets(), depth, &d));
        return CheckVariable(std::move(d));
      case wire::CompressiveEncoding::kConstant:
        d.kind = CodecKind::kConstant;
        d.has_bytes = m.constant().has_value();
        d.bytes = m.constant().value();
        return d;
      case wire::CompressiveEncoding::kOutOfLineBitpacking:
        d.kind = CodecKind::kOutOfLineBitpacking;
        d.bits = m.out_of_line_bitpacking().uncompressed_bits_per_value();
        PILUM_RETURN_NOT_OK(CheckPackBits(d.bits));
        if (m.out_of_line_bitpacking().values().has_flat() &&
            m.out_of_line_bitpacking().values().flat().bits_per_value() == 0) {
          d.children.emplace_back();  // levels that are all 0, of which no bit is stored
          return d;
        }
        PILUM_RETURN_NOT_OK(
            Child(m.out_of_line_bitpacking().has_values(), m.out_of_line_bitpacking().values(), depth, &d));
        if (d.children[0].kind != CodecKind::kFlat || d.children[0].bits > d.bits) {
          return BadLayout("out-of-line bit packing needs flat values no wider than the unpacked ones");
        }
        return d;
      case wire::CompressiveEncoding::kInlineBitpacking:
        d.kind = CodecKind::kInlineBitpacking;
        d.bits = m.inline_bitpacking().uncompressed_bits_per_value();
        PILUM_RETURN_NOT_OK(CheckPackBits(d.bits));
        PILUM_RETURN_NOT_OK(RefuseInner(m.inline_bitpacking().has_values()));
        return d;
      case wire::CompressiveEncoding::kFsst:
        d.kind = CodecKind::kFsst;
        d.bytes = m.fsst().symbol_table();
        PILUM_RETURN_NOT_OK(Child(m.fsst().has_values(), m.fsst().values(), depth, &d));
        return d;
      default: return ParseNested(m, depth);
    }
  }

 private:
  Result<CodecDesc> ParseNested(const wire::CompressiveEncoding& m, int depth) {
    CodecDesc d;
    switch (m.compression_case()) {
      case wire::CompressiveEncoding::kDictionary:
        d.kind = CodecKind::kDictionary;
        d.num_items = m.dictionary().num_items();
        PILUM_RETURN_NOT_OK(Child(m.dictionary().has_indices(), m.dictionary().indices(), depth, &d));
        PILUM_RETURN_NOT_OK(Child(m.dictionary().has_items(), m.dictionary().items(), depth, &d));
        return d;
      case wire::CompressiveEncoding::kRle:
        d.kind = CodecKind::kRle;
        PILUM_RETURN_NOT_OK(Child(m.rle().has_values(), m.rle().values(), depth, &d));
        PILUM_RETURN_NOT_OK(Child(m.rle().has_run_lengths(), m.rle().run_lengths(), depth, &d));
        if (d.children[0].kind == CodecKind::kFlat) PILUM_RETURN_NOT_OK(CheckPackBits(d.children[0].bits));
        if (next_) return d;
        if (d.children[0].kind != CodecKind::kFlat || d.children[1].kind != CodecKind::kFlat ||
            d.children[1].bits != 8) {
          return BadLayout("run-length children must be flat, with 8-bit lengths");
        }
        return d;
      case wire::CompressiveEncoding::kByteStreamSplit:
        d.kind = CodecKind::kByteStreamSplit;
        PILUM_RETURN_NOT_OK(Child(m.byte_stream_split().has_values(), m.byte_stream_split().values(), depth, &d));
        if (d.children[0].kind != CodecKind::kFlat || d.children[0].bits % 8 != 0) {
          return BadLayout("byte stream split needs flat values of whole bytes");
        }
        return d;
      case wire::CompressiveEncoding::kGeneral: {
        d.kind = CodecKind::kGeneral;
        PILUM_ASSIGN_OR_RETURN(d.scheme, ParseScheme(m.general().compression()));
        if (m.general().compression().has_level()) d.level = m.general().compression().level();
        PILUM_RETURN_NOT_OK(Child(m.general().has_values(), m.general().values(), depth, &d));
        return d;
      }
      case wire::CompressiveEncoding::kFixedSizeList:
        d.kind = CodecKind::kFixedSizeList;
        d.num_items = m.fixed_size_list().items_per_value();
        d.has_validity = m.fixed_size_list().has_validity();
        if (d.num_items == 0 || d.num_items > INT32_MAX)
          return BadLayout(fmt::format("fixed-size list of {} items", d.num_items));
        PILUM_RETURN_NOT_OK(Child(m.fixed_size_list().has_values(), m.fixed_size_list().values(), depth, &d));
        return d;
      case wire::CompressiveEncoding::kPackedStruct:
        d.kind = CodecKind::kPackedStruct;
        for (uint64_t bits : m.packed_struct().bits_per_value()) {
          PILUM_RETURN_NOT_OK(CheckBits(bits));
          d.field_bits.push_back(bits);
        }
        PILUM_RETURN_NOT_OK(Child(m.packed_struct().has_values(), m.packed_struct().values(), depth, &d));
        return d;
      case wire::CompressiveEncoding::kVariablePackedStruct:
        d.kind = CodecKind::kVariablePackedStruct;
        for (const auto& f : m.variable_packed_struct().fields()) {
          PILUM_RETURN_NOT_OK(Child(f.has_value(), f.value(), depth, &d));
          bool variable = f.layout_case() == wire::VariablePackedStruct::FieldEncoding::kBitsPerLength;
          uint64_t bits = variable ? f.bits_per_length() : f.bits_per_value();
          PILUM_RETURN_NOT_OK(CheckBits(bits));
          if (variable && bits != 32 && bits != 64) return BadLayout(fmt::format("{}-bit lengths", bits));
          d.var_fields.push_back({variable, bits});
        }
        return d;
      case wire::CompressiveEncoding::kRange:
      case wire::CompressiveEncoding::kDelta:
        if (next_) return ParseSequence(m, depth);
        [[fallthrough]];
      default: return Unsupported("page layout: an encoding is missing or of a kind this version does not know");
    }
  }

  Result<CodecDesc> ParseSequence(const wire::CompressiveEncoding& m, int depth) {
    CodecDesc d;
    if (m.has_range()) {
      d.kind = CodecKind::kRange;
      d.bits = m.range().bits();
      d.start = m.range().start();
      d.step = m.range().step();
      PILUM_RETURN_NOT_OK(CheckPackBits(d.bits));
      return d;
    }
    d.kind = CodecKind::kDelta;
    d.bits = m.delta().bits();
    d.start = m.delta().base();
    PILUM_RETURN_NOT_OK(CheckPackBits(d.bits));
    PILUM_RETURN_NOT_OK(Child(m.delta().has_deltas(), m.delta().deltas(), depth, &d));
    return d;
  }

  Status Child(bool present, const wire::CompressiveEncoding& m, int depth, CodecDesc* d) {
    if (!present) return BadLayout(fmt::format("{} lacks a child encoding", CodecName(d->kind)));
    PILUM_ASSIGN_OR_RETURN(CodecDesc child, Parse(m, depth + 1));
    d->children.push_back(std::move(child));
    return Status::OK();
  }

  Result<CodecDesc> CheckVariable(CodecDesc d) const {
    const CodecDesc& o = d.children[0];
    if (next_ && o.kind != CodecKind::kFlat) return d;  // offsets of their own
    if (o.kind != CodecKind::kFlat || (o.bits != 32 && o.bits != 64))
      return BadLayout("offsets must be flat of 32 or 64 bits");
    return d;
  }

  const bool next_;  // version 2.3: more kinds, and freer children
};

bool Contains(const CodecDesc& d, CodecKind kind) {
  if (d.kind == kind) return true;
  for (const auto& c : d.children) {
    if (Contains(c, kind)) return true;
  }
  return false;
}

}  // namespace

Result<std::optional<CodecDesc>> ParseCodec(bool present, const wire::CompressiveEncoding& m, FileVersion version) {
  if (!present) return std::nullopt;
  PILUM_ASSIGN_OR_RETURN(CodecDesc d, CodecParser(version).Parse(m));
  return d;
}

Status CheckValueBits(uint64_t bits) { return CheckBits(bits); }

namespace {

template <typename Repeated>
Status ParseLayers(const Repeated& layers, PageLayout* out) {
  if (layers.empty()) return BadLayout("no layers");
  for (int v : layers) {
    if (v < 1 || v > 6) return BadLayout(fmt::format("layer kind {}", v));
    out->layers.push_back(static_cast<RepDefLayer>(v));
  }
  return Status::OK();
}

Status CheckValues(const std::optional<CodecDesc>& values, FileVersion version) {
  if (!values) return BadLayout("no value encoding");
  if (version == FileVersion::kV2_1 && Contains(*values, CodecKind::kVariablePackedStruct)) {
    return BadLayout("a variable packed struct in a 2.1 file");
  }
  return Status::OK();
}

Result<PageLayout> ParseMiniBlock(const wire::MiniBlockLayout& m, FileVersion version) {
  PageLayout p;
  p.kind = LayoutKind::kMiniBlock;
  PILUM_RETURN_NOT_OK(ParseLayers(m.layers(), &p));
  PILUM_ASSIGN_OR_RETURN(p.rep_codec, ParseCodec(m.has_rep_compression(), m.rep_compression(), version));
  PILUM_ASSIGN_OR_RETURN(p.def_codec, ParseCodec(m.has_def_compression(), m.def_compression(), version));
  PILUM_ASSIGN_OR_RETURN(p.value_codec, ParseCodec(m.has_value_compression(), m.value_compression(), version));
  PILUM_ASSIGN_OR_RETURN(p.dictionary, ParseCodec(m.has_dictionary(), m.dictionary(), version));
  PILUM_RETURN_NOT_OK(CheckValues(p.value_codec, version));
  p.num_dictionary_items = m.num_dictionary_items();
  p.num_buffers = m.num_buffers();
  p.repetition_index_depth = m.repetition_index_depth();
  p.num_items = m.num_items();
  p.has_large_chunk = m.has_large_chunk();
  if (p.has_large_chunk != (version == FileVersion::kV2_2)) {
    return BadLayout(p.has_large_chunk ? "large chunks in a 2.1 file" : "small chunks in a 2.2 file");
  }
  return p;
}

Result<PageLayout> ParseFullZip(const wire::FullZipLayout& m, FileVersion version) {
  PageLayout p;
  p.kind = LayoutKind::kFullZip;
  PILUM_RETURN_NOT_OK(ParseLayers(m.layers(), &p));
  p.bits_rep = m.bits_rep();
  p.bits_def = m.bits_def();
  if (p.bits_rep > 16 || p.bits_def > 16) return BadLayout(fmt::format("{} + {} level bits", p.bits_rep, p.bits_def));
  p.variable_width = m.details_case() == wire::FullZipLayout::kBitsPerOffset;
  p.bits_per_value = p.variable_width ? m.bits_per_offset() : m.bits_per_value();
  if (p.variable_width && p.bits_per_value != 32 && p.bits_per_value != 64) {
    return BadLayout(fmt::format("{}-bit lengths", p.bits_per_value));
  }
  if (!p.variable_width) {
    // Up to version 7 pylance wrote values that are all null as nothing but their levels.
    const bool only_levels =
        p.bits_per_value == 0 && m.value_compression().has_constant() && p.bits_rep + p.bits_def > 0;
    if (!only_levels) PILUM_RETURN_NOT_OK(CheckBits(p.bits_per_value));
    if (p.bits_per_value % 8 != 0) return BadLayout(fmt::format("full-zip values of {} bits", p.bits_per_value));
  }
  p.num_items = m.num_items();
  p.num_visible_items = m.num_visible_items();
  PILUM_ASSIGN_OR_RETURN(p.value_codec, ParseCodec(m.has_value_compression(), m.value_compression(), version));
  PILUM_RETURN_NOT_OK(CheckValues(p.value_codec, version));
  return p;
}

Result<PageLayout> ParseConstant(const wire::ConstantLayout& m, FileVersion version) {
  PageLayout p;
  p.kind = LayoutKind::kConstant;
  PILUM_RETURN_NOT_OK(ParseLayers(m.layers(), &p));
  if (m.has_inline_value()) p.inline_value = m.inline_value();
  PILUM_ASSIGN_OR_RETURN(p.rep_codec, ParseCodec(m.has_rep_compression(), m.rep_compression(), version));
  PILUM_ASSIGN_OR_RETURN(p.def_codec, ParseCodec(m.has_def_compression(), m.def_compression(), version));
  p.num_rep_values = m.num_rep_values();
  p.num_def_values = m.num_def_values();
  if (version == FileVersion::kV2_1 && (p.inline_value || p.rep_codec || p.def_codec)) {
    return BadLayout("a constant value or compressed levels of a constant page in a 2.1 file");
  }
  return p;
}

Result<PageLayout> ParseLayout(const wire::PageLayout& m, FileVersion version, bool inside_blob) {
  switch (m.layout_case()) {
    case wire::PageLayout::kMiniBlockLayout: return ParseMiniBlock(m.mini_block_layout(), version);
    case wire::PageLayout::kFullZipLayout: return ParseFullZip(m.full_zip_layout(), version);
    case wire::PageLayout::kConstantLayout: return ParseConstant(m.constant_layout(), version);
    case wire::PageLayout::kBlobLayout: {
      if (inside_blob) return BadLayout("a blob page inside a blob page");
      PageLayout p;
      p.kind = LayoutKind::kBlob;
      PILUM_RETURN_NOT_OK(ParseLayers(m.blob_layout().layers(), &p));
      PILUM_ASSIGN_OR_RETURN(PageLayout inner, ParseLayout(m.blob_layout().inner_layout(), version, true));
      p.inner = std::make_shared<const PageLayout>(std::move(inner));
      return p;
    }
    default: return Unsupported("page layout: missing or of a kind this version does not know");
  }
}

void FillCodec(const CodecDesc& d, wire::CompressiveEncoding* m) {
  switch (d.kind) {
    case CodecKind::kFlat: m->mutable_flat()->set_bits_per_value(d.bits); break;
    case CodecKind::kVariable: FillCodec(d.children[0], m->mutable_variable()->mutable_offsets()); break;
    case CodecKind::kConstant:
      m->mutable_constant();
      if (d.has_bytes) m->mutable_constant()->set_value(d.bytes);
      break;
    case CodecKind::kOutOfLineBitpacking:
      m->mutable_out_of_line_bitpacking()->set_uncompressed_bits_per_value(d.bits);
      FillCodec(d.children[0], m->mutable_out_of_line_bitpacking()->mutable_values());
      break;
    case CodecKind::kInlineBitpacking: m->mutable_inline_bitpacking()->set_uncompressed_bits_per_value(d.bits); break;
    case CodecKind::kFsst:
      m->mutable_fsst()->set_symbol_table(d.bytes);
      FillCodec(d.children[0], m->mutable_fsst()->mutable_values());
      break;
    case CodecKind::kDictionary:
      FillCodec(d.children[0], m->mutable_dictionary()->mutable_indices());
      FillCodec(d.children[1], m->mutable_dictionary()->mutable_items());
      m->mutable_dictionary()->set_num_items(d.num_items);
      break;
    case CodecKind::kRle:
      FillCodec(d.children[0], m->mutable_rle()->mutable_values());
      FillCodec(d.children[1], m->mutable_rle()->mutable_run_lengths());
      break;
    case CodecKind::kByteStreamSplit: FillCodec(d.children[0], m->mutable_byte_stream_split()->mutable_values()); break;
    case CodecKind::kGeneral: {
      auto* c = m->mutable_general()->mutable_compression();
      c->set_scheme(static_cast<int>(d.scheme));
      if (d.level) c->set_level(*d.level);
      FillCodec(d.children[0], m->mutable_general()->mutable_values());
      break;
    }
    case CodecKind::kFixedSizeList:
      m->mutable_fixed_size_list()->set_items_per_value(d.num_items);
      m->mutable_fixed_size_list()->set_has_validity(d.has_validity);
      FillCodec(d.children[0], m->mutable_fixed_size_list()->mutable_values());
      break;
    case CodecKind::kPackedStruct:
      for (uint64_t bits : d.field_bits) m->mutable_packed_struct()->add_bits_per_value(bits);
      FillCodec(d.children[0], m->mutable_packed_struct()->mutable_values());
      break;
    case CodecKind::kVariablePackedStruct:
      m->mutable_variable_packed_struct();
      for (size_t i = 0; i < d.var_fields.size(); ++i) {
        auto* f = m->mutable_variable_packed_struct()->add_fields();
        FillCodec(d.children[i], f->mutable_value());
        if (d.var_fields[i].is_variable)
          f->set_bits_per_length(d.var_fields[i].bits);
        else
          f->set_bits_per_value(d.var_fields[i].bits);
      }
      break;
    case CodecKind::kRange:
    case CodecKind::kDelta: break;  // not written
  }
}

template <typename M>
void FillLayers(const PageLayout& p, M* m) {
  for (RepDefLayer l : p.layers) m->add_layers(static_cast<int>(l));
}

void FillMiniBlock(const PageLayout& p, wire::MiniBlockLayout* m) {
  if (p.rep_codec) FillCodec(*p.rep_codec, m->mutable_rep_compression());
  if (p.def_codec) FillCodec(*p.def_codec, m->mutable_def_compression());
  if (p.value_codec) FillCodec(*p.value_codec, m->mutable_value_compression());
  if (p.dictionary) FillCodec(*p.dictionary, m->mutable_dictionary());
  m->set_num_dictionary_items(p.num_dictionary_items);
  FillLayers(p, m);
  m->set_num_buffers(p.num_buffers);
  m->set_repetition_index_depth(p.repetition_index_depth);
  m->set_num_items(p.num_items);
  m->set_has_large_chunk(p.has_large_chunk);
}

void FillFullZip(const PageLayout& p, wire::FullZipLayout* m) {
  m->set_bits_rep(p.bits_rep);
  m->set_bits_def(p.bits_def);
  if (p.variable_width)
    m->set_bits_per_offset(p.bits_per_value);
  else
    m->set_bits_per_value(p.bits_per_value);
  m->set_num_items(p.num_items);
  m->set_num_visible_items(p.num_visible_items);
  if (p.value_codec) FillCodec(*p.value_codec, m->mutable_value_compression());
  FillLayers(p, m);
}

void FillConstant(const PageLayout& p, wire::ConstantLayout* m) {
  FillLayers(p, m);
  if (p.inline_value) m->set_inline_value(*p.inline_value);
  if (p.rep_codec) FillCodec(*p.rep_codec, m->mutable_rep_compression());
  if (p.def_codec) FillCodec(*p.def_codec, m->mutable_def_compression());
  m->set_num_rep_values(p.num_rep_values);
  m->set_num_def_values(p.num_def_values);
}

void FillLayout(const PageLayout& p, wire::PageLayout* m) {
  switch (p.kind) {
    case LayoutKind::kMiniBlock: FillMiniBlock(p, m->mutable_mini_block_layout()); break;
    case LayoutKind::kFullZip: FillFullZip(p, m->mutable_full_zip_layout()); break;
    case LayoutKind::kConstant: FillConstant(p, m->mutable_constant_layout()); break;
    case LayoutKind::kBlob:
      FillLayout(*p.inner, m->mutable_blob_layout()->mutable_inner_layout());
      FillLayers(p, m->mutable_blob_layout());
      break;
    case LayoutKind::kSparse: break;  // not written
  }
}

}  // namespace

Result<PageLayout> ParsePageLayout(std::string_view message, FileVersion version) {
  if (version == FileVersion::kV2_3) return ParsePlanarLayout(message);
  if (version != FileVersion::kV2_1 && version != FileVersion::kV2_2) {
    return Unsupported("page layouts of file version {} are not supported", VersionName(version));
  }
  // On the stack, most of it: a page's message is a dozen small ones.
  alignas(std::max_align_t) char room[4096];
  google::protobuf::ArenaOptions options;
  options.initial_block = room;
  options.initial_block_size = sizeof room;
  google::protobuf::Arena arena(options);
  auto& m = *google::protobuf::Arena::CreateMessage<wire::PageLayout>(&arena);
  if (message.size() > INT32_MAX || !m.ParseFromArray(message.data(), static_cast<int>(message.size()))) {
    return BadLayout("not a protobuf message");
  }
  return ParseLayout(m, version, false);
}

std::string SerializePageLayout(const PageLayout& layout) {
  wire::PageLayout m;
  FillLayout(layout, &m);
  return m.SerializeAsString();  // no maps inside: the bytes follow from the layout alone
}

std::string_view CodecName(CodecKind kind) {
  constexpr std::string_view names[] = {"flat",
                                        "variable",
                                        "constant",
                                        "out_of_line_bitpacking",
                                        "inline_bitpacking",
                                        "fsst",
                                        "dictionary",
                                        "rle",
                                        "byte_stream_split",
                                        "general",
                                        "fixed_size_list",
                                        "packed_struct",
                                        "variable_packed_struct",
                                        "range",
                                        "delta"};
  return names[static_cast<int>(kind)];
}

std::string_view LayoutName(LayoutKind kind) {
  constexpr std::string_view names[] = {"mini-block", "full-zip", "constant", "blob", "sparse"};
  return names[static_cast<int>(kind)];
}

std::string_view VersionName(FileVersion v) {
  constexpr std::string_view names[] = {"2.0", "2.1", "2.2", "2.3"};
  return names[static_cast<int>(v)];
}

std::string CodecDesc::ToString() const {
  std::vector<std::string> parts;
  switch (kind) {
    case CodecKind::kFlat:
    case CodecKind::kInlineBitpacking: parts.push_back(fmt::to_string(bits)); break;
    case CodecKind::kVariable:
      if (!children.empty() && children[0].kind != CodecKind::kFlat) break;
      return fmt::format("variable({})", children.empty() ? 0 : children[0].bits);
    case CodecKind::kOutOfLineBitpacking:
      return fmt::format("out_of_line_bitpacking({}, {})", bits, children.empty() ? 0 : children[0].bits);
    case CodecKind::kGeneral: parts.push_back(scheme == Compression::kLz4 ? "lz4" : "zstd"); break;
    case CodecKind::kFixedSizeList:
      parts.push_back(fmt::to_string(num_items));
      if (has_validity) parts.push_back("validity");
      break;
    case CodecKind::kPackedStruct: return fmt::format("packed_struct({})", fmt::join(field_bits, ", "));
    default: break;
  }
  for (const auto& c : children) parts.push_back(c.ToString());
  if (parts.empty()) return std::string(CodecName(kind));
  return fmt::format("{}({})", CodecName(kind), fmt::join(parts, ", "));
}

std::string PageLayout::ToString() const {
  switch (kind) {
    case LayoutKind::kConstant: return "constant";  // or all null: a value may be in a buffer
    case LayoutKind::kBlob: return fmt::format("blob({})", inner ? inner->ToString() : "");
    case LayoutKind::kSparse:
      return fmt::format("sparse({}{})", indices ? "indexed " : "", inner ? inner->ToString() : "");
    default: break;
  }
  std::string values = value_codec ? value_codec->ToString() : "";
  if (dictionary) values = fmt::format("dictionary({}, {})", values, dictionary->ToString());
  return fmt::format("{}({})", LayoutName(kind), values);
}

}  // namespace pilum
