#include "pilum/encoding/v2_0/descriptor.h"

#include <utility>

#include <fmt/format.h>

#include "lance_encodings_v2_0.pb.h"

namespace pilum::v2_0 {
namespace {

constexpr int kMaxDepth = 64;

Status Bad(std::string_view what) { return MakeError(ErrorKind::kCorrupt, fmt::format("page encoding: {}", what)); }

Result<uint32_t> BufferIndex(const wire::v2_0::Buffer& buffer) {
  if (buffer.place() != 0) return Unsupported("page encoding: a buffer that is not one of the page's is not read");
  return buffer.index();
}

Result<Compression> ParseScheme(const std::string& scheme) {
  if (scheme.empty() || scheme == "none") return Compression::kNone;
  if (scheme == "zstd") return Compression::kZstd;
  if (scheme == "lz4") return Compression::kLz4;
  return Unsupported("page encoding: compression '{}' is not known", scheme.substr(0, 40));
}

class Parser {
 public:
  Result<ArrayDesc> Parse(const wire::v2_0::ArrayEncoding& m, int depth) {
    if (depth > kMaxDepth) return Bad("nested too deep");
    depth_ = depth;
    ArrayDesc d;
    switch (m.encoding_case()) {
      case wire::v2_0::ArrayEncoding::kFlat: {
        d.bits = m.flat().bits_per_value();
        PILUM_ASSIGN_OR_RETURN(d.buffer, BufferIndex(m.flat().buffer()));
        PILUM_ASSIGN_OR_RETURN(d.compression, ParseScheme(m.flat().compression().scheme()));
        return d;
      }
      case wire::v2_0::ArrayEncoding::kNullable: return ParseNullable(m.nullable());
      case wire::v2_0::ArrayEncoding::kFixedSizeList:
        d.kind = ArrayKind::kFixedSizeList;
        d.dimension = m.fixed_size_list().dimension();
        if (m.fixed_size_list().has_validity())
          return Unsupported("page encoding: a fixed-size list with has_validity");
        return With(std::move(d), {{m.fixed_size_list().has_items(), &m.fixed_size_list().items()}});
      case wire::v2_0::ArrayEncoding::kList:
        d.kind = ArrayKind::kList;
        d.null_adjustment = m.list().null_offset_adjustment();
        d.num_items = m.list().num_items();
        return With(std::move(d), {{m.list().has_offsets(), &m.list().offsets()}});
      case wire::v2_0::ArrayEncoding::kStructHeader: d.kind = ArrayKind::kStruct; return d;
      case wire::v2_0::ArrayEncoding::kBinary:
        d.kind = ArrayKind::kBinary;
        d.null_adjustment = m.binary().null_adjustment();
        return With(std::move(d),
                    {{m.binary().has_indices(), &m.binary().indices()}, {m.binary().has_bytes(), &m.binary().bytes()}});
      case wire::v2_0::ArrayEncoding::kDictionary:
        d.kind = ArrayKind::kDictionary;
        d.num_items = m.dictionary().num_items();
        return With(std::move(d), {{m.dictionary().has_indices(), &m.dictionary().indices()},
                                   {m.dictionary().has_items(), &m.dictionary().items()}});
      case wire::v2_0::ArrayEncoding::kFsst:
        d.kind = ArrayKind::kFsst;
        d.symbol_table = m.fsst().symbol_table();
        return With(std::move(d), {{m.fsst().has_binary(), &m.fsst().binary()}});
      case wire::v2_0::ArrayEncoding::kFixedSizeBinary:
        d.kind = ArrayKind::kFixedSizeBinary;
        d.byte_width = m.fixed_size_binary().byte_width();
        return With(std::move(d), {{m.fixed_size_binary().has_bytes(), &m.fixed_size_binary().bytes()}});
      default: return ParsePacked(m);
    }
  }

 private:
  using Child = std::pair<bool, const wire::v2_0::ArrayEncoding*>;

  Result<ArrayDesc> With(ArrayDesc d, std::vector<Child> children) {
    const int depth = depth_;
    for (const auto& [present, child] : children) {
      if (!present) return Bad("a part of it is missing");
      PILUM_ASSIGN_OR_RETURN(auto parsed, Parse(*child, depth + 1));
      d.children.push_back(std::move(parsed));
    }
    return d;
  }

  Result<ArrayDesc> ParseNullable(const wire::v2_0::Nullable& m) {
    ArrayDesc d;
    d.kind = ArrayKind::kNullable;
    if (m.has_no_nulls()) return With(std::move(d), {{m.no_nulls().has_values(), &m.no_nulls().values()}});
    d.nulls = Nulls::kSome;
    if (m.has_some_nulls()) {
      return With(std::move(d), {{m.some_nulls().has_validity(), &m.some_nulls().validity()},
                                 {m.some_nulls().has_values(), &m.some_nulls().values()}});
    }
    d.nulls = Nulls::kAll;
    if (m.has_all_nulls()) return d;
    return Bad("a nullable that does not say which are null");
  }

  Result<ArrayDesc> ParsePacked(const wire::v2_0::ArrayEncoding& m) {
    ArrayDesc d;
    switch (m.encoding_case()) {
      case wire::v2_0::ArrayEncoding::kPackedStruct: {
        d.kind = ArrayKind::kPackedStruct;
        PILUM_ASSIGN_OR_RETURN(d.buffer, BufferIndex(m.packed_struct().buffer()));
        std::vector<Child> fields;
        for (const auto& f : m.packed_struct().fields()) fields.emplace_back(true, &f);
        return With(std::move(d), std::move(fields));
      }
      case wire::v2_0::ArrayEncoding::kBitpacked: {
        d.kind = ArrayKind::kBitpacked;
        d.is_signed = m.bitpacked().is_signed();
        return Bits(std::move(d), m.bitpacked());
      }
      case wire::v2_0::ArrayEncoding::kBitpackedForNonNeg: {
        d.kind = ArrayKind::kBitpackedForNonNeg;
        return Bits(std::move(d), m.bitpacked_for_non_neg());
      }
      default: return Unsupported("page encoding: it is missing, or none that version 2.0 has");
    }
  }

  template <typename M>
  static Result<ArrayDesc> Bits(ArrayDesc d, const M& m) {
    d.packed_bits = m.packed_bits();
    d.bits = m.unpacked_bits();
    PILUM_ASSIGN_OR_RETURN(d.buffer, BufferIndex(m.buffer()));
    bool whole = d.bits == 8 || d.bits == 16 || d.bits == 32 || d.bits == 64;
    if (!whole || d.packed_bits == 0 || d.packed_bits > d.bits) {
      return Bad(fmt::format("{}-bit values packed into {} bits", d.bits, d.packed_bits));
    }
    return d;
  }

  int depth_ = 0;
};

void Fill(const ArrayDesc& d, wire::v2_0::ArrayEncoding* out);

void FillNullable(const ArrayDesc& d, wire::v2_0::Nullable* out) {
  switch (d.nulls) {
    case Nulls::kNone: return Fill(d.children[0], out->mutable_no_nulls()->mutable_values());
    case Nulls::kAll: out->mutable_all_nulls(); return;
    case Nulls::kSome:
      Fill(d.children[0], out->mutable_some_nulls()->mutable_validity());
      Fill(d.children[1], out->mutable_some_nulls()->mutable_values());
  }
}

void FillFlat(const ArrayDesc& d, wire::v2_0::Flat* out) {
  out->set_bits_per_value(d.bits);
  out->mutable_buffer()->set_index(d.buffer);
  if (d.compression == Compression::kNone) return;
  out->mutable_compression()->set_scheme(d.compression == Compression::kZstd ? "zstd" : "lz4");
}

void Fill(const ArrayDesc& d, wire::v2_0::ArrayEncoding* out) {
  switch (d.kind) {
    case ArrayKind::kFlat: return FillFlat(d, out->mutable_flat());
    case ArrayKind::kNullable: return FillNullable(d, out->mutable_nullable());
    case ArrayKind::kFixedSizeList:
      out->mutable_fixed_size_list()->set_dimension(static_cast<uint32_t>(d.dimension));
      return Fill(d.children[0], out->mutable_fixed_size_list()->mutable_items());
    case ArrayKind::kList:
      out->mutable_list()->set_null_offset_adjustment(d.null_adjustment);
      out->mutable_list()->set_num_items(d.num_items);
      return Fill(d.children[0], out->mutable_list()->mutable_offsets());
    case ArrayKind::kStruct: out->mutable_struct_header(); return;
    case ArrayKind::kBinary:
      out->mutable_binary()->set_null_adjustment(d.null_adjustment);
      Fill(d.children[0], out->mutable_binary()->mutable_indices());
      return Fill(d.children[1], out->mutable_binary()->mutable_bytes());
    case ArrayKind::kDictionary:
      out->mutable_dictionary()->set_num_items(static_cast<uint32_t>(d.num_items));
      Fill(d.children[0], out->mutable_dictionary()->mutable_indices());
      return Fill(d.children[1], out->mutable_dictionary()->mutable_items());
    case ArrayKind::kFsst:
      out->mutable_fsst()->set_symbol_table(d.symbol_table);
      return Fill(d.children[0], out->mutable_fsst()->mutable_binary());
    case ArrayKind::kPackedStruct:
      out->mutable_packed_struct()->mutable_buffer()->set_index(d.buffer);
      for (const ArrayDesc& c : d.children) Fill(c, out->mutable_packed_struct()->add_fields());
      return;
    case ArrayKind::kBitpacked:
    case ArrayKind::kFixedSizeBinary:
    case ArrayKind::kBitpackedForNonNeg: return;  // not written
  }
}

std::string_view Name(ArrayKind kind) {
  switch (kind) {
    case ArrayKind::kFlat: return "flat";
    case ArrayKind::kNullable: return "nullable";
    case ArrayKind::kFixedSizeList: return "fixed_size_list";
    case ArrayKind::kList: return "list";
    case ArrayKind::kStruct: return "struct";
    case ArrayKind::kBinary: return "binary";
    case ArrayKind::kDictionary: return "dictionary";
    case ArrayKind::kFsst: return "fsst";
    case ArrayKind::kPackedStruct: return "packed_struct";
    case ArrayKind::kBitpacked: return "bitpacked";
    case ArrayKind::kFixedSizeBinary: return "fixed_size_binary";
    case ArrayKind::kBitpackedForNonNeg: return "bitpacked_for_non_neg";
  }
  return "?";
}

}  // namespace

std::string ArrayDesc::ToString() const {
  if (kind == ArrayKind::kNullable && nulls == Nulls::kAll) return "all_nulls";
  if (kind == ArrayKind::kNullable && nulls == Nulls::kNone) return children[0].ToString();
  std::vector<std::string> parts;
  if (kind == ArrayKind::kFlat) parts.push_back(fmt::format("{}", bits));
  if (compression != Compression::kNone) parts.push_back(compression == Compression::kZstd ? "zstd" : "lz4");
  if (packed_bits) parts.push_back(fmt::format("{} of {}", packed_bits, bits));
  if (dimension) parts.push_back(fmt::format("{}", dimension));
  if (byte_width) parts.push_back(fmt::format("{}", byte_width));
  for (const auto& c : children) {
    if (kind != ArrayKind::kNullable || &c != &children[0]) parts.push_back(c.ToString());
  }
  return parts.empty() ? std::string(Name(kind)) : fmt::format("{}({})", Name(kind), fmt::join(parts, ", "));
}

std::string SerializeArrayEncoding(const ArrayDesc& desc) {
  wire::v2_0::ArrayEncoding m;
  Fill(desc, &m);
  return m.SerializeAsString();
}

Result<std::shared_ptr<const ArrayDesc>> ParseArrayEncoding(std::string_view message) {
  wire::v2_0::ArrayEncoding m;
  if (!m.ParseFromArray(message.data(), static_cast<int>(message.size()))) return Bad("it does not parse");
  PILUM_ASSIGN_OR_RETURN(ArrayDesc d, Parser().Parse(m, 0));
  return std::make_shared<const ArrayDesc>(std::move(d));
}

}  // namespace pilum::v2_0
