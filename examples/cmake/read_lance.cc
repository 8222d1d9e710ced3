// read_lance FILE: rows, schema and the first rows of a Lance file, and what reading them cost. A Parquet file works too: it is
// read through ingest.
#include <iostream>

#include <arrow/api.h>

#include "pilum/file/file_reader.h"
#include "pilum/ingest/ingest.h"
#include "pilum/io/object_store.h"

namespace {

arrow::Status ReadLance(const std::string& path) {
  pilum::ReadStats stats;
  pilum::ReadContext ctx;
  ctx.stats = &stats;
  ARROW_ASSIGN_OR_RAISE(auto source, pilum::OpenLocalFile(path, ctx));
  ARROW_ASSIGN_OR_RAISE(auto file, pilum::FileReader::Open(source, ctx));
  std::cout << file->num_rows() << " rows\n" << file->schema()->ToString() << "\n";

  auto rows = pilum::RowSet::All(std::min<uint64_t>(3, file->num_rows()));
  ARROW_ASSIGN_OR_RAISE(auto stream, file->Read(std::nullopt, rows, pilum::BatchLimits(), ctx));
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(auto batch, stream->Next());
    if (!batch) break;
    std::cout << batch->ToString();
  }
  std::cout << stats.requests << " requests, " << stats.bytes << " bytes\n";
  return arrow::Status::OK();
}

arrow::Status ReadOther(const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(auto input, pilum::OpenInput(path, pilum::IngestOptions(), pilum::ReadContext()));
  ARROW_ASSIGN_OR_RAISE(auto table, input->ToTable());
  std::cout << table->num_rows() << " rows\n" << table->schema()->ToString() << "\n";
  return arrow::Status::OK();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: read_lance FILE\n";
    return 2;
  }
  const std::string path = argv[1];
  arrow::Status done = path.ends_with(".lance") ? ReadLance(path) : ReadOther(path);
  if (!done.ok()) std::cerr << done.ToString() << "\n";
  return done.ok() ? 0 : 1;
}
