#include "pilum/table/transaction.h"

#include <arrow/buffer.h>

#include "lance_table.pb.h"
#include "pilum/file/quiet_protobuf.h"

namespace pilum {
namespace {

constexpr uint64_t kMaxTransaction = uint64_t{1} << 30;  // bytes

using Op = wire::Transaction;

// Facts of one operation. Counts of nothing are left out.
class Facts {
 public:
  explicit Facts(Transaction* out) : out_(out) {}
  void Name(std::string operation) { out_->operation = std::move(operation); }
  void Count(const char* name, int64_t n) {
    if (n > 0) out_->facts.emplace_back(name, fmt::format("{}", n));
  }
  void Text(const char* name, const std::string& text) {
    if (!text.empty()) out_->facts.emplace_back(name, text);
  }

 private:
  Transaction* out_;
};

void Tell(const Op::Append& op, Facts* f) {
  f->Name("Append");
  f->Count("fragments", op.fragments_size());
}

void Tell(const Op::Delete& op, Facts* f) {
  f->Name("Delete");
  f->Text("predicate", op.predicate());
  f->Count("updated_fragments", op.updated_fragments_size());
  f->Count("deleted_fragments", op.deleted_fragment_ids_size());
}

void Tell(const Op::Overwrite& op, Facts* f) {
  f->Name("Overwrite");
  f->Count("fragments", op.fragments_size());
  f->Count("fields", op.schema_size());
}

void Tell(const Op::CreateIndex& op, Facts* f) {
  f->Name("CreateIndex");
  for (const auto& index : op.new_indices()) f->Text("new_index", index.name());
  for (const auto& index : op.removed_indices()) f->Text("removed_index", index.name());
}

void Tell(const Op::Rewrite& op, Facts* f) {
  f->Name("Rewrite");
  int64_t before = op.old_fragments_size(), after = op.new_fragments_size();
  for (const auto& group : op.groups()) before += group.old_fragments_size(), after += group.new_fragments_size();
  f->Count("old_fragments", before);
  f->Count("new_fragments", after);
  f->Count("rewritten_indices", op.rewritten_indices_size());
}

void Tell(const Op::Merge& op, Facts* f) {
  f->Name("Merge");
  f->Count("fragments", op.fragments_size());
  f->Count("fields", op.schema_size());
}

void Tell(const Op::Update& op, Facts* f) {
  f->Name("Update");
  f->Text("mode", op.update_mode() == 1 ? "rewrite columns" : "rewrite rows");
  f->Count("new_fragments", op.new_fragments_size());
  f->Count("updated_fragments", op.updated_fragments_size());
  f->Count("removed_fragments", op.removed_fragment_ids_size());
}

void Tell(const char* name, const Op::UpdateMap& map, Facts* f) {
  for (const auto& entry : map.entries()) {
    f->Text(name, entry.has_value() ? entry.key() + "=" + entry.value() : entry.key() + " removed");
  }
}

void Tell(const Op::UpdateConfig& op, Facts* f) {
  f->Name("UpdateConfig");
  Tell("config", op.config_updates(), f);
  Tell("table_metadata", op.table_metadata_updates(), f);
  Tell("schema_metadata", op.schema_metadata_updates(), f);
  f->Count("fields_with_metadata", static_cast<int64_t>(op.field_metadata_updates_size()));
  f->Count("config", static_cast<int64_t>(op.old_upsert_values_size()));
  f->Count("config_removed", op.old_delete_keys_size());
}

void Tell(const Op::Clone& op, Facts* f) {
  f->Name("Clone");
  f->Text("kind", op.is_shallow() ? "shallow" : "deep");
  f->Text("of", op.ref_path());
  f->Count("of_version", static_cast<int64_t>(op.ref_version()));
  f->Text("of_ref", op.ref_name());
  f->Text("branch", op.branch_name());
}

void Tell(const Op& t, Facts* f) {
  switch (t.operation_case()) {
    case Op::kAppend: return Tell(t.append(), f);
    case Op::kDelete: return Tell(t.delete_(), f);
    case Op::kOverwrite: return Tell(t.overwrite(), f);
    case Op::kCreateIndex: return Tell(t.create_index(), f);
    case Op::kRewrite: return Tell(t.rewrite(), f);
    case Op::kMerge: return Tell(t.merge(), f);
    case Op::kUpdate: return Tell(t.update(), f);
    case Op::kUpdateConfig: return Tell(t.update_config(), f);
    case Op::kClone: return Tell(t.clone(), f);
    case Op::kRestore: f->Name("Restore"); return f->Count("version", static_cast<int64_t>(t.restore().version()));
    case Op::kReserveFragments:
      f->Name("ReserveFragments");
      return f->Count("fragments", t.reserve_fragments().num_fragments());
    case Op::kProject: f->Name("Project"); return f->Count("fields", t.project().schema_size());
    case Op::kDataReplacement:
      f->Name("DataReplacement");
      return f->Count("replacements", t.data_replacement().replacements_size());
    case Op::kUpdateBases: f->Name("UpdateBases"); return f->Count("bases", t.update_bases().new_bases_size());
    case Op::kUpdateMemWalState: return f->Name("UpdateMemWalState");
    case Op::kDataOverlay: return f->Name("DataOverlay");
    default: return f->Name("Unknown");
  }
}

}  // namespace

Result<Transaction> ParseTransaction(std::string_view message) {
  QuietProtobuf();
  Op t;
  if (message.size() > INT32_MAX || !t.ParseFromArray(message.data(), static_cast<int>(message.size()))) {
    return MakeError(ErrorKind::kCorrupt, "the transaction message does not parse");
  }
  Transaction out;
  out.read_version = t.read_version();
  out.uuid = t.uuid();
  out.tag = t.tag();
  out.properties.insert(t.transaction_properties().begin(), t.transaction_properties().end());
  Facts facts(&out);
  Tell(t, &facts);
  return out;
}

Result<std::string> ReadTransactionFile(const ByteSource& source, ReadContext& ctx) {
  if (source.size() > kMaxTransaction) return Corrupt(source.name(), "", "too large for a transaction");
  PILUM_ASSIGN_OR_RETURN(auto bytes, source.ReadRange({0, source.size()}, ctx));
  return bytes->ToString();
}

Result<std::optional<TransactionBytes>> ReadTransactionBytes(const ReadOnlyStore& store, const ByteSource& source,
                                                             const Manifest& manifest, ReadContext& ctx) {
  Status damaged;
  if (manifest.transaction) {
    auto message = ReadManifestSection(source, *manifest.transaction, ctx);
    if (!message.ok() && KindOf(message.status()) != ErrorKind::kCorrupt) return message.status();
    const Status parsed = message.ok() ? ParseTransaction(*message).status() : message.status();
    if (parsed.ok()) return std::optional(TransactionBytes{std::move(*message), "", manifest.transaction});
    damaged = message.ok() ? WithContext(source.name(), parsed) : parsed;
  }
  // The same message lies in a file of its own, which older writers rely on.
  const auto none = [&]() -> Result<std::optional<TransactionBytes>> {
    if (damaged.ok()) return std::optional<TransactionBytes>();
    return damaged;
  };
  if (manifest.transaction_file.empty()) return none();
  const std::string path = "_transactions/" + manifest.transaction_file;
  auto file = store.OpenSource(path, ctx);
  if (!file.ok() && (KindOf(file.status()) == ErrorKind::kNotFound || !damaged.ok())) return none();
  PILUM_RETURN_NOT_OK(file.status());
  PILUM_ASSIGN_OR_RETURN(std::string message, ReadTransactionFile(**file, ctx));
  const Status parsed = ParseTransaction(message).status();
  if (!parsed.ok()) return WithContext((*file)->name(), parsed);
  return std::optional(TransactionBytes{std::move(message), path, std::nullopt});
}

Result<std::optional<Transaction>> ReadTransaction(const ReadOnlyStore& store, const ByteSource& source,
                                                   const Manifest& manifest, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto bytes, ReadTransactionBytes(store, source, manifest, ctx));
  if (!bytes) return std::optional<Transaction>();
  PILUM_ASSIGN_OR_RETURN(Transaction out, ParseTransaction(bytes->message));
  return std::optional(std::move(out));
}

}  // namespace pilum
