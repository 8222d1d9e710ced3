#include "pilum/table/index_kind.h"

#include <algorithm>

#include <arrow/buffer.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>
#include <nlohmann/json.hpp>

#include "pilum/base/bytes.h"
#include "pilum/file/file_reader.h"
#include "pilum/file/wire_fields.h"

namespace pilum {
namespace {

constexpr uint64_t kFooterSize = 16;  // u64 position of the message, u16 major, u16 minor, magic

// A vector index of a Lance file, as it says it itself in the schema's metadata; empty where it does not.
std::string KindInMetadata(std::shared_ptr<const ByteSource> source, ReadContext& ctx) {
  auto file = FileReader::Open(std::move(source), ctx);
  if (!file.ok() || !(*file)->schema()->metadata()) return {};
  auto text = (*file)->schema()->metadata()->Get("lance:index");
  if (!text.ok()) return {};
  const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  return json.is_object() && json.contains("type") && json["type"].is_string() ? json["type"].get<std::string>() : "";
}

// Field 3 of field 5 of the message at the end of the first kind of vector index: its stages, each a message with one of
// these fields.
std::string KindOfStages(std::string_view message) {
  static constexpr std::string_view kStages[] = {"", "FLAT", "IVF", "PQ"};
  std::string out;
  WireFields index(message);
  while (index.Next()) {
    if (!index.Is(5, WireFields::kBytes)) continue;
    WireFields vector(index.bytes());
    while (vector.Next()) {
      if (!vector.Is(3, WireFields::kBytes)) continue;
      WireFields stage(vector.bytes());
      while (stage.Next()) {
        if (stage.number() < std::size(kStages)) out += (out.empty() ? "" : "_") + std::string(kStages[stage.number()]);
      }
    }
  }
  return out;
}

Result<std::string> KindOfFirst(const ByteSource& source, ReadContext& ctx) {
  const uint64_t size = source.size();
  if (size < kFooterSize) return std::string();
  PILUM_ASSIGN_OR_RETURN(auto footer, source.ReadRange({size - kFooterSize, kFooterSize}, ctx));
  const auto position = LoadLE<uint64_t>(footer->data());
  const auto major = LoadLE<uint16_t>(footer->data() + 8), minor = LoadLE<uint16_t>(footer->data() + 10);
  const uint64_t end = size - kFooterSize;
  if (major != 0 || minor > 2 || position > end || end - position < 4) return std::string();
  PILUM_ASSIGN_OR_RETURN(auto word, source.ReadRange({position, 4}, ctx));
  const auto length = LoadLE<uint32_t>(word->data());
  if (length > end - position - 4) return std::string();
  PILUM_ASSIGN_OR_RETURN(auto message, source.ReadRange({position + 4, length}, ctx));
  return KindOfStages({reinterpret_cast<const char*>(message->data()), length});
}

}  // namespace

std::string IndexKindOfFiles(const std::vector<std::string>& names) {
  static const std::pair<std::string_view, const char*> kKinds[] = {
      {"page_data.lance", "BTree"},         {"bitmap_page_lookup.lance", "Bitmap"},
      {"ngram_postings.lance", "NGram"},    {"zonemap.lance", "ZoneMap"},
      {"bloomfilter.lance", "BloomFilter"}, {"metadata.lance", "Inverted"},
      {"invert.lance", "Inverted"},         {"index.idx", "Vector"}};
  for (const auto& [file, kind] : kKinds) {
    if (std::find(names.begin(), names.end(), file) != names.end()) return kind;
  }
  return "Unknown";
}

Status LearnIndexKind(const TableFiles& files, TableIndex* index, ReadContext& ctx) {
  if (index->kind == "Unknown" && index->details_url.empty() && !index->base_id) {
    const std::string folder = "_indices/" + index->uuid + "/";
    PILUM_ASSIGN_OR_RETURN(auto objects, files.root().List(folder, ctx));
    std::vector<std::string> names;
    for (const ObjectInfo& o : objects) names.push_back(o.path.substr(folder.size()));
    index->kind = IndexKindOfFiles(names);
  }
  if (index->kind != "Vector") return Status::OK();
  auto source = files.OpenIndexFile(*index, "index.idx", ctx);
  if (!source.ok()) return ctx.Check();
  auto first = KindOfFirst(**source, ctx);
  const std::string kind = first.ok() && !first->empty() ? *first : KindInMetadata(std::move(*source), ctx);
  if (!kind.empty()) index->kind = kind;
  return ctx.Check();
}

}  // namespace pilum
