#include "pilum/table/manifest_fragment.h"

#include "pilum/base/utf8.h"
#include "pilum/file/wire_fields.h"

namespace pilum {
namespace {

constexpr uint64_t kMaxRows = uint64_t{1} << 32;  // in a fragment: a row address has 32 bits for them
constexpr uint32_t kVarint = WireFields::kVarint, kBytes = WireFields::kBytes;

Status Bad(std::string what) { return MakeError(ErrorKind::kCorrupt, std::move(what)); }
Status NoMessage(std::string_view of) { return Bad(fmt::format("the message of {} does not parse", of)); }

// Of numbers: packed, or one of them.
bool IsList(const WireFields& f) { return f.type() == kVarint || f.type() == kBytes; }

Status AddInts(const WireFields& field, std::vector<int32_t>* out) {
  struct Narrow {
    std::vector<int32_t>* out;
    void push_back(uint64_t v) { out->push_back(static_cast<int32_t>(v)); }
  } narrow{out};
  if (field.type() == kBytes) out->reserve(out->size() + field.bytes().size());
  return field.AddTo(&narrow) ? Status::OK() : NoMessage("a data file");
}

Status SetText(const WireFields& field, std::string* out) {
  if (!IsUtf8(field.bytes())) return Bad("a path is not UTF-8");
  *out = field.bytes();
  return Status::OK();
}

Status ParseDataFile(std::string_view message, DataFile* out) {
  WireFields f(message);
  while (f.Next()) {
    if (f.Is(1, kBytes))
      PILUM_RETURN_NOT_OK(SetText(f, &out->path));
    else if (f.number() == 2 && IsList(f))
      PILUM_RETURN_NOT_OK(AddInts(f, &out->fields));
    else if (f.number() == 3 && IsList(f))
      PILUM_RETURN_NOT_OK(AddInts(f, &out->column_indices));
    else if (f.Is(4, kVarint))
      out->major = static_cast<uint32_t>(f.value());
    else if (f.Is(5, kVarint))
      out->minor = static_cast<uint32_t>(f.value());
    else if (f.Is(6, kVarint))
      out->size = f.value();
    else if (f.Is(7, kVarint))
      out->base_id = static_cast<uint32_t>(f.value());
  }
  if (!f.ok()) return NoMessage("a data file");
  if (out->path.empty()) return Bad("a data file has no path");
  if (!out->is_legacy() && out->fields.size() != out->column_indices.size()) {
    return Bad(fmt::format("data file {}: {} fields, but {} columns for them", out->path, out->fields.size(),
                           out->column_indices.size()));
  }
  return Status::OK();
}

Status ParseDeletionFile(std::string_view message, DeletionFile* out) {
  uint64_t kind = out->kind == DeletionFile::Kind::kBitmap;
  WireFields f(message);
  while (f.Next()) {
    if (f.Is(1, kVarint))
      kind = f.value();
    else if (f.Is(2, kVarint))
      out->read_version = f.value();
    else if (f.Is(3, kVarint))
      out->id = f.value();
    else if (f.Is(4, kVarint))
      out->num_deleted = f.value();
    else if (f.Is(7, kVarint))
      out->base_id = static_cast<uint32_t>(f.value());
  }
  if (!f.ok()) return NoMessage("a deletion file");
  if (kind > 1) return Unsupported("a deletion file of unknown kind {}", static_cast<int32_t>(kind));
  out->kind = kind == 1 ? DeletionFile::Kind::kBitmap : DeletionFile::Kind::kArrowArray;
  return Status::OK();
}

Status ParseExternal(std::string_view message, SequenceBytes* out) {
  out->where = SequenceBytes::Where::kExternal;
  WireFields f(message);
  while (f.Next()) {
    if (f.Is(1, kBytes))
      PILUM_RETURN_NOT_OK(SetText(f, &out->path));
    else if (f.Is(2, kVarint))
      out->range.offset = f.value();
    else if (f.Is(3, kVarint))
      out->range.size = f.value();
  }
  return f.ok() ? Status::OK() : NoMessage("an external file");
}

// One of the three fields that tell a sequence, the last of which counts.
Status SetSequence(const WireFields& field, uint32_t inlined, uint32_t external, SequenceBytes* out) {
  if (field.number() == external) {
    if (out->where != SequenceBytes::Where::kExternal) *out = {};
    return ParseExternal(field.bytes(), out);
  }
  *out = {};
  out->where = field.number() == inlined ? SequenceBytes::Where::kInline : SequenceBytes::Where::kSpilled;
  if (field.number() == inlined) out->bytes = field.bytes();
  return Status::OK();
}

Status ParseField(const WireFields& f, Fragment* out) {
  if (f.type() == kVarint) {
    if (f.number() == 1) out->id = f.value();
    if (f.number() == 4) out->physical_rows = f.value();
    return Status::OK();
  }
  if (f.type() != kBytes) return Status::OK();
  switch (f.number()) {
    case 2: return ParseDataFile(f.bytes(), &out->files.emplace_back());
    case 3:
      if (!out->deletions) out->deletions.emplace();
      return ParseDeletionFile(f.bytes(), &*out->deletions);
    case 5:
    case 6:
    case 12: return SetSequence(f, 5, 6, &out->row_ids);
    case 7:
    case 8:
    case 13: return SetSequence(f, 7, 8, &out->last_updated_at);
    case 9:
    case 10:
    case 14: return SetSequence(f, 9, 10, &out->created_at);
    case 11: return Unsupported("it has data overlay files, which this Pilum does not read");
    default: return Status::OK();
  }
}

Status Check(const Fragment& f, bool stable_row_ids) {
  if (f.id > UINT32_MAX) return Bad("its id has more than 32 bits");
  if (f.physical_rows > kMaxRows) return Bad(fmt::format("{} rows are too many", f.physical_rows));
  if (f.deletions && f.physical_rows > 0 && f.deletions->num_deleted > f.physical_rows) {
    return Bad(fmt::format("{} of its {} rows are said to be deleted", f.deletions->num_deleted, f.physical_rows));
  }
  if (stable_row_ids && f.row_ids.where == SequenceBytes::Where::kNone) {
    return Bad("it has no row ids, though the table's are stable");
  }
  return Status::OK();
}

}  // namespace

Status ParseFragment(std::string_view message, bool stable_row_ids, Fragment* out) {
  Status st;
  WireFields f(message);
  while (st.ok() && f.Next()) st = ParseField(f, out);
  if (st.ok() && !f.ok()) st = NoMessage("it");
  if (st.ok()) st = Check(*out, stable_row_ids);
  return st.ok() ? st : WithContext(fmt::format("fragment {}", out->id), st);
}

}  // namespace pilum
