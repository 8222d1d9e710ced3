#include "tests/fuzz/page_input.h"

#include "pilum/base/bytes.h"

namespace pilum::fuzz {
namespace {

constexpr size_t kMaxColumns = 16, kMaxBuffers = 8;

void AppendPiece(std::string* out, std::string_view bytes) {
  AppendLE<uint16_t>(out, static_cast<uint16_t>(bytes.size()));
  out->append(bytes);
}

std::string ReadPiece(ByteCursor* c) { return std::string(c->ReadBytes(c->Read<uint16_t>())); }

}  // namespace

// u8 minor version | u8 leaf | u8 columns | schema | columns | image up to the end
std::string ToBytes(const PageInput& in) {
  std::string out;
  out += static_cast<char>(in.version);
  out += static_cast<char>(in.leaf);
  out += static_cast<char>(in.columns.size());
  AppendPiece(&out, in.schema);
  for (const auto& column : in.columns) {
    AppendLE<uint32_t>(&out, static_cast<uint32_t>(column.length));
    AppendPiece(&out, column.description);
    out += static_cast<char>(column.buffers.size());
    for (const ByteRange& b : column.buffers) {
      AppendLE<uint16_t>(&out, static_cast<uint16_t>(b.offset));
      AppendLE<uint16_t>(&out, static_cast<uint16_t>(b.size));
    }
  }
  return out + in.image;
}

std::optional<PageInput> FromBytes(std::string_view bytes) {
  ByteCursor c(bytes);
  PageInput in;
  in.version = static_cast<FileVersion>(c.Read<uint8_t>() % 3);
  in.leaf = c.Read<uint8_t>();
  const size_t columns = c.Read<uint8_t>();
  if (columns == 0 || columns > kMaxColumns) return std::nullopt;
  in.schema = ReadPiece(&c);
  for (size_t i = 0; i < columns; ++i) {
    PageInput::Column column;
    column.length = c.Read<uint32_t>();
    column.description = ReadPiece(&c);
    const size_t buffers = c.Read<uint8_t>();
    if (buffers > kMaxBuffers) return std::nullopt;
    for (size_t k = 0; k < buffers; ++k) {
      const uint64_t offset = c.Read<uint16_t>();
      column.buffers.push_back({offset, c.Read<uint16_t>()});
    }
    in.columns.push_back(std::move(column));
  }
  if (!c.ok()) return std::nullopt;
  in.image = c.ReadBytes(c.remaining());
  for (const auto& column : in.columns) {
    for (const ByteRange& b : column.buffers) {
      if (b.end() > in.image.size()) return std::nullopt;  // the container's business
    }
  }
  return in;
}

std::string ChangePiece(std::string_view bytes, uint64_t random, const Change& change) {
  auto in = FromBytes(bytes);
  if (!in) return change(std::string(bytes));
  PageInput::Column& column = in->columns[random / 64 % in->columns.size()];
  switch (random % 64) {
    case 0: in->schema = change(std::move(in->schema)); break;
    case 1: in->leaf = static_cast<uint8_t>(random / 4096 % 8); break;
    case 2: in->version = static_cast<FileVersion>(random / 4096 % 3); break;
    case 3:
    case 4:
    case 5: column.length = random / 4096 % 2 ? random / 65536 % 5000 : column.length + random / 8192 % 5 - 2; break;
    case 6:
    case 7:
    case 8:
      if (!column.buffers.empty()) {  // shorter
        auto& b = column.buffers[random / 4096 % column.buffers.size()];
        b.size -= std::min<uint64_t>(b.size, random / 65536 % 9);
      }
      break;
    default:
      if (random % 64 < 24) {
        column.description = change(std::move(column.description));
      } else if (!column.buffers.empty() && random % 64 < 60) {  // inside one buffer, which keeps its size
        const ByteRange b = column.buffers[random / 4096 % column.buffers.size()];
        std::string piece = change(in->image.substr(b.offset, b.size));
        piece.resize(b.size);
        in->image.replace(b.offset, b.size, piece);
      } else {
        in->image = change(std::move(in->image));
      }
  }
  return ToBytes(*in);
}

}  // namespace pilum::fuzz
