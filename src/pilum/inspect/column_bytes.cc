#include "pilum/inspect/column_bytes.h"

#include <map>

#include <arrow/type.h>

namespace pilum {
namespace {

bool Stops(const Status& status) {
  const ErrorKind kind = KindOf(status);
  return kind == ErrorKind::kCancelled || kind == ErrorKind::kDeadline || kind == ErrorKind::kMemory;
}

Status Measure(const Table& table, const DataFile& file, std::map<std::string, uint64_t>* bytes, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto view, table.columns().ViewOf(file));
  if (view->schema->num_fields() == 0) return Status::OK();
  PILUM_ASSIGN_OR_RETURN(auto source, table.files().OpenData(file, ctx));
  PILUM_ASSIGN_OR_RETURN(auto reader, FileReader::OpenView(std::move(source), *view, ctx));
  std::map<std::string, std::string> top_level;  // by leaf name
  for (const LeafColumn& leaf : reader->leaf_columns()) {
    top_level[leaf.name] = reader->schema()->field(leaf.top_level)->name();
  }
  for (const ColumnInfo& column : reader->Columns()) (*bytes)[top_level[column.name]] += column.bytes;
  return Status::OK();
}

}  // namespace

Result<MeasuredColumns> MeasureColumns(const Table& table, uint64_t most, ReadContext& given) {
  ReadContext ctx = given;
  ctx.allow_unstable = true;  // as tables are read
  MeasuredColumns out;
  std::vector<const DataFile*> files;
  for (const Fragment& f : table.manifest().fragments) {
    for (const DataFile& file : f.files) files.push_back(&file);
  }
  out.files = files.size();
  std::map<std::string, uint64_t> bytes;
  const size_t every = files.size() <= most ? 1 : (files.size() + most - 1) / most;
  for (size_t i = 0; i < files.size(); i += every) {
    PILUM_RETURN_NOT_OK(ctx.Check());
    if (files[i]->is_legacy()) continue;
    const Status st = Measure(table, *files[i], &bytes, ctx);
    if (Stops(st)) return st;
    out.measured += st.ok();
  }
  for (const auto& field : table.schema()->fields()) {
    const auto at = bytes.find(field->name());
    out.columns.push_back({field->name(), field->type()->ToString(), at == bytes.end() ? 0 : at->second});
  }
  return out;
}

}  // namespace pilum
