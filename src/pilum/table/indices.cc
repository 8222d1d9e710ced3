#include "pilum/table/indices.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "lance_table.pb.h"
#include "pilum/file/quiet_protobuf.h"
#include "pilum/file/wire_fields.h"
#include "pilum/table/roaring.h"

namespace pilum {
namespace {

Status Bad(std::string what) { return MakeError(ErrorKind::kCorrupt, std::move(what)); }

bool SameText(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return (x >= 'A' && x <= 'Z' ? x + 32 : x) == (y >= 'A' && y <= 'Z' ? y + 32 : y);
  });
}

// The numbers of fields of VectorIndexDetails.
constexpr uint32_t kHnsw = 3, kPq = 4, kSq = 5, kRq = 6;

std::string VectorKind(std::string_view details) {
  if (details.empty()) return "Vector";  // up to pylance 7: the index's own files tell
  std::string graph, codes = "FLAT";
  WireFields fields(details);
  while (fields.Next()) {
    if (fields.type() != WireFields::kBytes) continue;
    if (fields.number() == kHnsw) graph = "HNSW_";
    if (fields.number() == kPq) codes = "PQ";
    if (fields.number() == kSq) codes = "SQ";
    if (fields.number() == kRq) codes = "RQ";
  }
  return fields.ok() ? "IVF_" + graph + codes : "Vector";
}

std::string KindOfDetails(std::string_view url, std::string_view details) {
  if (url.empty()) return "Unknown";
  constexpr std::string_view kSuffix = "IndexDetails";
  std::string_view name = url.substr(url.find_last_of("./") + 1);  // npos + 1 is 0
  if (name.size() < kSuffix.size() || !SameText(name.substr(name.size() - kSuffix.size()), kSuffix)) return "Unknown";
  name.remove_suffix(kSuffix.size());
  if (SameText(name, "Vector")) return VectorKind(details);
  for (const char* known : {"BTree", "Bitmap", "LabelList", "NGram", "ZoneMap", "BloomFilter", "Inverted", "Json",
                            "FragmentReuse", "MemWal", "RTree", "MinHashLsh", "FM"}) {
    if (SameText(name, known)) return known;
  }
  return "Unknown";
}

Result<TableIndex> IndexOf(const wire::IndexMetadata& m) {
  TableIndex out;
  out.uuid = UuidText(m.uuid().uuid());
  if (out.uuid.empty()) return Bad(fmt::format("its UUID has {} bytes, not 16", m.uuid().uuid().size()));
  out.name = m.name();
  out.fields.assign(m.fields().begin(), m.fields().end());
  out.dataset_version = m.dataset_version();
  if (!m.fragment_bitmap().empty()) {
    auto bitmap = ParseRoaring32(m.fragment_bitmap());
    if (!bitmap.ok()) return WithContext("the bitmap of its fragments", bitmap.status());
    out.fragments = std::move(*bitmap);
  }
  out.details_url = m.index_details().type_url();
  out.details = m.index_details().value();
  out.kind = KindOfDetails(out.details_url, out.details);
  if (m.has_index_version()) out.index_version = m.index_version();
  if (m.has_created_at()) out.created_at_ms = m.created_at();
  if (m.has_base_id()) out.base_id = m.base_id();
  for (const auto& file : m.files()) out.files.push_back({file.path(), file.size_bytes()});
  return out;
}

// --- what compaction put in the place of what, as the details of a fragment-reuse index tell it

struct ReuseGroup {
  std::vector<uint64_t> old_fragments, new_fragments;
};

Result<std::vector<std::string_view>> MessagesOf(std::string_view message, uint32_t number) {
  std::vector<std::string_view> out;
  WireFields fields(message);
  while (fields.Next()) {
    if (fields.Is(number, WireFields::kBytes)) out.push_back(fields.bytes());
  }
  if (!fields.ok()) return Bad("the details of a fragment-reuse index do not parse");
  return out;
}

// Field 1 of each of these messages: an id, of which 0 is not written.
Result<std::vector<uint64_t>> IdsOf(std::string_view group, uint32_t number) {
  std::vector<uint64_t> out;
  PILUM_ASSIGN_OR_RETURN(auto digests, MessagesOf(group, number));
  for (const std::string_view digest : digests) {
    uint64_t id = 0;
    WireFields fields(digest);
    while (fields.Next()) {
      if (fields.Is(1, WireFields::kVarint)) id = fields.value();
    }
    if (!fields.ok()) return Bad("the details of a fragment-reuse index do not parse");
    out.push_back(id);
  }
  return out;
}

// Oldest first. Where the details lie in a file of their own, none: then nothing is known.
Result<std::vector<ReuseGroup>> ReuseGroups(std::string_view details) {
  std::vector<ReuseGroup> out;
  PILUM_ASSIGN_OR_RETURN(auto contents, MessagesOf(details, 1));
  for (const std::string_view content : contents) {
    PILUM_ASSIGN_OR_RETURN(auto versions, MessagesOf(content, 1));
    for (const std::string_view version : versions) {
      PILUM_ASSIGN_OR_RETURN(auto groups, MessagesOf(version, 3));
      for (const std::string_view group : groups) {
        ReuseGroup one;
        PILUM_ASSIGN_OR_RETURN(one.old_fragments, IdsOf(group, 2));
        PILUM_ASSIGN_OR_RETURN(one.new_fragments, IdsOf(group, 3));
        out.push_back(std::move(one));
      }
    }
  }
  return out;
}

}  // namespace

std::string UuidText(std::string_view bytes) {
  if (bytes.size() != 16) return {};
  std::string out;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += fmt::format("{:02x}", static_cast<uint8_t>(bytes[i]));
  }
  return out;
}

std::optional<uint64_t> TableIndex::total_bytes() const {
  if (files.empty()) return std::nullopt;
  uint64_t sum = 0;
  for (const IndexFile& f : files) sum += f.size;
  return sum;
}

Result<std::vector<TableIndex>> ParseIndexSection(std::string_view message) {
  QuietProtobuf();
  wire::IndexSection section;
  if (message.size() > INT32_MAX || !section.ParseFromArray(message.data(), static_cast<int>(message.size()))) {
    return Bad("the index section does not parse");
  }
  std::vector<TableIndex> out;
  for (const auto& m : section.indices()) {
    auto index = IndexOf(m);
    if (!index.ok()) return WithContext(fmt::format("index '{}'", m.name()), index.status());
    out.push_back(std::move(*index));
  }
  return out;
}

Result<std::vector<TableIndex>> ReadIndexSection(const ByteSource& source, const Manifest& manifest, ReadContext& ctx) {
  if (!manifest.indices) return std::vector<TableIndex>();
  PILUM_ASSIGN_OR_RETURN(const std::string message, ReadManifestSection(source, *manifest.indices, ctx));
  auto out = ParseIndexSection(message);
  return out.ok() ? out : Result<std::vector<TableIndex>>(WithContext(source.name(), out.status()));
}

// Only ids that somebody names are looked at: bitmaps may hold all there can be.
Result<std::optional<RowSet>> LiveCoverage(const TableIndex& index, const std::vector<TableIndex>& all,
                                           const Manifest& manifest) {
  if (!index.fragments) return std::optional<RowSet>();
  std::vector<ReuseGroup> groups;
  for (const TableIndex& other : all) {
    if (other.kind != "FragmentReuse" || &other == &index) continue;
    PILUM_ASSIGN_OR_RETURN(auto some, ReuseGroups(other.details));
    std::move(some.begin(), some.end(), std::back_inserter(groups));
  }
  std::unordered_map<uint64_t, bool> covered;
  const auto is_covered = [&](uint64_t id) -> bool& {
    return covered.try_emplace(id, index.fragments->Contains(id)).first->second;
  };
  for (const ReuseGroup& group : groups) {
    if (group.old_fragments.empty() ||
        !std::all_of(group.old_fragments.begin(), group.old_fragments.end(), is_covered)) {
      continue;
    }
    for (const uint64_t id : group.old_fragments) is_covered(id) = false;
    for (const uint64_t id : group.new_fragments) is_covered(id) = true;
  }
  std::vector<uint64_t> live;
  for (const Fragment& f : manifest.fragments) {
    if (is_covered(f.id)) live.push_back(f.id);
  }
  std::sort(live.begin(), live.end());
  return std::optional(RowSet::FromSorted(live));
}

}  // namespace pilum
