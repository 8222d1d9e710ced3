// pilum table txn: one transaction in words and in full.
#include <algorithm>
#include <charconv>

#include "pilum/cli/table/verb.h"
#include "pilum/cli/table/verbs.h"
#include "pilum/io/object_store.h"
#include "pilum/table/change_words.h"
#include "pilum/table/find_version.h"
#include "pilum/table/history.h"
#include "pilum/table/message_json.h"

namespace pilum::cli {
namespace {

constexpr uint64_t kSought = 64;  // versions after the one that was read, among which the one it made is looked for

struct TxnArgs : TableArgs {
  std::string at;
};

struct Found {
  std::string message, place;    // where it lies, in words
  std::optional<uint64_t> made;  // the version; nullopt: none that is known
  std::string words;
};

// "6-uuid.txn" is made for a version after 6: the manifest that names it.
Result<std::unique_ptr<VersionRecord>> FindMade(const TxnArgs& args, const Table& table, const std::string& name,
                                                ReadContext& ctx) {
  uint64_t read = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), read);
  if (error != std::errc() || *end != '-') return nullptr;
  PILUM_ASSIGN_OR_RETURN(auto listed, ListVersions(table.store(), ctx));
  auto candidates = listed.attached;
  candidates.insert(candidates.end(), listed.detached.begin(), listed.detached.end());
  uint64_t sought = 0;
  for (const ListedVersion& v : candidates) {
    const bool detached = (v.name.version & kDetachedBit) != 0;
    if ((!detached && v.name.version <= read) || ++sought > kSought) continue;
    auto manifest = ReadListed(table.store(), v, ctx);
    if (!manifest.ok() || (*manifest)->transaction_file != name) continue;
    VersionOptions version{fmt::format("{}", v.name.version), table.branch()};
    PILUM_ASSIGN_OR_RETURN(auto at, OpenTable(args.table, version, ctx));
    PILUM_ASSIGN_OR_RETURN(auto history, History::Open(*at, 1, ctx));
    return history->Next(ctx);
  }
  return nullptr;
}

// A file of _transactions/ by its name, or any file by its path.
Result<Found> OfFile(const TxnArgs& args, const Table& table, ReadContext& ctx) {
  Found out;
  const bool is_path = args.at.find('/') != args.at.npos;
  const std::string own = "_transactions/" + args.at;
  PILUM_ASSIGN_OR_RETURN(auto source, is_path ? OpenFileOrObject(args.at, ctx) : table.store().OpenSource(own, ctx));
  PILUM_ASSIGN_OR_RETURN(out.message, ReadTransactionFile(*source, ctx));
  out.place = is_path ? args.at : own;
  auto parsed = ParseTransaction(out.message);
  if (!parsed.ok()) return WithContext(source->name(), parsed.status());
  PILUM_ASSIGN_OR_RETURN(auto record, FindMade(args, table, args.at.substr(args.at.rfind('/') + 1), ctx));
  if (record && record->damage.ok()) {
    out.made = record->listed.name.version;
    out.words = record->words;
  } else {
    VersionRecord alone;
    alone.transaction = std::move(*parsed);
    out.words = ChangeWords(alone);
  }
  return out;
}

Result<Found> OfVersion(const Table& table, ReadContext& ctx) {
  Found out;
  PILUM_ASSIGN_OR_RETURN(auto file, ReadManifestFile(table.store(), table.listed(), ctx));
  PILUM_ASSIGN_OR_RETURN(auto bytes, ReadTransactionBytes(table.store(), *file.source, *file.manifest, ctx));
  if (!bytes) {
    return NotFoundError(
        "{}: version {} has no transaction: neither in its manifest nor as a file{}; `pilum table log` "
        "tells what manifests do",
        table.uri(), file.manifest->version,
        file.manifest->transaction_file.empty() ? "" : " _transactions/" + file.manifest->transaction_file);
  }
  out.message = std::move(bytes->message);
  out.place = bytes->place ? fmt::format("{}, offset {}", file.listed.path(), *bytes->place) : bytes->file;
  out.made = file.manifest->version;
  PILUM_ASSIGN_OR_RETURN(auto history, History::Open(table, 1, ctx));
  PILUM_ASSIGN_OR_RETURN(auto record, history->Next(ctx));
  if (record) out.words = record->words;
  return out;
}

bool IsPlain(const Json& value) {
  if (!value.is_structured()) return true;
  return value.is_array() && std::all_of(value.begin(), value.end(), [](const Json& v) { return !v.is_structured(); });
}

std::string PlainText(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::string out;
  for (const Json& v : value) out += (out.empty() ? "" : ", ") + PlainText(v);
  return out.empty() ? "none" : out;
}

// Objects as lines of "name value", what is in them two columns further in; each of a list begins with a dash.
void AppendTree(const Json& object, size_t indent, bool item, std::string* out) {
  size_t width = 0;
  for (const auto& [key, value] : object.items()) width = IsPlain(value) ? std::max(width, key.size()) : width;
  bool first = item;
  for (const auto& [key, value] : object.items()) {
    *out += std::string(first ? indent - 2 : indent, ' ') + (first ? "- " : "");
    first = false;
    if (IsPlain(value)) {
      *out += fmt::format("{:<{}}  {}\n", key, width, PlainText(value));
      continue;
    }
    *out += fmt::format("{}{}\n", key, value.is_array() ? fmt::format(" ({})", value.size()) : std::string());
    if (value.is_object()) AppendTree(value, indent + 2, false, out);
    for (const Json& one : value.is_array() ? value : Json::array()) {
      if (one.is_object()) {
        AppendTree(one, indent + 4, true, out);
      } else {
        *out += std::string(indent + 2, ' ') + "- " + PlainText(one) + "\n";
      }
    }
  }
  if (first) *out += std::string(indent - 2, ' ') + "- (empty)\n";
}

Result<int> ShowTxn(const TxnArgs& given) {
  TxnArgs args = given;
  const bool is_file = args.at.ends_with(".txn");
  if (!is_file) PILUM_RETURN_NOT_OK(TakeVersion(args.at, &args.version));
  PILUM_ASSIGN_OR_RETURN(auto opened, OpenFor(args));
  PILUM_ASSIGN_OR_RETURN(const Found found,
                         is_file ? OfFile(args, *opened.table, opened.ctx()) : OfVersion(*opened.table, opened.ctx()));
  PILUM_ASSIGN_OR_RETURN(const Json decoded, MessageToJson(found.message, TableMessage::kTransaction));
  PILUM_ASSIGN_OR_RETURN(const Transaction t, ParseTransaction(found.message));
  if (args.json) {
    Json j = JsonHead(*opened.table);
    j["version"] = OrNull(found.made);
    j["place"] = found.place;
    j["bytes"] = found.message.size();
    j["operation"] = t.operation;
    j["what"] = found.words;
    j["transaction"] = decoded;
    return PrintJson(j);
  }
  PILUM_RETURN_NOT_OK(
      Print(Lines({{"what", found.words},
                   {"operation", t.operation},
                   {"made", found.made ? fmt::format("version {}", *found.made) : "no version that is still there"},
                   {"place", found.place},
                   {"bytes", Thousands(found.message.size())}}) +
            "\n"));
  std::string tree;
  AppendTree(decoded, 0, false, &tree);
  PILUM_RETURN_NOT_OK(Print(tree));
  return kExitOk;
}

}  // namespace

void AddTxnVerb(CLI::App* group, Action* action) {
  auto verb = AddVerb<TxnArgs>(group, "txn", "A transaction in words and in full: that of a version, or a .txn file",
                               "pilum table txn flights.lance 7", action, ShowTxn);
  verb.command
      ->add_option("at", verb.args->at, "The version, as --version; or a file of _transactions/, or the path of one")
      ->type_name("VERSION|FILE");
}

}  // namespace pilum::cli
