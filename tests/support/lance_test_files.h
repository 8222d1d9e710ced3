// For tests of the file layer: where test files lie, and comparing schemas and tables with what the peer
// returned.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <arrow/api.h>
#include <arrow/extension_type.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>

#include "pilum/base/status.h"
#include "pilum/file/schema_wire.h"
#include "tests/support/paths/source_dir.h"

namespace pilum::testing {

inline std::string GoldenDir() { return SourceDir() + "/tests/golden"; }

// The big corpus beside the checkout; empty where there is none.
inline std::string CorpusDir() {
  std::vector<std::string> candidates = {SourceDir() + "/../shared"};
  if (const char* s = std::getenv("PILUM_SHARED")) candidates.insert(candidates.begin(), s);
  for (const auto& c : candidates) {
    if (std::filesystem::exists(c + "/fixtures/file")) return c + "/fixtures/file";
  }
  return "";
}

inline std::vector<std::string> LanceFilesIn(const std::string& dir) {
  std::vector<std::string> out;
  if (!std::filesystem::exists(dir)) return out;
  for (const auto& e : std::filesystem::directory_iterator(dir)) {
    if (e.path().extension() == ".lance") out.push_back(e.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

inline Result<std::string> ReadBytes(const std::string& path) {
  PILUM_ASSIGN_OR_RETURN(auto file, arrow::io::ReadableFile::Open(path));
  PILUM_ASSIGN_OR_RETURN(int64_t size, file->GetSize());
  PILUM_ASSIGN_OR_RETURN(auto buffer, file->Read(size));
  return buffer->ToString();
}

// NAME.arrow beside NAME.lance: what the peer's reader returned.
inline Result<std::shared_ptr<arrow::Table>> ReadExpected(const std::string& lance_path) {
  std::string path = lance_path.substr(0, lance_path.size() - 6) + ".arrow";
  PILUM_ASSIGN_OR_RETURN(auto file, arrow::io::ReadableFile::Open(path));
  PILUM_ASSIGN_OR_RETURN(auto reader, arrow::ipc::RecordBatchFileReader::Open(file));
  return reader->ToTable();
}

// Arrow C++ turns the extension types that it knows into types; a Lance file gives storage and field metadata.
inline std::shared_ptr<arrow::Array> StorageOf(const std::shared_ptr<arrow::Array>& array) {
  if (array->type_id() != arrow::Type::EXTENSION) return array;
  return StorageOf(static_cast<const arrow::ExtensionArray&>(*array).storage());
}

inline Result<std::shared_ptr<arrow::Table>> StorageTable(const arrow::Table& table) {
  PILUM_ASSIGN_OR_RETURN(auto schema, StoredSchema(*table.schema()));
  std::vector<std::shared_ptr<arrow::ChunkedArray>> columns;
  for (int i = 0; i < table.num_columns(); ++i) {
    arrow::ArrayVector chunks;
    for (const auto& chunk : table.column(i)->chunks()) chunks.push_back(StorageOf(chunk));
    columns.push_back(std::make_shared<arrow::ChunkedArray>(chunks, schema->field(i)->type()));
  }
  return arrow::Table::Make(schema, columns, table.num_rows());
}

}  // namespace pilum::testing
