// What a table keeps beside its data files: manifests, transactions, deletion files, sequences of row ids. And JSON.
#include <arrow/buffer.h>

#include "pilum/io/byte_source.h"
#include "pilum/table/deletions.h"
#include "pilum/table/indices.h"
#include "pilum/table/manifest.h"
#include "pilum/table/message_json.h"
#include "pilum/table/roaring.h"
#include "pilum/table/row_ids.h"
#include "pilum/table/table_schema.h"
#include "pilum/table/transaction.h"
#include "tests/fuzz/targets.h"
#include "tests/support/capped_pool.h"
#include "pilum/values/json_path.h"
#include "pilum/values/jsonb.h"
#include "pilum/values/jsonb_doc.h"

namespace pilum::fuzz {
namespace {

constexpr uint64_t kRows = 20000;            // of a fragment
constexpr int64_t kMostAtOnce = 64ll << 20;  // bytes

std::string_view View(const uint8_t* data, size_t size) { return {reinterpret_cast<const char*>(data), size}; }

int WholeManifest(const uint8_t* data, size_t size) {
  ReadContext ctx;
  auto source = MakeMemorySource("m", arrow::Buffer::FromString(std::string(View(data, size))));
  auto manifest = ReadManifest(*source, ctx);
  if (!manifest.ok()) return 0;
  if ((*manifest)->transaction) {
    auto section = ReadManifestSection(*source, *(*manifest)->transaction, ctx);
    if (section.ok()) (void)ParseTransaction(*section);
  }
  (void)MessageToJson((*manifest)->message, TableMessage::kManifest);
  auto indices = ReadIndexSection(*source, **manifest, ctx);
  for (const TableIndex& index : indices.ok() ? *indices : std::vector<TableIndex>()) {
    (void)LiveCoverage(index, *indices, **manifest);
    (void)IndexDetailsToJson(index.details_url, index.details);
  }
  auto schema = TableSchema::Make((*manifest)->schema);
  if (!schema.ok()) return 0;
  for (const Fragment& fragment : (*manifest)->fragments) {
    for (const DataFile& file : fragment.files) (void)(*schema)->ViewOf(file);
  }
  return 0;
}

int TransactionMessage(const uint8_t* data, size_t size) {
  (void)ParseTransaction(View(data, size));
  auto json = MessageToJson(View(data, size), TableMessage::kTransaction);
  if (json.ok() && json->dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace).empty()) std::abort();
  (void)ParseIndexSection(View(data, size));
  return 0;
}

int Deletions(const uint8_t* data, size_t size, DeletionFile::Kind kind) {
  test::CappedPool pool(kMostAtOnce);
  ReadContext ctx;
  ctx.pool = &pool;
  DeletionFile file;
  file.kind = kind;
  auto rows = ParseDeletions(file, arrow::Buffer::FromString(std::string(View(data, size))), kRows, ctx);
  if (pool.over()) std::abort();
  if (rows.ok() && !rows->empty() && rows->ranges().back().end > kRows) std::abort();
  return 0;
}

template <typename Sequence>
int RowNumbers(const uint8_t* data, size_t size) {
  for (const uint64_t rows : {uint64_t{10}, uint64_t{30}, uint64_t{300}}) {
    auto sequence = Sequence::Parse(View(data, size), rows);
    if (!sequence.ok()) continue;
    std::vector<uint64_t> ids;
    sequence->Append(RowSet::All(rows), &ids);
    if (ids.size() != rows) std::abort();
  }
  return 0;
}

// All nodes, as json_* functions walk them.
bool WalkJson(const JsonTree& doc, std::string* out) {
  std::vector<uint32_t> nodes = {0};
  for (size_t i = 0; i < nodes.size() && nodes.size() < 10000; ++i) {
    doc.AppendCompact(nodes[i], out);
    if (doc.kind(nodes[i]) == JsonKind::kString) *out += doc.StringOf(nodes[i]);
    if (const uint32_t m = doc.Member(nodes[i], "a"); m != JsonTree::kNone) doc.AppendCompact(m, out);
    if (const uint32_t e = doc.Element(nodes[i], 1); e != JsonTree::kNone) doc.AppendCompact(e, out);
    doc.AddChildren(nodes[i], &nodes);
    if (out->size() > (size_t{1} << 20)) return false;
  }
  return true;
}

// What is JSONB gives JSON, of which all may be asked; walked as it is, it gives the same.
int Jsonb(const uint8_t* data, size_t size) {
  std::string text;
  JsonbDoc stored;
  std::string walked;
  const bool whole = stored.Open(View(data, size)) && WalkJson(stored, &walked) && !stored.failed();
  if (!AppendJsonbText(View(data, size), &text).ok()) return 0;
  if (text.size() > 6 * size + 400) std::abort();
  JsonDoc doc;
  if (!doc.Parse(text).ok()) std::abort();
  std::string of_text;
  if (whole && WalkJson(doc, &of_text) && walked != of_text) std::abort();
  auto again = JsonbOfText(text);
  if (!again.ok()) return 0;  // two members of one name
  std::string same;
  if (!AppendJsonbText(*again, &same).ok()) std::abort();
  JsonDoc other;
  if (!other.Parse(same).ok()) std::abort();
  return 0;
}

// A path, a zero, and a document.
int Path(const uint8_t* data, size_t size) {
  const std::string_view bytes = View(data, size);
  const size_t zero = std::min(bytes.find('\0'), bytes.size());
  auto path = JsonPath::Parse(bytes.substr(0, zero));
  JsonDoc doc;
  const bool json = zero < bytes.size() && doc.Parse(bytes.substr(zero + 1)).ok();
  if (!path.ok() || !json) return 0;
  auto places = path->Select(doc);
  if (!places.ok()) return 0;
  std::string out;
  for (const uint32_t at : *places) {
    out.clear();
    doc.AppendCompact(at, &out);
  }
  return 0;
}

}  // namespace

std::vector<Target> TableTargets() {
  using Kind = DeletionFile::Kind;
  return {{"table_manifest", false, WholeManifest},
          {"table_transaction", false, TransactionMessage},
          {"table_deletions_arrow", false, [](auto* data, size_t n) { return Deletions(data, n, Kind::kArrowArray); }},
          {"table_deletions_bitmap", false, [](auto* data, size_t n) { return Deletions(data, n, Kind::kBitmap); }},
          {"table_row_ids", false, RowNumbers<RowIdSequence>},
          {"table_row_versions", false, RowNumbers<RowVersionSequence>},
          {"table_jsonb", false, Jsonb},
          {"json_path", false, Path}};
}

}  // namespace pilum::fuzz
