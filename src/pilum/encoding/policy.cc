#include "pilum/encoding/policy.h"

#include <algorithm>
#include <charconv>

#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

namespace pilum {
namespace {

constexpr uint64_t kFullZipFrom = 256;     // bytes of the longest value from which a page is zipped
constexpr uint64_t kChunkOverhead = 64;    // a chunk's header, its table and paddings, about
constexpr uint64_t kDictionaryFrom = 100;  // values
constexpr double kDictionaryRatio = 0.8;   // of the size without

std::optional<std::string> Find(const arrow::Field& field, const char* key) {
  if (!field.metadata()) return std::nullopt;
  int i = field.metadata()->FindKey(std::string("lance-encoding:") + key);
  if (i < 0) return std::nullopt;
  return field.metadata()->value(i);
}

template <typename T>
std::optional<T> Number(const arrow::Field& field, const char* key) {
  auto text = Find(field, key);
  if (!text) return std::nullopt;
  T v{};
  auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), v);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return v;
}

// What was asked for and is not written yet: said in the reason, never silently.
std::string Fallback(const EncodingHints& hints) {
  std::string s;
  if (hints.compression && *hints.compression != Compression::kNone) {
    s = *hints.compression == Compression::kLz4 ? "; lz4 asked for" : "; zstd asked for";
  }
  if (hints.fsst) s += "; fsst asked for";
  if (hints.byte_stream_split.value_or(false)) s += "; byte stream split asked for";
  return s.empty() ? s : s + ", which is not written yet: kept uncompressed";
}

struct Sizes {
  uint64_t plain = 0;  // flat or variable
  uint64_t best = 0;   // the smallest without a dictionary
  CodecKind codec = CodecKind::kFlat;
};

Sizes WithoutDictionary(const PageStats& s, const EncodingHints& hints) {
  Sizes out;
  if (s.bits_per_value == 0) {
    out.plain = out.best = s.data_bytes;
    out.codec = CodecKind::kVariable;
    return out;
  }
  out.plain = out.best = (s.num_values * s.bits_per_value + 7) / 8;
  bool none = hints.compression && *hints.compression == Compression::kNone;
  if (s.can_pack && !none && s.bitpacked_bytes < out.plain) {
    out.best = s.bitpacked_bytes;
    out.codec = CodecKind::kInlineBitpacking;
  }
  return out;
}

}  // namespace

Result<EncodingHints> EncodingHints::Parse(const arrow::Field& leaf, const arrow::Field& top_level) {
  EncodingHints h;
  if (auto scheme = Find(leaf, "compression")) {
    if (*scheme == "lz4")
      h.compression = Compression::kLz4;
    else if (*scheme == "zstd")
      h.compression = Compression::kZstd;
    else if (*scheme == "none")
      h.compression = Compression::kNone;
    else if (*scheme == "fsst")
      h.fsst = true;
    else
      return Unsupported("field '{}': unknown lance-encoding:compression '{}' (lz4, zstd, fsst or none)", leaf.name(),
                         *scheme);
  }
  h.compression_level = Number<int>(leaf, "compression-level");
  h.rle_threshold = Number<double>(leaf, "rle-threshold");
  if (auto bss = Find(leaf, "bss"); bss && *bss != "auto") h.byte_stream_split = *bss == "on";
  h.dict_divisor = Number<uint64_t>(leaf, "dict-divisor");
  h.dict_size_ratio = Number<double>(leaf, "dict-size-ratio");
  h.dict_max_size = Number<uint64_t>(leaf, "dict-max-size");
  h.minichunk_size = Number<uint64_t>(leaf, "minichunk-size");
  for (const arrow::Field* f : {&top_level, &leaf}) {  // the leaf's own word is heard last
    auto structure = Find(*f, "structural-encoding");
    if (!structure) continue;
    if (*structure == "fullzip")
      h.full_zip = true;
    else if (*structure == "miniblock")
      h.full_zip = false;
    else
      return Unsupported("field '{}': lance-encoding:structural-encoding '{}' is not one of miniblock, fullzip",
                         f->name(), *structure);
  }
  return h;
}

uint64_t DictionaryCap(const PageStats& s, const EncodingHints& hints, FileVersion version) {
  if (s.composite || s.keys || s.num_values < kDictionaryFrom) return 0;
  bool wide = s.bits_per_value == 128 || (s.bits_per_value == 64 && version != FileVersion::kV2_1);
  if (s.bits_per_value != 0 && !wide) return 0;
  uint64_t cap = s.num_values / std::max<uint64_t>(1, hints.dict_divisor.value_or(2));
  if (hints.dict_max_size) cap = std::min(cap, *hints.dict_max_size);
  return std::min<uint64_t>(cap, INT32_MAX);
}

Choice ChooseEncoding(const PageStats& s, const EncodingHints& hints, FileVersion version) {
  Choice c;
  if (s.num_values == s.num_nulls) return {LayoutKind::kConstant, CodecKind::kConstant, false, 0, "no value is valid"};
  Sizes sizes = WithoutDictionary(s, hints);
  if (version != FileVersion::kV2_1 && s.all_equal &&
      (sizes.best == 0 || s.max_length + s.plain_level_bytes <= sizes.best + s.packed_level_bytes + kChunkOverhead)) {
    return {LayoutKind::kConstant, CodecKind::kConstant, false, s.max_length, "every value is the same"};
  }
  if (s.variable_struct) {
    return {LayoutKind::kFullZip, CodecKind::kVariablePackedStruct, false, sizes.plain,
            "packed struct with fields of varying size"};
  }
  if (s.keys) {
    return {LayoutKind::kMiniBlock, CodecKind::kDictionary, true, s.key_bytes + s.dictionary_bytes, "dictionary array"};
  }
  if (s.distinct) {
    uint64_t size = s.dictionary_bytes + s.key_bytes;
    double limit = hints.dict_size_ratio.value_or(kDictionaryRatio) * static_cast<double>(sizes.best);
    if (static_cast<double>(size) < limit) {
      return {LayoutKind::kMiniBlock, CodecKind::kDictionary, true, size,
              fmt::format("{} distinct of {} values: {} bytes, {} without a dictionary", *s.distinct, s.num_values,
                          size, sizes.best)};
    }
  }
  c.codec = s.composite ? (s.bits_per_value ? CodecKind::kFlat : CodecKind::kVariable) : sizes.codec;
  c.estimated_size = s.composite ? sizes.plain : sizes.best;
  bool zip = hints.full_zip.value_or(s.max_length >= kFullZipFrom);
  c.layout = zip ? LayoutKind::kFullZip : LayoutKind::kMiniBlock;
  if (zip && s.bits_per_value) {
    c.codec = CodecKind::kFlat;
    c.estimated_size = sizes.plain;
  }
  c.why = hints.full_zip ? "structural-encoding asks" : fmt::format("longest value {} bytes", s.max_length);
  if (c.codec == CodecKind::kInlineBitpacking)
    c.why += fmt::format("; packed {} bytes, flat {}", sizes.best, sizes.plain);
  c.why += Fallback(hints);
  return c;
}

}  // namespace pilum
