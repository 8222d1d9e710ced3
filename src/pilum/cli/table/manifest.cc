// pilum table manifest: the anatomy of the file of one version, its sections and every field of its message.
#include <algorithm>

#include "pilum/cli/table/verb.h"
#include "pilum/cli/table/verbs.h"
#include "pilum/table/history.h"
#include "pilum/table/message_json.h"

namespace pilum::cli {
namespace {

constexpr uint64_t kFooter = 16;    // bytes: u64 position, u16 major, u16 minor, magic
constexpr size_t kMostValue = 100;  // characters of a value in a line

struct ManifestArgs : TableArgs {
  std::string at;
};

struct Section {
  std::string name;
  uint64_t offset = 0, length = 0;  // with the four bytes of its size
  std::string what;                 // in words
};

struct Anatomy {
  ManifestFile file;
  std::unique_ptr<VersionRecord> record;
  std::vector<Section> sections;  // by offset, gaps too
  std::vector<FieldShare> shares;
  Json fields, indices, transaction;  // null: there is no such section
  std::string footer;                 // its bytes
};

Result<std::string> Bytes(const ByteSource& source, ByteRange range, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto buffer, source.ReadRange(range, ctx));
  return buffer->ToString();
}

// A section that a field points to, decoded; one that is damaged is told with what is wrong with it.
Status AddSection(const char* name, std::optional<uint64_t> at, TableMessage kind, std::string what, Anatomy* out,
                  Json* decoded, ReadContext& ctx) {
  if (!at) return Status::OK();
  auto message = ReadManifestSection(*out->file.source, *at, ctx);
  if (!message.ok()) {
    out->sections.push_back({name, *at, 4, "damaged: " + message.status().message()});
    return KindOf(message.status()) == ErrorKind::kCorrupt ? Status::OK() : message.status();
  }
  auto json = MessageToJson(*message, kind);
  if (json.ok()) *decoded = std::move(*json);
  out->sections.push_back({name, *at, message->size() + 4, json.ok() ? std::move(what) : "damaged: it does not parse"});
  return Status::OK();
}

void AddGaps(uint64_t size, std::vector<Section>* sections) {
  std::stable_sort(sections->begin(), sections->end(),
                   [](const Section& a, const Section& b) { return a.offset < b.offset; });
  std::vector<Section> out;
  uint64_t end = 0;
  for (Section& s : *sections) {
    if (s.offset > end) out.push_back({"(nothing)", end, s.offset - end, "no field points here"});
    end = std::max(end, s.offset + s.length);
    out.push_back(std::move(s));
  }
  if (end < size) out.push_back({"(nothing)", end, size - end, "no field points here"});
  *sections = std::move(out);
}

std::string ManifestWords(const Manifest& m) {
  const uint64_t files = TotalsOf(m).data_files;
  return fmt::format("{} with {}, {}", Plural(m.fragments.size(), "fragment"), Plural(files, "data file"),
                     Plural(m.schema.fields.size(), "field"));
}

Result<Anatomy> Look(const Table& table, ReadContext& ctx) {
  Anatomy out;
  PILUM_ASSIGN_OR_RETURN(out.file, ReadManifestFile(table.store(), table.listed(), ctx));
  PILUM_ASSIGN_OR_RETURN(auto history, History::Open(table, 1, ctx));
  PILUM_ASSIGN_OR_RETURN(out.record, history->Next(ctx));
  const Manifest& m = *out.file.manifest;
  PILUM_RETURN_NOT_OK(AddSection("index section", m.indices, TableMessage::kIndexSection,
                                 Plural(out.file.indices.size(), "index segment"), &out, &out.indices, ctx));
  const std::string words = out.record ? out.record->words : std::string();
  PILUM_RETURN_NOT_OK(
      AddSection("transaction", m.transaction, TableMessage::kTransaction, words, &out, &out.transaction, ctx));
  out.sections.push_back({"manifest", m.section.offset - 4, m.section.size + 4, ManifestWords(m)});
  PILUM_ASSIGN_OR_RETURN(out.footer, Bytes(*out.file.source, {m.file_size - kFooter, kFooter}, ctx));
  const auto number = [&](size_t i) {
    return static_cast<uint8_t>(out.footer[i]) | static_cast<uint8_t>(out.footer[i + 1]) << 8;
  };
  out.sections.push_back(
      {"footer", m.file_size - kFooter, kFooter,
       fmt::format("manifest at {}, version {}.{}, LANC", m.section.offset - 4, number(8), number(10))});
  AddGaps(m.file_size, &out.sections);
  PILUM_ASSIGN_OR_RETURN(out.shares, FieldShares(m.message, TableMessage::kManifest));
  PILUM_ASSIGN_OR_RETURN(out.fields, MessageToJson(m.message, TableMessage::kManifest));
  return out;
}

double Share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

Result<int> PrintAsJson(const Table& table, const Anatomy& a) {
  const uint64_t size = a.file.manifest->file_size;
  Json j = JsonHead(table);
  j["file"] = a.file.listed.path();
  j["bytes"] = size;
  j["sections"] = Json::array();
  for (const Section& s : a.sections) {
    j["sections"].push_back({{"section", s.name},
                             {"offset", s.offset},
                             {"length", s.length},
                             {"share", Share(s.length, size) / 100},
                             {"what", s.what}});
  }
  j["message"] = Json::array();
  for (const FieldShare& f : a.shares) {
    j["message"].push_back({{"field", f.number},
                            {"name", f.name.empty() ? Json() : Json(f.name)},
                            {"count", f.count},
                            {"bytes", f.bytes}});
  }
  j["fields"] = a.fields;
  j["index_section"] = a.indices;
  j["transaction"] = a.transaction;
  return PrintJson(j);
}

// Of a list: names of its items, or their ids.
std::string ItemsText(const Json& items) {
  std::string names;
  std::vector<uint64_t> ids;
  for (const Json& one : items) {
    if (one.is_object() && one.contains("name") && one["name"].is_string()) {
      names += (names.empty() ? "" : ", ") + one["name"].get<std::string>();
    } else if (one.is_object() && one.contains("id") && one["id"].is_number_integer()) {
      ids.push_back(one["id"].get<uint64_t>());
    }
    if (names.size() > kMostValue) break;
  }
  std::sort(ids.begin(), ids.end());
  return names.empty() && !ids.empty() ? RangesText(RowSet::FromSorted(ids)) : names;
}

// A field's value in a line.
std::string ValueText(const Json& value) {
  std::string out;
  if (value.is_string()) {
    out = value.get<std::string>();
  } else if (value.is_object()) {
    for (const auto& [key, one] : value.items()) {
      if (out.size() > kMostValue) break;
      out += fmt::format(
          "{}{}={}", out.empty() ? "" : ", ", key,
          one.is_string() ? one.get<std::string>() : one.dump(-1, ' ', false, Json::error_handler_t::replace));
    }
  } else {
    out = value.is_array() ? ItemsText(value) : value.dump();
  }
  for (char& c : out) c = static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  return out;
}

// What is said of a field beside its bytes.
std::string FieldText(const FieldShare& f, const Anatomy& a) {
  const Manifest& m = *a.file.manifest;
  if (f.name == "timestamp") return TimeText(m.timestamp_ns);
  if (f.name == "writer_version") return m.writer;
  if (f.name == "reader_feature_flags") return FlagsText(m.reader_flags);
  if (f.name == "writer_feature_flags") return FlagsText(m.writer_flags);
  if (f.name == "index_section" || f.name.starts_with("transaction_section")) {
    return "at offset " + a.fields.value(f.name, Json()).dump();
  }
  if (f.name.empty()) {
    for (const Json& one : a.fields.value("unknown", Json::array())) {
      if (one["number"] != f.number) continue;
      return "not known here: " + (one.contains("value") ? one["value"].dump() : one["begins"].get<std::string>());
    }
  }
  const auto at = a.fields.find(f.name);
  return at == a.fields.end() ? "" : ValueText(*at);
}

Result<int> ShowManifest(const ManifestArgs& given) {
  ManifestArgs args = given;
  PILUM_RETURN_NOT_OK(TakeVersion(args.at, &args.version));
  PILUM_ASSIGN_OR_RETURN(auto opened, OpenFor(args));
  PILUM_ASSIGN_OR_RETURN(const Anatomy a, Look(*opened.table, opened.ctx()));
  if (args.json) return PrintAsJson(*opened.table, a);
  const Manifest& m = *a.file.manifest;
  PILUM_RETURN_NOT_OK(Print(Lines({{"file", a.file.listed.path()},
                                   {"bytes", Thousands(m.file_size)},
                                   {"made by", a.record && a.record->damage.ok() ? a.record->words : std::string()}}) +
                            "\n"));
  Grid sections({{"section", ""}, {"offset", "", true}, {"length", "", true}, {"share", "", true}, {"what", ""}},
                GridStyle::ForStdout());
  for (const Section& s : a.sections) {
    PILUM_RETURN_NOT_OK(sections.Add({{s.name},
                                      {Thousands(s.offset)},
                                      {Thousands(s.length)},
                                      {fmt::format("{:.1f} %", Share(s.length, m.file_size))},
                                      {s.what}}));
  }
  PILUM_RETURN_NOT_OK(sections.Finish());
  PILUM_RETURN_NOT_OK(Print("\n"));
  Grid fields({{"field", "", true}, {"of the manifest", ""}, {"times", "", true}, {"bytes", "", true}, {"value", ""}},
              GridStyle::ForStdout());
  for (const FieldShare& f : a.shares) {
    PILUM_RETURN_NOT_OK(fields.Add({{fmt::format("{}", f.number)},
                                    {f.name.empty() ? "(unknown)" : f.name},
                                    {Thousands(f.count)},
                                    {Thousands(f.bytes)},
                                    {FieldText(f, a)}}));
  }
  PILUM_RETURN_NOT_OK(fields.Finish());
  return kExitOk;
}

}  // namespace

void AddManifestVerb(CLI::App* group, Action* action) {
  auto verb =
      AddVerb<ManifestArgs>(group, "manifest", "The anatomy of a version's manifest: sections, offsets, every field",
                            "pilum table manifest flights.lance 7", action, ShowManifest);
  verb.command->add_option("at", verb.args->at, "The version, as --version")->type_name("VERSION");
}

}  // namespace pilum::cli
