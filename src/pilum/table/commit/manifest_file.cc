#include "pilum/table/commit/manifest_file.h"

#include <chrono>

#include "pilum/base/bytes.h"
#include "pilum/io/local_file.h"
#include "pilum/io/local_folder.h"

namespace pilum {
namespace {

constexpr uint16_t kMajor = 0, kMinor = 2;

// A length of 32 bits, then so many bytes; where it begins.
Result<uint64_t> AddSection(const std::string& bytes, std::string* out) {
  if (bytes.size() > INT32_MAX) return Unsupported("a manifest whose messages are over 2 GiB; compact the table");
  const uint64_t at = out->size();
  AppendLE<uint32_t>(out, static_cast<uint32_t>(bytes.size()));
  *out += bytes;
  return at;
}

}  // namespace

void SignManifest(wire::Manifest* m) {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  const int64_t ns = std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
  m->mutable_timestamp()->set_seconds(ns / 1000000000);
  m->mutable_timestamp()->set_nanos(static_cast<int32_t>(ns % 1000000000));
  auto* writer = m->mutable_writer_version();
  writer->Clear();
  writer->set_library("pilum");
  writer->set_version(PILUM_VERSION);
}

Result<std::string> SerializeManifestFile(const wire::IndexSection& indices, const std::string& transaction,
                                          wire::Manifest* manifest) {
  std::string out;
  manifest->clear_index_section();
  if (indices.ByteSizeLong() > 0) {
    PILUM_ASSIGN_OR_RETURN(const uint64_t at, AddSection(SerializeWire(indices), &out));
    manifest->set_index_section(at);
  }
  // Writers before 14 have the place in field 21, and read the transaction's own file where that is not set.
  manifest->clear_transaction_section_before_14();
  PILUM_ASSIGN_OR_RETURN(const uint64_t transaction_at, AddSection(transaction, &out));
  manifest->set_transaction_section(transaction_at);
  PILUM_ASSIGN_OR_RETURN(const uint64_t manifest_at, AddSection(SerializeWire(*manifest), &out));
  AppendLE<uint64_t>(&out, manifest_at);
  AppendLE<uint16_t>(&out, kMajor);
  AppendLE<uint16_t>(&out, kMinor);
  return out + "LANC";
}

std::string TransactionName(const wire::Transaction& t) { return fmt::format("{}-{}.txn", t.read_version(), t.uuid()); }

Status PutUnsynced(ObjectStore* table, const std::string& path, const std::string& bytes) {
  PILUM_ASSIGN_OR_RETURN(auto sink, table->CreateUnsynced(path));
  PILUM_RETURN_NOT_OK(sink->Write(bytes.data(), bytes.size()));
  return sink->Close();
}

void PutHint(ObjectStore* table, uint64_t version) {
  if (table->cost().remote) return;
  const std::string text = fmt::format("{{\"version\":{}}}", version);
  // On a disk where it lies: a new file each time costs a commit a seventh of its CPU, for what is never believed.
  const auto folder = LocalFolder(*table, "_versions");
  if (folder && RefreshFile(*folder + "/latest_version_hint.json", text)) return;
  (void)PutUnsynced(table, "_versions/latest_version_hint.json", text);
}

}  // namespace pilum
