#include "pilum/python/transaction_parts.h"

#include <algorithm>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "pilum/python/run.h"
#include "pilum/python/transaction_convert.h"
#include "pilum/table/indices.h"
#include "pilum/table/roaring.h"

namespace nb = nanobind;

namespace pilum::python {
namespace {

template <typename T>
nb::object OrNone(bool has, const T& value) {
  return has ? nb::cast(value) : nb::object(nb::none());
}

nb::object Bytes(const std::string& s) { return nb::bytes(s.data(), s.size()); }

// A sequence is in place (bytes), in a file (path, offset, size), or nowhere (None).
nb::object ExternalToPython(const wire::ExternalFile& f) { return nb::make_tuple(f.path(), f.offset(), f.size()); }

void ExternalFromPython(nb::handle given, wire::ExternalFile* f) {
  f->set_path(nb::cast<std::string>(given[0]));
  f->set_offset(nb::cast<uint64_t>(given[1]));
  f->set_size(nb::cast<uint64_t>(given[2]));
}

nb::dict FileToPython(const wire::DataFile& f) {
  nb::dict out;
  out["path"] = f.path();
  out["fields"] = NumbersToPython(f.fields());
  out["column_indices"] = NumbersToPython(f.column_indices());
  out["file_major_version"] = f.file_major_version();
  out["file_minor_version"] = f.file_minor_version();
  out["file_size_bytes"] = OrNone(f.file_size_bytes() != 0, f.file_size_bytes());
  out["base_id"] = OrNone(f.has_base_id(), f.base_id());
  return out;
}

void FileFromPython(nb::handle given, wire::DataFile* f) {
  f->set_path(nb::cast<std::string>(given["path"]));
  NumbersFromPython(given["fields"], f->mutable_fields());
  NumbersFromPython(given["column_indices"], f->mutable_column_indices());
  f->set_file_major_version(nb::cast<uint32_t>(given["file_major_version"]));
  f->set_file_minor_version(nb::cast<uint32_t>(given["file_minor_version"]));
  if (!given["file_size_bytes"].is_none()) f->set_file_size_bytes(nb::cast<uint64_t>(given["file_size_bytes"]));
  if (!given["base_id"].is_none()) f->set_base_id(nb::cast<uint32_t>(given["base_id"]));
}

nb::object DeletionsToPython(const wire::DataFragment& fragment) {
  if (!fragment.has_deletion_file()) return nb::none();
  const auto& f = fragment.deletion_file();
  nb::dict out;
  out["read_version"] = f.read_version();
  out["id"] = f.id();
  out["file_type"] = f.file_type() == wire::DeletionFile::BITMAP ? "bitmap" : "array";
  out["num_deleted_rows"] = f.num_deleted_rows();
  out["base_id"] = OrNone(f.has_base_id(), f.base_id());
  return out;
}

void DeletionsFromPython(nb::handle given, wire::DeletionFile* f) {
  const auto type = nb::cast<std::string>(given["file_type"]);
  if (type != "array" && type != "bitmap") throw nb::value_error(("Invalid file type: " + type).c_str());
  f->set_file_type(type == "bitmap" ? wire::DeletionFile::BITMAP : wire::DeletionFile::ARROW_ARRAY);
  f->set_read_version(nb::cast<uint64_t>(given["read_version"]));
  f->set_id(nb::cast<uint64_t>(given["id"]));
  f->set_num_deleted_rows(nb::cast<uint64_t>(given["num_deleted_rows"]));
  if (!given["base_id"].is_none()) f->set_base_id(nb::cast<uint32_t>(given["base_id"]));
}

void SequencesToPython(const wire::DataFragment& f, nb::dict* out) {
  (*out)["row_id_meta"] = f.has_inline_row_ids()     ? Bytes(f.inline_row_ids())
                          : f.has_external_row_ids() ? ExternalToPython(f.external_row_ids())
                                                     : nb::object(nb::none());
  (*out)["created_at_version_meta"] = f.has_inline_created_at()     ? Bytes(f.inline_created_at())
                                      : f.has_external_created_at() ? ExternalToPython(f.external_created_at())
                                                                    : nb::object(nb::none());
  (*out)["last_updated_at_version_meta"] = f.has_inline_last_updated_at() ? Bytes(f.inline_last_updated_at())
                                           : f.has_external_last_updated_at()
                                               ? ExternalToPython(f.external_last_updated_at())
                                               : nb::object(nb::none());
}

template <typename Inline, typename External>
void SequenceFromPython(nb::handle given, Inline&& in_place, External&& in_file) {
  if (given.is_none()) return;
  if (nb::isinstance<nb::bytes>(given)) {
    *in_place() = BytesFromPython(given);
  } else {
    ExternalFromPython(given, in_file());
  }
}

void FragmentFromPython(nb::handle given, wire::DataFragment* f) {
  f->set_id(nb::cast<uint64_t>(given["id"]));
  for (nb::handle file : nb::iter(given["files"])) FileFromPython(file, f->add_files());
  f->set_physical_rows(nb::cast<uint64_t>(given["physical_rows"]));
  if (!given["deletion_file"].is_none()) DeletionsFromPython(given["deletion_file"], f->mutable_deletion_file());
  SequenceFromPython(
      given["row_id_meta"], [&] { return f->mutable_inline_row_ids(); }, [&] { return f->mutable_external_row_ids(); });
  SequenceFromPython(
      given["created_at_version_meta"], [&] { return f->mutable_inline_created_at(); },
      [&] { return f->mutable_external_created_at(); });
  SequenceFromPython(
      given["last_updated_at_version_meta"], [&] { return f->mutable_inline_last_updated_at(); },
      [&] { return f->mutable_external_last_updated_at(); });
}

nb::dict IndexToPython(const wire::IndexMetadata& i) {
  nb::dict out;
  out["uuid"] = UuidToText(i.uuid());
  out["name"] = i.name();
  out["fields"] = NumbersToPython(i.fields());
  out["dataset_version"] = i.dataset_version();
  nb::object ids = nb::list();
  if (!i.fragment_bitmap().empty()) ids = nb::cast(Unwrap(ParseRoaring32(i.fragment_bitmap())).ToVector());
  out["fragment_ids"] = ids;
  out["index_version"] = i.index_version();
  out["created_at"] = OrNone(i.has_created_at(), i.created_at());
  out["base_id"] = OrNone(i.has_base_id(), i.base_id());
  nb::list files;
  for (const auto& f : i.files()) files.append(nb::make_tuple(f.path(), f.size_bytes()));
  out["files"] = OrNone(i.files_size() > 0, files);
  out["index_details"] =
      i.has_index_details() ? nb::object(nb::make_tuple(i.index_details().type_url(), Bytes(i.index_details().value())))
                            : nb::object(nb::none());
  return out;
}

void IndexFromPython(nb::handle given, wire::IndexMetadata* i) {
  *i->mutable_uuid() = UuidFromText(nb::cast<std::string>(given["uuid"]));
  i->set_name(nb::cast<std::string>(given["name"]));
  NumbersFromPython(given["fields"], i->mutable_fields());
  i->set_dataset_version(nb::cast<uint64_t>(given["dataset_version"]));
  auto ids = nb::cast<std::vector<uint64_t>>(given["fragment_ids"]);
  std::sort(ids.begin(), ids.end());
  if (!ids.empty() && ids.back() > UINT32_MAX) throw nb::value_error("ids of fragments have 32 bits");
  i->set_fragment_bitmap(SerializeRoaring32(RowSet::FromSorted(ids)));
  i->set_index_version(nb::cast<int32_t>(given["index_version"]));
  if (!given["created_at"].is_none()) i->set_created_at(nb::cast<uint64_t>(given["created_at"]));
  if (!given["base_id"].is_none()) i->set_base_id(nb::cast<uint32_t>(given["base_id"]));
  if (!given["files"].is_none()) {
    for (nb::handle f : nb::iter(given["files"])) {
      auto* file = i->add_files();
      file->set_path(nb::cast<std::string>(f[0]));
      file->set_size_bytes(nb::cast<uint64_t>(f[1]));
    }
  }
  if (given["index_details"].is_none()) return;
  i->mutable_index_details()->set_type_url(nb::cast<std::string>(given["index_details"][0]));
  i->mutable_index_details()->set_value(BytesFromPython(given["index_details"][1]));
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace

std::string BytesFromPython(nb::handle bytes) {
  const auto held = nb::cast<nb::bytes>(bytes);
  return std::string(static_cast<const char*>(held.data()), held.size());
}

std::string UuidToText(const wire::Uuid& uuid) { return UuidText(uuid.uuid()); }

wire::Uuid UuidFromText(const std::string& text) {
  std::string bytes;
  int high = -1;
  for (const char c : text) {
    if (c == '-') continue;
    const int digit = HexDigit(c);
    if (digit < 0) throw nb::value_error(("not a UUID: " + text).c_str());
    if (high >= 0) bytes.push_back(static_cast<char>(high * 16 + digit));
    high = high >= 0 ? -1 : digit;
  }
  if (bytes.size() != 16 || high >= 0) throw nb::value_error(("not a UUID: " + text).c_str());
  wire::Uuid out;
  out.set_uuid(bytes);
  return out;
}

nb::dict FragmentToPython(const wire::DataFragment& f) {
  nb::dict out;
  out["id"] = f.id();
  nb::list files;
  for (const auto& file : f.files()) files.append(FileToPython(file));
  out["files"] = files;
  out["physical_rows"] = f.physical_rows();
  out["deletion_file"] = DeletionsToPython(f);
  SequencesToPython(f, &out);
  return out;
}

nb::list FragmentsToPython(const Repeated<wire::DataFragment>& fragments) {
  nb::list out;
  for (const auto& f : fragments) out.append(FragmentToPython(f));
  return out;
}

void FragmentsFromPython(nb::handle given, Repeated<wire::DataFragment>* out) {
  for (nb::handle f : nb::iter(given)) FragmentFromPython(f, out->Add());
}

nb::list BasesToPython(const Repeated<wire::BasePath>& bases) {
  nb::list out;
  for (const auto& b : bases) {
    nb::dict one;
    one["id"] = b.id();
    one["name"] = OrNone(b.has_name(), b.name());
    one["path"] = b.path();
    one["is_dataset_root"] = b.is_dataset_root();
    out.append(one);
  }
  return out;
}

void BasesFromPython(nb::handle given, Repeated<wire::BasePath>* out) {
  for (nb::handle b : nb::iter(given)) {
    auto* base = out->Add();
    base->set_id(nb::cast<uint32_t>(b["id"]));
    if (!b["name"].is_none()) base->set_name(nb::cast<std::string>(b["name"]));
    base->set_path(nb::cast<std::string>(b["path"]));
    base->set_is_dataset_root(nb::cast<bool>(b["is_dataset_root"]));
  }
}

nb::list IndicesToPython(const Repeated<wire::IndexMetadata>& indices) {
  nb::list out;
  for (const auto& i : indices) out.append(IndexToPython(i));
  return out;
}

void IndicesFromPython(nb::handle given, Repeated<wire::IndexMetadata>* out) {
  for (nb::handle i : nb::iter(given)) IndexFromPython(i, out->Add());
}

nb::list ReplacementsToPython(const wire::Transaction::DataReplacement& op) {
  nb::list out;
  for (const auto& r : op.replacements()) out.append(nb::make_tuple(r.fragment_id(), FileToPython(r.new_file())));
  return out;
}

void ReplacementsFromPython(nb::handle given, wire::Transaction::DataReplacement* op) {
  for (nb::handle r : nb::iter(given)) {
    auto* replacement = op->add_replacements();
    replacement->set_fragment_id(nb::cast<uint64_t>(r[0]));
    FileFromPython(r[1], replacement->mutable_new_file());
  }
}

}  // namespace pilum::python
