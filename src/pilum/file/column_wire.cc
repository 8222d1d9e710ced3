#include "pilum/file/column_wire.h"

#include <utility>

#include <arrow/util/small_vector.h>

#include "lance_file.pb.h"
#include "pilum/encoding/v2_0/descriptor.h"
#include "pilum/file/wire_fields.h"

namespace pilum {
namespace {

constexpr uint64_t kAlignment = 64;               // of every buffer, from 2.1 on
constexpr uint64_t kMaxRows = uint64_t{1} << 48;  // of one column; far above any file, and sums stay exact

Status Bad(std::string what) { return MakeError(ErrorKind::kCorrupt, std::move(what)); }

// Offsets and sizes, as a page or a column lists them.
class BufferLists {
 public:
  // Is it field `offsets` or the one after it? Then it is taken.
  bool Take(const WireFields& field, uint32_t offsets) {
    if (field.number() != offsets && field.number() != offsets + 1) return false;
    ok_ = field.AddTo(field.number() == offsets ? &offsets_ : &sizes_) && ok_;
    return true;
  }
  Result<std::vector<ByteRange>> Finish(const FileBounds& file) const {
    if (!ok_) return Bad("its buffer offsets do not parse");
    if (offsets_.size() != sizes_.size()) {
      return Bad(fmt::format("{} buffer offsets but {} sizes", offsets_.size(), sizes_.size()));
    }
    std::vector<ByteRange> out(offsets_.size());
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = {offsets_[i], sizes_[i]};
      PILUM_RETURN_NOT_OK(CheckBuffer(out[i], file, "buffer", i));
    }
    return out;
  }

 private:
  static constexpr size_t kUsual = 4;  // buffers of a page, at most, if it is like most
  arrow::internal::SmallVector<uint64_t, kUsual> offsets_, sizes_;
  bool ok_ = true;
};

// The last of a message's fields `number`; nothing where the message does not parse.
std::optional<std::string_view> FieldOf(std::string_view message, uint32_t number) {
  std::string_view out;
  WireFields in(message);
  while (in.Next()) {
    if (in.Is(number, WireFields::kBytes)) out = in.bytes();
  }
  return in.ok() ? std::optional(out) : std::nullopt;
}

// The value of the Any that an Encoding message holds, whose message must be `type` (any prefix before it is fine).
Result<std::string_view> Direct(std::string_view encoding, std::string_view type) {
  constexpr uint32_t kIndirect = 1, kDirect = 2, kNone = 3;
  WireFields in(encoding);
  uint32_t location = 0;
  std::string_view direct;
  while (in.Next()) {
    if (in.number() > kNone || in.type() != WireFields::kBytes) continue;
    location = in.number();
    direct = in.bytes();
  }
  if (!in.ok()) return Bad("its encoding does not parse");
  if (location == kIndirect) return Unsupported("an indirect encoding (stored elsewhere in the file) is not read");
  if (location != kDirect) return Bad("its encoding is missing");
  const auto any = FieldOf(direct, 1);
  const auto url = FieldOf(any.value_or(""), 1), value = FieldOf(any.value_or(""), 2);
  if (!any || !url || !value) return Bad("its encoding does not parse");
  if (url->substr(url->rfind('/') + 1) != type) {
    return Bad(fmt::format("its encoding is a '{}', not a {}", url->substr(0, 100), type));
  }
  return *value;
}

Result<StoredPage> ParsePage(std::string_view bytes, const FileBounds& file, const std::shared_ptr<const void>& keep) {
  constexpr uint32_t kOffsets = 1, kLength = 3, kEncoding = 4, kPriority = 5;
  StoredPage page;
  BufferLists buffers;
  std::string_view encoding;
  WireFields in(bytes);
  while (in.Next()) {
    if (buffers.Take(in, kOffsets)) continue;
    if (in.Is(kLength, WireFields::kVarint)) page.head.length = in.value();
    if (in.Is(kPriority, WireFields::kVarint)) page.head.priority = in.value();
    if (in.Is(kEncoding, WireFields::kBytes)) encoding = in.bytes();
  }
  if (!in.ok()) return Bad("its message does not parse");
  PILUM_ASSIGN_OR_RETURN(page.head.buffers, buffers.Finish(file));
  if (file.version == FileVersion::kV2_0) {
    PILUM_ASSIGN_OR_RETURN(auto array, Direct(encoding, "lance.encodings.ArrayEncoding"));
    PILUM_ASSIGN_OR_RETURN(page.head.array, v2_0::ParseArrayEncoding(array));
    return page;
  }
  const bool next = file.version == FileVersion::kV2_3;
  PILUM_ASSIGN_OR_RETURN(page.layout.bytes,
                         Direct(encoding, next ? "lance.encodings23.PlanarLayout" : "lance.encodings21.PageLayout"));
  page.layout.keep = keep;
  return page;
}

Status CheckColumnEncoding(std::string_view message, const FileBounds& file) {
  PILUM_ASSIGN_OR_RETURN(auto bytes, Direct(message, "lance.encodings.ColumnEncoding"));
  constexpr std::string_view kValues("\x0a\x00", 2);  // what nearly all are
  if (bytes == kValues) return Status::OK();
  wire::ColumnEncoding encoding;
  if (!encoding.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Bad("its column encoding does not parse");
  }
  const bool blob = file.version == FileVersion::kV2_0 && encoding.has_blob() && encoding.blob().inner().has_values();
  if (!encoding.has_values() && !blob) {
    return Unsupported("its column encoding (case {}) is not one of version {}",
                       static_cast<int>(encoding.column_encoding_case()), VersionName(file.version));
  }
  return Status::OK();
}

}  // namespace

Status CheckBuffer(ByteRange r, const FileBounds& file, std::string_view name, size_t number) {
  if (r.offset > file.size || r.size > file.size - r.offset) {
    return Bad(fmt::format("{} {} at {} of {} bytes ends past the file's {} bytes", name, number, r.offset, r.size,
                           file.size));
  }
  if (file.version != FileVersion::kV2_0 && r.size > 0 && r.offset % kAlignment != 0) {
    return Bad(fmt::format("{} {} at {} is not aligned to {} bytes", name, number, r.offset, kAlignment));
  }
  return Status::OK();
}

// Page by page, so that a damaged column is refused at its first bad page and never costs many times its bytes.
Result<std::vector<StoredPage>> ParseColumnMessage(std::string_view bytes, const FileBounds& file,
                                                   const std::shared_ptr<const void>& keep) {
  constexpr uint32_t kEncoding = 1, kPages = 2, kOffsets = 3;
  std::vector<StoredPage> pages;
  BufferLists buffers;
  std::string_view encoding;
  uint64_t rows = 0;
  WireFields in(bytes);
  while (in.Next()) {
    if (buffers.Take(in, kOffsets)) continue;
    if (in.Is(kEncoding, WireFields::kBytes)) encoding = in.bytes();
    if (!in.Is(kPages, WireFields::kBytes)) continue;
    auto page = ParsePage(in.bytes(), file, keep);
    if (!page.ok()) return WithContext(fmt::format("page {}", pages.size()), page.status());
    if (page->head.length > kMaxRows - rows)
      return Bad(fmt::format("page {} brings it over {} rows", pages.size(), kMaxRows));
    rows += page->head.length;
    pages.push_back(*std::move(page));
  }
  if (!in.ok()) return Bad("its metadata does not parse");
  PILUM_RETURN_NOT_OK(buffers.Finish(file).status());
  PILUM_RETURN_NOT_OK(CheckColumnEncoding(encoding, file));
  return pages;
}

}  // namespace pilum
