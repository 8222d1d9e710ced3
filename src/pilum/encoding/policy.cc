#include "pilum/encoding/policy.h"

#include <algorithm>
#include <charconv>

#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

namespace pilum {
namespace {

constexpr uint64_t kFullZipFrom = 256;  // bytes of the longest value from which a page is zipped
constexpr uint64_t kZippedFromSmall = 256 << 10;
constexpr uint64_t kChunkOverhead = 64;         // a chunk's header, its table and paddings, about
constexpr uint64_t kDictionaryFrom = 100;       // values
constexpr double kDictionaryRatio = 0.8;        // of the size without
constexpr uint64_t kGeneralFrom = 4096;         // bytes of a page's values
constexpr uint64_t kZipCompressedFrom = 32768;  // bytes of the longest value above which each is compressed
constexpr uint64_t kMaxCompressed = 1 << 30;    // bytes of a value; far below what readers accept
constexpr uint64_t kFsstFrom = 32768;           // bytes of a page's values
constexpr uint64_t kFsstLongest = 5;            // bytes of the longest value, at least
constexpr uint64_t kSymbolTable = 2312;

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

bool AsksGeneral(const EncodingHints& hints) {
  return hints.compression.value_or(Compression::kNone) != Compression::kNone;
}

bool AsksPlain(const EncodingHints& hints) { return hints.compression == Compression::kNone; }

// A way to store the values without a dictionary. Further codecs join here; the smallest wins, the first at a tie.
struct Candidate {
  CodecKind codec;
  uint64_t size;
  std::string_view name;
};

std::vector<Candidate> CandidatesFor(const PageStats& s, const EncodingHints& hints) {
  if (s.variable_struct) return {{CodecKind::kVariablePackedStruct, s.data_bytes, "rows with lengths"}};
  if (s.bits_per_value == 0) {
    std::vector<Candidate> out{{CodecKind::kVariable, s.data_bytes, "offsets and bytes"}};
    if (s.fsst_bytes) out.push_back({CodecKind::kFsst, *s.fsst_bytes, "with symbols, by a sample,"});
    return out;
  }
  std::vector<Candidate> out{{CodecKind::kFlat, (s.num_values * s.bits_per_value + 7) / 8, "flat"}};
  if (s.can_pack && !AsksPlain(hints)) out.push_back({CodecKind::kInlineBitpacking, s.bitpacked_bytes, "packed"});
  if (s.runs && !AsksPlain(hints) &&
      static_cast<double>(*s.runs) < hints.rle_threshold.value_or(2) * static_cast<double>(s.num_values)) {
    out.push_back({CodecKind::kRle, *s.runs * (s.bits_per_value / 8 + 1), "runs"});
  }
  return out;
}

const Candidate& Smallest(const std::vector<Candidate>& candidates) {
  return *std::min_element(candidates.begin(), candidates.end(),
                           [](const Candidate& a, const Candidate& b) { return a.size < b.size; });
}

// What of the general compression that was asked for is tried, and if nothing, why.
Compression GeneralFor(const PageStats& s, const EncodingHints& hints, const Choice& c, std::string* why) {
  if (!AsksGeneral(hints)) return Compression::kNone;
  *why += *hints.compression == Compression::kLz4 ? "; lz4 asked for" : "; zstd asked for";
  if (s.composite) {
    *why += ": lists and packed structs stay as they are";
  } else if (c.layout == LayoutKind::kFullZip) {
    *why += ": values of one width are zipped as they are";
  } else if (c.estimated_size.value_or(0) < kGeneralFrom) {
    *why += fmt::format(": fewer than {} bytes", kGeneralFrom);
  } else {
    return *hints.compression;
  }
  return Compression::kNone;
}

// Bytes of the longest value from which a page is zipped: below that, `small` compresses many values together.
uint64_t ZippedFrom(bool variable, FileVersion version, WriteProfile profile) {
  const bool together = variable && profile == WriteProfile::kSmall && version != FileVersion::kV2_1;
  return together ? kZippedFromSmall : kFullZipFrom;
}

std::string Compared(const std::vector<Candidate>& candidates) {
  std::string s;
  for (const Candidate& c : candidates) s += fmt::format("{}{} {} bytes", s.empty() ? "; " : ", ", c.name, c.size);
  return s;
}

}  // namespace

std::string_view ProfileName(WriteProfile profile) {
  switch (profile) {
    case WriteProfile::kFast: return "fast";
    case WriteProfile::kBalanced: return "balanced";
    case WriteProfile::kSmall: return "small";
  }
  return "";
}

Result<WriteProfile> ParseProfile(std::string_view name) {
  for (WriteProfile p : {WriteProfile::kFast, WriteProfile::kBalanced, WriteProfile::kSmall}) {
    if (name == ProfileName(p)) return p;
  }
  return UsageError("unknown profile '{}': fast, balanced or small", name);
}

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
  if (auto scheme = Find(leaf, "dict-values-compression")) {
    h.dict_compression = *scheme == "zstd"  ? Compression::kZstd
                         : *scheme == "lz4" ? Compression::kLz4
                                            : Compression::kNone;
  }
  h.dict_compression_level = Number<int>(leaf, "dict-values-compression-level");
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

uint64_t DictionaryRoom(const PageStats& s, const EncodingHints& hints) {
  const uint64_t plain = s.bits_per_value ? s.num_values * s.bits_per_value / 8 : s.data_bytes;
  return static_cast<uint64_t>(hints.dict_size_ratio.value_or(kDictionaryRatio) * static_cast<double>(plain));
}

CodecKind SmallestFixed(const PageStats& s, const EncodingHints& hints, uint64_t* size) {
  const std::vector<Candidate> candidates = CandidatesFor(s, hints);
  const Candidate& best = Smallest(candidates);
  *size = best.size;
  return best.codec;
}

bool WantsFsst(const PageStats& s, const EncodingHints& hints, FileVersion version, WriteProfile profile) {
  if (s.bits_per_value != 0 || s.variable_struct || s.keys || s.num_values == s.num_nulls) return false;
  if (AsksPlain(hints) || (s.all_equal && version != FileVersion::kV2_1)) return false;
  // A code stands for 8 bytes at most: no table of symbols comes near a dictionary as small as that.
  if (s.distinct && (s.dictionary_bytes + s.key_bytes) * 8 < s.data_bytes) return false;
  if (hints.fsst) return s.data_bytes > kSymbolTable;
  if (profile == WriteProfile::kFast) return false;
  return s.text && s.max_length >= kFsstLongest && s.data_bytes >= kFsstFrom;
}

namespace {

Choice Choose(const PageStats& s, const EncodingHints& hints, FileVersion version, WriteProfile profile,
              const std::vector<Candidate>& candidates) {
  constexpr uint64_t kMaxConstant = 1 << 30;
  if (s.num_values == s.num_nulls)
    return {LayoutKind::kConstant, CodecKind::kConstant, false, {}, 0, "no value is valid"};
  const Candidate& best = Smallest(candidates);
  if (version != FileVersion::kV2_1 && s.all_equal && s.max_length < kMaxConstant &&
      s.max_length + s.plain_level_bytes <= best.size + s.packed_level_bytes + kChunkOverhead) {
    return {LayoutKind::kConstant, CodecKind::kConstant, false, {}, s.max_length, "every value is the same"};
  }
  if (s.variable_struct) {
    return {LayoutKind::kFullZip, best.codec, false, {}, best.size, "packed struct with fields of varying size"};
  }
  if (s.keys) {
    Choice c{LayoutKind::kMiniBlock,           CodecKind::kDictionary, true, {},
             s.key_bytes + s.dictionary_bytes, "dictionary array"};
    c.general = GeneralFor(s, hints, c, &c.why);
    return c;
  }
  Choice c;
  const Candidate& plain = candidates[0];
  if (s.distinct) {
    uint64_t size = s.dictionary_bytes + s.key_bytes;
    double limit = hints.dict_size_ratio.value_or(kDictionaryRatio) * static_cast<double>(plain.size);
    if (static_cast<double>(size) < limit && size < best.size) {
      c = {LayoutKind::kMiniBlock,
           CodecKind::kDictionary,
           true,
           Compression::kNone,
           size,
           fmt::format("{} distinct of {} values: {} bytes, {} without a dictionary", *s.distinct, s.num_values, size,
                       best.size)};
    }
  }
  std::string why = hints.full_zip ? "structural-encoding asks" : fmt::format("longest value {} bytes", s.max_length);
  const bool variable = s.bits_per_value == 0;
  if (c.dictionary) {
    // decided
  } else if (!hints.full_zip.value_or(s.max_length >= ZippedFrom(variable, version, profile))) {
    c = {LayoutKind::kMiniBlock, best.codec, false, Compression::kNone, best.size, why + Compared(candidates)};
  } else if (variable && !AsksPlain(hints) && !hints.fsst && s.max_length <= kMaxCompressed &&
             (AsksGeneral(hints) || s.max_length > kZipCompressedFrom)) {
    const bool quick = profile == WriteProfile::kFast && !AsksGeneral(hints);
    return {LayoutKind::kFullZip,     plain.codec, false, quick ? Compression::kLz4 : Compression::kZstd, plain.size,
            why + "; each compressed"};
  } else if (variable) {
    c = {LayoutKind::kFullZip, best.codec, false, Compression::kNone, best.size, why + Compared(candidates)};
  } else {
    c = {LayoutKind::kFullZip, plain.codec, false, Compression::kNone, plain.size, why};  // stays plain
  }
  c.general = GeneralFor(s, hints, c, &c.why);
  c.split = c.general != Compression::kNone && !c.dictionary && s.can_pack && s.bits_per_value >= 32 &&
            hints.byte_stream_split.value_or(true);
  return c;
}

}  // namespace

Choice ChooseEncoding(const PageStats& s, const EncodingHints& hints, FileVersion version, WriteProfile profile) {
  const std::vector<Candidate> candidates = CandidatesFor(s, hints);
  Choice c = Choose(s, hints, version, profile, candidates);
  if (s.num_values == s.num_nulls) return c;
  if (!s.keys) {
    for (const Candidate& k : candidates) c.alternatives.push_back({std::string(k.name), k.size});
  }
  if (s.distinct) c.alternatives.push_back({"dictionary", s.dictionary_bytes + s.key_bytes});
  return c;
}

}  // namespace pilum
