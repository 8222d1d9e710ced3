#include "tests/fuzz/targets.h"

#include <cstdlib>
#include <set>

#include <arrow/array.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <fmt/core.h>

#include "pilum/encoding/page.h"
#include "pilum/encoding/v2_0/columns.h"
#include "pilum/encoding/v2_0/descriptor.h"
#include "pilum/file/checksums.h"
#include "pilum/file/file_reader.h"
#include "pilum/file/schema_wire.h"
#include "tests/fuzz/page_input.h"
#include "tests/support/capped_pool.h"

namespace pilum::fuzz {
namespace {

constexpr int64_t kMostAtOnce = 512ll << 20;  // bytes; inputs are some kilobytes
constexpr uint64_t kMostRows = 5000;          // read of a page: a constant one may claim any number

void Promise(bool holds, const std::string& what) {
  if (holds) return;
  fmt::print(stderr, "broken promise: {}\n", what);
  std::abort();
}

void PromiseValid(const Status& st) { Promise(st.ok(), "a decoded array is not valid: " + st.ToString()); }

// A source of exactly these bytes in memory of its own, so that a sanitizer sees every read outside.
std::shared_ptr<const ByteSource> SourceOf(std::string_view bytes) {
  return MakeMemorySource("x.lance", arrow::Buffer::FromString(std::string(bytes)));
}

void ReadRows(const Page& page, RowSet rows, const ByteSource& source, ReadContext& ctx) {
  const auto count = static_cast<int64_t>(rows.size());
  auto read = page.StartRead(std::move(rows));
  std::vector<BufferPtr> fetched;
  for (int round = 0;; ++round) {
    Promise(round < 72, "a page asks for rounds without end");
    auto more = read->Next(std::move(fetched));
    if (!more.ok()) return;
    if (more->empty()) break;
    auto buffers = source.ReadRanges(*more, ctx);
    if (!buffers.ok()) return;
    fetched = *std::move(buffers);
  }
  auto array = read->Decode(ctx);
  if (!array.ok()) return;
  PromiseValid((*array)->Validate());
  Promise((*array)->length() == count, fmt::format("{} rows where {} were asked for", (*array)->length(), count));
}

// `pool` outlives the page, which keeps some of what it reads.
void ReadPage(const Page& page, const ByteSource& source, test::CappedPool& pool) {
  ReadContext ctx;
  ctx.pool = &pool;
  const uint64_t rows = std::min(page.num_rows(), kMostRows);
  if (rows == 0) return;
  ReadRows(page, RowSet::All(rows), source, ctx);
  ReadRows(page, RowSet::FromSorted({0, rows / 3, rows - 1}), source, ctx);
  Promise(!pool.over(), fmt::format("asked for {} bytes at once", pool.worst()));
}

bool Holds(const CodecDesc& desc, CodecKind kind) {
  if (desc.kind == kind) return true;
  return std::any_of(desc.children.begin(), desc.children.end(), [&](const auto& c) { return Holds(c, kind); });
}

bool Holds(const PageLayout& layout, CodecKind kind) {
  for (const auto* desc : {&layout.rep_codec, &layout.def_codec, &layout.value_codec, &layout.dictionary}) {
    if (*desc && Holds(**desc, kind)) return true;
  }
  return layout.inner && Holds(*layout.inner, kind);
}

bool Holds(const v2_0::ArrayDesc& desc, v2_0::ArrayKind kind) {
  if (desc.kind == kind) return true;
  return std::any_of(desc.children.begin(), desc.children.end(), [&](const auto& c) { return Holds(c, kind); });
}

int Page21(const PageInput& in, const std::function<bool(const PageLayout&)>& wanted) {
  if (in.columns.size() != 1 || in.version == FileVersion::kV2_0) return -1;
  auto layout = ParsePageLayout(in.columns[0].description, in.version);
  if (!layout.ok() || !wanted(*layout)) return -1;
  auto schema = ParseFileDescriptor(in.schema);
  if (!schema.ok()) return -1;
  auto leaves = LeafColumnsOf(*schema->schema);
  if (!leaves.ok() || in.leaf >= leaves->size()) return -1;
  const LeafColumn& leaf = (*leaves)[in.leaf];
  PageInfo info;
  info.buffers = in.columns[0].buffers;
  info.length = in.columns[0].length;
  if (info.length % static_cast<uint64_t>(leaf.items_per_row()) != 0) return -1;  // the file layer sees to it
  info.layout = *std::move(layout);
  test::CappedPool pool(kMostAtOnce);
  auto page = Page::Make(std::move(info), &leaf, 0, in.version, in.image.size());
  if (page.ok()) ReadPage(**page, *SourceOf(in.image), pool);
  return 0;
}

int Page20(const PageInput& in, v2_0::ArrayKind kind) {
  if (in.version != FileVersion::kV2_0) return -1;
  auto schema = ParseFileDescriptor(in.schema);
  if (!schema.ok()) return -1;
  auto leaves = LeafColumnsOf(*schema->schema);
  if (!leaves.ok()) return -1;
  bool wanted = false;
  std::vector<std::vector<PageInfo>> columns;
  for (const auto& column : in.columns) {
    auto array = v2_0::ParseArrayEncoding(column.description);
    if (!array.ok()) return -1;
    wanted |= Holds(**array, kind);
    PageInfo info;
    info.buffers = column.buffers;
    info.length = column.length;
    info.array = *std::move(array);
    columns.push_back({std::move(info)});
  }
  if (!wanted) return -1;
  test::CappedPool pool(kMostAtOnce);
  auto opened = v2_0::OpenColumns(*schema->schema, *leaves, std::move(columns), 1000, in.image.size());
  if (!opened.ok()) return 0;
  for (const auto& pages : opened->pages) {
    for (const auto& page : pages) ReadPage(*page, *SourceOf(in.image), pool);
  }
  return 0;
}

// Errors of files name the file.
void PromiseNamed(const Status& st) {
  Promise(st.message().find("x.lance") != std::string::npos, "an error without the file's name: " + st.ToString());
}

int WholeFile(const uint8_t* data, size_t size) {
  test::CappedPool pool(kMostAtOnce);
  ReadContext ctx;
  ctx.pool = &pool;
  auto opened = FileReader::Open(SourceOf({reinterpret_cast<const char*>(data), size}), ctx);
  if (!opened.ok()) {
    PromiseNamed(opened.status());
    return 0;
  }
  (void)(*opened)->Columns();
  const uint64_t rows = std::min((*opened)->num_rows(), kMostRows);
  auto stream = (*opened)->Read(std::nullopt, RowSet::All(rows), {.rows = 1 + size % 3000}, ctx);
  if (!stream.ok()) {
    PromiseNamed(stream.status());
    return 0;
  }
  for (;;) {
    auto batch = (*stream)->Next();
    if (!batch.ok()) PromiseNamed(batch.status());
    if (!batch.ok() || !*batch) break;
    PromiseValid((*batch)->Validate());
  }
  if (rows > 0) {
    auto taken = (*opened)->Take(std::nullopt, {rows - 1, rows / 2, 0}, ctx);
    if (taken.ok()) PromiseValid((*taken)->Validate());
  }
  Promise(!pool.over(), fmt::format("asked for {} bytes at once", pool.worst()));
  return 0;
}

// Any bytes before the tail: open alone.
int Footer(const uint8_t* data, size_t size) {
  ReadContext ctx;
  auto opened = FileReader::Open(SourceOf({reinterpret_cast<const char*>(data), size}), ctx);
  if (opened.ok())
    (void)(*opened)->Columns();
  else
    PromiseNamed(opened.status());
  return 0;
}

int Schema(const uint8_t* data, size_t size) {
  auto schema = ParseFileDescriptor({reinterpret_cast<const char*>(data), size});
  if (!schema.ok()) return 0;
  (void)LeafColumnsOf(*schema->schema);
  (void)SerializeFileDescriptor(*schema->schema, schema->num_rows);
  return 0;
}

int Description(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (FileVersion version : {FileVersion::kV2_1, FileVersion::kV2_2}) {
    auto layout = ParsePageLayout(bytes, version);
    if (!layout.ok()) continue;
    (void)layout->ToString();
    Promise(ParsePageLayout(SerializePageLayout(*layout), version).ok(), "a layout that is not read back");
  }
  if (auto array = v2_0::ParseArrayEncoding(bytes); array.ok()) (void)(*array)->ToString();
  return 0;
}

// The checksums' buffer, as it lies before the metadata (here: one byte).
int ChecksumBytes(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (size < Checksums::kTrailerSize) return -1;
  auto parsed = Checksums::Parse(bytes.substr(size - Checksums::kTrailerSize), size);
  if (!parsed.ok() || !*parsed) return 0;
  Checksums& c = **parsed;
  const ByteRange at = c.segments();
  Promise(at.end() <= size && c.buffer().end() == size, "checksums outside of their file");
  if (!c.Load(bytes.substr(at.offset, at.size)).ok()) return 0;
  ReadContext ctx;
  const auto source = SourceOf(bytes);
  (void)c.FindDamage(*source, 10, ctx);
  const std::vector<ByteRange> ranges = {{0, size / 2}, {size / 3, 10}, {size - 5, 5}};
  (void)c.ReadRanges(
      *source, ranges, [](size_t i) { return std::to_string(i); }, ctx);
  return 0;
}

std::vector<Target> MakeTargets() {
  std::vector<Target> out = {
      {"file", false, WholeFile},          {"footer", false, Footer},           {"schema", false, Schema},
      {"description", false, Description}, {"checksums", false, ChecksumBytes},
  };
  auto add = [&](std::string name, std::function<int(const PageInput&)> run) {
    std::replace(name.begin(), name.end(), ' ', '_');
    out.push_back({name, true, [run](const uint8_t* data, size_t size) {
                     auto in = FromBytes({reinterpret_cast<const char*>(data), size});
                     return in ? run(*in) : -1;
                   }});
  };
  const std::vector<std::pair<std::string, LayoutKind>> layouts = {{"mini_block", LayoutKind::kMiniBlock},
                                                                   {"full_zip", LayoutKind::kFullZip},
                                                                   {"constant", LayoutKind::kConstant},
                                                                   {"blob", LayoutKind::kBlob}};
  for (const auto& [name, kind] : layouts) {
    add("layout_" + name, [kind = kind](const PageInput& in) {
      return Page21(in, [kind](const PageLayout& layout) { return layout.kind == kind; });
    });
  }
  const std::vector<std::pair<std::string, CodecKind>> codecs = {
      {"flat", CodecKind::kFlat},
      {"variable", CodecKind::kVariable},
      {"out_of_line_bitpacking", CodecKind::kOutOfLineBitpacking},
      {"inline_bitpacking", CodecKind::kInlineBitpacking},
      {"fsst", CodecKind::kFsst},
      {"dictionary", CodecKind::kDictionary},
      {"rle", CodecKind::kRle},
      {"byte_stream_split", CodecKind::kByteStreamSplit},
      {"general", CodecKind::kGeneral},
      {"fixed_size_list", CodecKind::kFixedSizeList},
      {"packed_struct", CodecKind::kPackedStruct},
      {"variable_packed_struct", CodecKind::kVariablePackedStruct}};
  for (const auto& [name, kind] : codecs) {
    add("codec_" + name, [kind = kind](const PageInput& in) {
      return Page21(in, [kind](const PageLayout& layout) {
        return Holds(layout, kind) || (kind == CodecKind::kDictionary && layout.dictionary);
      });
    });
  }
  const std::vector<std::pair<std::string, v2_0::ArrayKind>> arrays = {
      {"flat", v2_0::ArrayKind::kFlat},
      {"nullable", v2_0::ArrayKind::kNullable},
      {"fixed_size_list", v2_0::ArrayKind::kFixedSizeList},
      {"list", v2_0::ArrayKind::kList},
      {"struct", v2_0::ArrayKind::kStruct},
      {"binary", v2_0::ArrayKind::kBinary},
      {"dictionary", v2_0::ArrayKind::kDictionary},
      {"fsst", v2_0::ArrayKind::kFsst},
      {"packed_struct", v2_0::ArrayKind::kPackedStruct},
      {"bitpacked", v2_0::ArrayKind::kBitpacked},
      {"fixed_size_binary", v2_0::ArrayKind::kFixedSizeBinary},
      {"bitpacked_for_non_neg", v2_0::ArrayKind::kBitpackedForNonNeg}};
  for (const auto& [name, kind] : arrays) {
    add("v2_0_" + name, [kind = kind](const PageInput& in) { return Page20(in, kind); });
  }
  for (Target& target : TableTargets()) out.push_back(std::move(target));
  return out;
}

}  // namespace

const std::vector<Target>& Targets() {
  static const auto* targets = new std::vector<Target>(MakeTargets());
  return *targets;
}

}  // namespace pilum::fuzz
