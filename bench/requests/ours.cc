// One read of a Lance file as if it lay in an object store: the file is loaded into a slow store in memory, opened anew for
// each job, and read; one JSON line a job says what was asked for and how long it took. Jobs are lines of the standard
// input: columns (comma-separated, or *), a tab, rows (comma-separated, or * for a scan). For requests_race.py.
//
//     pilum_requests FILE LATENCY_MS [THREADS]
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include <arrow/record_batch.h>
#include <arrow/table.h>

#include "pilum/file/file_reader.h"
#include "pilum/io/object_store.h"

namespace pilum {
namespace {

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> out;
  std::stringstream in(text);
  for (std::string item; std::getline(in, item, ',');) out.push_back(item);
  return out;
}

Result<int64_t> Scan(const FileReader& reader, const std::optional<std::vector<FieldPath>>& columns,
                     const ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto stream, reader.Read(columns, RowSet::All(reader.num_rows()), {65536}, ctx));
  for (int64_t rows = 0;;) {
    PILUM_ASSIGN_OR_RETURN(auto batch, stream->Next());
    if (!batch) return rows;
    rows += batch->num_rows();
  }
}

Result<int64_t> Run(const ObjectStore& store, const std::string& line, ReadContext ctx) {
  const size_t tab = line.find('\t');
  if (tab == std::string::npos) return UsageError("a job is columns, a tab, and rows");
  const std::string names = line.substr(0, tab), numbers = line.substr(tab + 1);
  std::optional<std::vector<FieldPath>> columns;
  if (names != "*") {
    columns.emplace();
    for (const std::string& name : Split(names)) columns->push_back({{name}});
  }
  PILUM_ASSIGN_OR_RETURN(auto source, store.OpenSource("file", ctx));
  PILUM_ASSIGN_OR_RETURN(auto reader, FileReader::Open(source, ctx));
  if (numbers == "*") return Scan(*reader, columns, ctx);
  std::vector<uint64_t> rows;
  for (const std::string& row : Split(numbers)) rows.push_back(std::strtoull(row.c_str(), nullptr, 10));
  PILUM_ASSIGN_OR_RETURN(auto table, reader->Take(columns, rows, ctx));
  return table->num_rows();
}

Status Main(const std::string& path, int latency_ms, int threads) {
  auto slow = std::make_shared<SlowReads>();
  slow->latency = std::chrono::milliseconds(latency_ms);
  auto store = ObjectStore::SlowMemory("memory:", slow);
  std::ifstream file(path, std::ios::binary);  // a copy: PutFileIfAbsent would take the file away
  std::stringstream bytes;
  bytes << file.rdbuf();
  if (!file) return UsageError("{}: cannot be loaded", path);
  PILUM_RETURN_NOT_OK(store->PutIfAbsent("file", bytes.view()).status());
  for (std::string line; std::getline(std::cin, line);) {
    ReadStats stats;
    ReadContext ctx;
    ctx.stats = &stats;
    ctx.threads = threads;
    const auto start = std::chrono::steady_clock::now();
    PILUM_ASSIGN_OR_RETURN(int64_t rows, Run(*store, line, ctx));
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    std::cout << fmt::format("{{\"rows\": {}, \"requests\": {}, \"bytes\": {}, \"wall\": {:.3f}}}", rows,
                             stats.requests.load(), stats.bytes.load(), wall.count())
              << std::endl;
  }
  return Status::OK();
}

}  // namespace
}  // namespace pilum

int main(int argc, char** argv) {
  if (argc < 3) return std::cerr << "usage: pilum_requests FILE LATENCY_MS [THREADS]\n", 2;
  const pilum::Status st = pilum::Main(argv[1], std::atoi(argv[2]), argc > 3 ? std::atoi(argv[3]) : 2);
  if (!st.ok()) std::cerr << st.message() << "\n";
  return st.ok() ? 0 : 1;
}
