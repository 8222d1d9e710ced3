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

// A way to store the values without a dictionary. Further codecs join here; the smallest wins, the first at a tie.
struct Candidate {
  CodecKind codec;
  uint64_t size;
  std::string_view name;
};

std::vector<Candidate> CandidatesFor(const PageStats& s, const EncodingHints& hints) {
  if (s.variable_struct) return {{CodecKind::kVariablePackedStruct, s.data_bytes, "rows with lengths"}};
  if (s.bits_per_value == 0) return {{CodecKind::kVariable, s.data_bytes, "offsets and bytes"}};
  std::vector<Candidate> out{{CodecKind::kFlat, (s.num_values * s.bits_per_value + 7) / 8, "flat"}};
  bool none = hints.compression && *hints.compression == Compression::kNone;
  if (s.can_pack && !none) out.push_back({CodecKind::kInlineBitpacking, s.bitpacked_bytes, "packed"});
  return out;
}

const Candidate& Smallest(const std::vector<Candidate>& candidates) {
  return *std::min_element(candidates.begin(), candidates.end(),
                           [](const Candidate& a, const Candidate& b) { return a.size < b.size; });
}

std::string Compared(const std::vector<Candidate>& candidates) {
  std::string s;
  for (const Candidate& c : candidates) s += fmt::format("{}{} {} bytes", s.empty() ? "; " : ", ", c.name, c.size);
  return s;
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
  constexpr uint64_t kMaxConstant = 1 << 30;
  if (s.num_values == s.num_nulls) return {LayoutKind::kConstant, CodecKind::kConstant, false, 0, "no value is valid"};
  const std::vector<Candidate> candidates = CandidatesFor(s, hints);
  const Candidate& best = Smallest(candidates);
  if (version != FileVersion::kV2_1 && s.all_equal && s.max_length < kMaxConstant &&
      s.max_length + s.plain_level_bytes <= best.size + s.packed_level_bytes + kChunkOverhead) {
    return {LayoutKind::kConstant, CodecKind::kConstant, false, s.max_length, "every value is the same"};
  }
  if (s.variable_struct) {
    return {LayoutKind::kFullZip, best.codec, false, best.size, "packed struct with fields of varying size"};
  }
  if (s.keys) {
    return {LayoutKind::kMiniBlock, CodecKind::kDictionary, true, s.key_bytes + s.dictionary_bytes, "dictionary array"};
  }
  if (s.distinct) {
    uint64_t size = s.dictionary_bytes + s.key_bytes;
    double limit = hints.dict_size_ratio.value_or(kDictionaryRatio) * static_cast<double>(best.size);
    if (static_cast<double>(size) < limit) {
      return {LayoutKind::kMiniBlock, CodecKind::kDictionary, true, size,
              fmt::format("{} distinct of {} values: {} bytes, {} without a dictionary", *s.distinct, s.num_values,
                          size, best.size)};
    }
  }
  Choice c;
  std::string why = hints.full_zip ? "structural-encoding asks" : fmt::format("longest value {} bytes", s.max_length);
  if (hints.full_zip.value_or(s.max_length >= kFullZipFrom)) {
    c = {LayoutKind::kFullZip, candidates[0].codec, false, candidates[0].size,
         std::move(why)};  // zipped values stay plain
  } else {
    c = {LayoutKind::kMiniBlock, best.codec, false, best.size, why + Compared(candidates)};
  }
  c.why += Fallback(hints);
  return c;
}

}  // namespace pilum
