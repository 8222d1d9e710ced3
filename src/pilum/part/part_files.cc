#include "pilum/part/part_files.h"

#include <algorithm>

#include <arrow/buffer.h>

#include "pilum/base/bytes.h"
#include "pilum/base/hash.h"
#include "pilum/part/list_uniform.h"
#include "pilum/part/stands_for.h"

namespace pilum {
namespace {

constexpr uint64_t kIdentityTail = 64 << 10;
constexpr std::string_view kSuffix = ".lance";

std::vector<PartFile> PartsOf(std::vector<ObjectInfo> listed, const std::string& prefix, bool merged) {
  std::vector<PartFile> out;
  for (ObjectInfo& info : listed) {
    const std::string_view file = std::string_view(info.path).substr(prefix.size());
    if (file.size() <= kSuffix.size() || !file.ends_with(kSuffix) || file.find('/') != file.npos) continue;
    if (file.starts_with('.')) continue;  // half copied, or put there by the system
    std::string name(file.substr(0, file.size() - kSuffix.size()));
    out.push_back({std::move(info.path), std::move(name), info.size, info.modified, merged});
  }
  return out;
}

}  // namespace

int DatasetFiles::parallel(const ReadContext& ctx) const { return std::max(ctx.threads, store->cost().parallel); }

Result<std::vector<PartFile>> DatasetFiles::ListPuts(ReadContext& ctx) const {
  PILUM_ASSIGN_OR_RETURN(auto listed, ListUniform(*store, prefix + "parts/", ctx));
  return PartsOf(std::move(listed), prefix + "parts/", false);
}

Result<std::vector<PartFile>> DatasetFiles::ListMerged(ReadContext& ctx) const {
  PILUM_ASSIGN_OR_RETURN(auto listed, store->List(prefix + "merged/", ctx));
  return PartsOf(std::move(listed), prefix + "merged/", true);
}

std::vector<PartFile> DatasetFiles::Join(std::vector<PartFile> puts, std::vector<PartFile> merged) {
  std::vector<PartFile> parts = std::move(puts);
  parts.insert(parts.end(), std::make_move_iterator(merged.begin()), std::make_move_iterator(merged.end()));
  std::stable_sort(parts.begin(), parts.end(), [](const PartFile& a, const PartFile& b) { return a.name < b.name; });
  parts.erase(
      std::unique(parts.begin(), parts.end(), [](const PartFile& a, const PartFile& b) { return a.name == b.name; }),
      parts.end());
  return parts;
}

Result<std::vector<PartFile>> DatasetFiles::ListParts(ReadContext& ctx) const {
  PILUM_ASSIGN_OR_RETURN(auto puts, ListPuts(ctx));
  PILUM_ASSIGN_OR_RETURN(auto merged, ListMerged(ctx));
  return Join(std::move(puts), std::move(merged));
}

Result<std::shared_ptr<const ByteSource>> DatasetFiles::OpenContent(const std::string& path, uint64_t size,
                                                                    ReadContext& ctx) const {
  if (!has_disk()) return store->OpenSource(path, ctx);
  const auto open = [store = store, path](ReadContext& asked) { return store->OpenSource(path, asked); };
  return MakeCachedSource(CacheKey(path), size, CacheKey(path), store->cost(), open, disk);
}

std::array<DatasetFiles::Sidecar, 4> DatasetFiles::Sidecars(const std::string& name) const {
  return {{{TermsPath(name), SidecarKind::kTerms},
           {IndexPath(name), SidecarKind::kIndex},
           {HeaderPath(name), SidecarKind::kHeader},
           {StatsPath(name), SidecarKind::kStats}}};
}

Status DatasetFiles::NoDataset() const {
  return NotFoundError("{}: no dataset here (no parts under parts/ or merged/)", uri);
}

std::optional<uint64_t> PartFile::plan() const {
  constexpr size_t kDigits = 8;
  if (!merged || name.size() != kDigits + 1 + 64 || name[kDigits] != '-') return std::nullopt;
  if (!IsContentName(std::string_view(name).substr(kDigits + 1))) return std::nullopt;
  return ParseNumber(std::string_view(name).substr(0, kDigits));
}

std::string_view PartFile::content_hash() const {
  if (plan()) return std::string_view(name).substr(name.size() - 64);
  return IsContentName(name) ? std::string_view(name) : std::string_view();
}

bool IsContentName(std::string_view name) {
  const auto is_digit = [](char c) { return HexDigit(c) >= 0 && !(c >= 'A' && c <= 'F'); };
  return name.size() == 64 && std::all_of(name.begin(), name.end(), is_digit);
}

Hash128 IdentityOf(std::string_view content_hash) {
  Hash128 out;
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<uint8_t>(HexDigit(content_hash[2 * i]) * 16 + HexDigit(content_hash[2 * i + 1]));
  }
  return out;
}

Result<Hash128> PartIdentity(const DatasetFiles& files, const PartFile& part, ReadContext& ctx) {
  if (const std::string_view digits = part.content_hash(); !digits.empty()) return IdentityOf(digits);
  PILUM_ASSIGN_OR_RETURN(auto source, files.store->OpenSource(part.path, ctx));
  const uint64_t tail = std::min(source->size(), kIdentityTail);
  PILUM_ASSIGN_OR_RETURN(BufferPtr bytes, source->ReadRange({source->size() - tail, tail}, ctx));
  std::string head;
  AppendLE<uint64_t>(&head, source->size());
  Blake3 hash;
  hash.Update(head);
  hash.Update(bytes->data(), static_cast<size_t>(bytes->size()));
  const Hash256 full = hash.Finish();
  Hash128 out;
  std::copy_n(full.begin(), out.size(), out.begin());
  return out;
}

}  // namespace pilum
