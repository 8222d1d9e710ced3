#include "tests/fuzz/make_seeds.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <fmt/core.h>

#include "lance_file.pb.h"
#include "pilum/base/bytes.h"
#include "pilum/base/hash.h"
#include "pilum/encoding/shape.h"
#include "pilum/encoding/v2_0/descriptor.h"
#include "pilum/file/footer.h"
#include "tests/fuzz/page_input.h"
#include "tests/fuzz/targets.h"

namespace pilum::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostBytes = 30'000;  // of a seed
constexpr size_t kLarge = 4000;        // of these a target has two at most
constexpr int kMostSeeds = 8;          // of a target

struct Seed {
  std::string bytes, what;  // `what`: seeds of a target differ in it
};

uint64_t ColumnsOf20(const arrow::Field& field) {
  uint64_t n = 1;
  if (IsPackedStruct(field)) return n;
  const auto id = field.type()->id();
  if (id != arrow::Type::STRUCT && id != arrow::Type::LIST && id != arrow::Type::LARGE_LIST) return n;
  for (const auto& child : field.type()->fields()) n += ColumnsOf20(*child);
  return n;
}

// A page of `column` as an input's column; its buffers go to the image, or keep their place where that is the file.
bool AddColumn(const wire::ColumnMetadata::Page& page, std::string_view file, bool whole, PageInput* in) {
  wire::AnyBytes any;
  if (!any.ParseFromString(page.encoding().direct().encoding()) || page.buffer_offsets_size() > 8) return false;
  PageInput::Column column{page.length(), any.value(), {}};
  for (int i = 0; i < page.buffer_offsets_size(); ++i) {
    const ByteRange from{page.buffer_offsets(i), page.buffer_sizes(i)};
    if (from.size > kMostBytes) return false;
    column.buffers.push_back(whole ? from : ByteRange{in->image.size(), from.size});
    if (!whole) in->image += file.substr(from.offset, from.size), in->image.resize((in->image.size() + 63) / 64 * 64);
  }
  in->columns.push_back(std::move(column));
  return true;
}

std::vector<wire::ColumnMetadata> WireColumns(std::string_view file) {
  const char* footer = file.data() + file.size() - 40;
  const auto table = LoadLE<uint64_t>(footer + 8);
  std::vector<wire::ColumnMetadata> out(LoadLE<uint32_t>(footer + 28));
  for (size_t i = 0; i < out.size(); ++i) {
    const char* entry = file.data() + table + i * 16;
    if (!out[i].ParseFromArray(file.data() + LoadLE<uint64_t>(entry), static_cast<int>(LoadLE<uint64_t>(entry + 8))))
      return {};
  }
  return out;
}

// Calls `add` with the pages of a file, one top-level field (2.0) or leaf at a time.
template <typename F>
void PagesOf(std::string_view file, const FileMetadata& meta, F add) {
  const auto columns = WireColumns(file);
  const bool v20 = meta.version == FileVersion::kV2_0;
  auto leaves = LeafColumnsOf(*meta.schema.schema);
  if (!leaves.ok()) return;
  size_t at = 0;
  int top = 0;
  uint8_t leaf = 0;
  while (at < columns.size()) {
    const auto& field = meta.schema.schema->field(v20 ? top : (*leaves)[at].top_level);
    const bool blob = IsBlobField(*field);
    PageInput in;
    in.version = meta.version;
    auto schema = SerializeFileDescriptor(*arrow::schema({field}), 1000);
    if (!schema.ok()) return;
    in.schema = *schema;
    const size_t count = v20 ? ColumnsOf20(*field) : 1;
    if (!v20) {
      leaf = at > 0 && (*leaves)[at].top_level == (*leaves)[at - 1].top_level ? leaf + 1 : 0;
      in.leaf = leaf;
    }
    bool good = in.schema.size() < 600;
    if (blob) in.image = file;
    for (size_t i = at; i < at + count && i < columns.size(); ++i)
      good = good && columns[i].pages_size() > 0 && AddColumn(columns[i].pages(0), file, blob, &in);
    if (good && in.image.size() < kMostBytes) add(in, field->type()->ToString());
    at += count;
    ++top;
  }
}

std::string DescriptionOf(const PageInput& in) {
  std::string out;
  for (const auto& column : in.columns) {
    if (in.version == FileVersion::kV2_0) {
      auto array = v2_0::ParseArrayEncoding(column.description);
      out += array.ok() ? (*array)->ToString() : "?";
    } else {
      auto layout = ParsePageLayout(column.description, in.version);
      out += layout.ok() ? layout->ToString() : "?";
    }
  }
  return out;
}

}  // namespace

int MakeSeeds(const std::string& from, const std::string& to) {
  std::map<std::string, std::vector<Seed>> by_target;
  std::vector<Seed> pages;
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(from)) {
    if (entry.path().extension() == ".lance" && entry.is_regular_file() && entry.file_size() < 600'000 &&
        entry.path().string().find("damaged") == std::string::npos) {
      paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    ReadContext ctx;
    auto meta =
        ReadFileMetadata(*MakeMemorySource("x.lance", arrow::Buffer::FromString(bytes)), SchemaWanted::kYes, ctx);
    if (!meta.ok()) continue;
    if (bytes.size() < kMostBytes) {
      const std::string what = fmt::format("{}{}", VersionName(meta->version), meta->checksums != nullptr);
      for (const char* target : {"file", "footer"}) {
        by_target[target].push_back({bytes, what + meta->schema.schema->ToString()});
      }
      if (meta->checksums)
        by_target["checksums"].push_back(
            {bytes.substr(0, meta->checksums->buffer().end()), std::to_string(bytes.size())});
    }
    by_target["schema"].push_back(
        {bytes.substr(meta->global_buffers[0].offset, meta->global_buffers[0].size), meta->schema.schema->ToString()});
    PagesOf(bytes, *meta, [&](const PageInput& page, const std::string& type) {
      const std::string description = DescriptionOf(page);
      pages.push_back({ToBytes(page), description + " of " + type});
      for (const auto& c : page.columns) by_target["description"].push_back({c.description, description});
    });
  }
  int made = 0;
  for (const Target& target : Targets()) {
    auto& seeds = target.page ? pages : by_target[target.name];
    std::stable_sort(seeds.begin(), seeds.end(),
                     [](const Seed& a, const Seed& b) { return a.bytes.size() < b.bytes.size(); });
    std::set<std::string> seen;
    int kept = 0, large = 0;
    for (const Seed& seed : seeds) {
      if (kept == kMostSeeds || seen.contains(seed.what) || (seed.bytes.size() > kLarge && large == 2)) continue;
      if (target.run(reinterpret_cast<const uint8_t*>(seed.bytes.data()), seed.bytes.size()) != 0) continue;
      seen.insert(seed.what);
      const Hash256 hash = Blake3Of(seed.bytes);
      const auto folder = fs::path(to) / target.name;
      fs::create_directories(folder);
      std::ofstream(folder / Hex(std::span(hash).first(6)), std::ios::binary) << seed.bytes;
      ++kept, ++made;
      if (seed.bytes.size() > kLarge) ++large;
    }
    fmt::print("{}: {} seeds\n", target.name, kept);
  }
  return made;
}

}  // namespace pilum::fuzz
