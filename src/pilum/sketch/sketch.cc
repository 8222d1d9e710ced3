#include "pilum/sketch/sketch.h"

namespace pilum {

Status Incompatible(std::string_view name, std::string_view a, std::string_view b) {
  return UsageError("incompatible {}: {} and {} cannot be merged", name, a, b);
}

void AppendHeader(std::string_view magic, const SketchHeader& header, std::string* out) {
  out->append(magic);
  AppendLE<uint16_t>(out, SketchHeader::kVersion);
  AppendLE<uint8_t>(out, header.hash);
  AppendLE<uint8_t>(out, header.layout);
  AppendLE<uint32_t>(out, header.size);
  AppendLE<uint64_t>(out, header.seed);
  AppendLE<uint64_t>(out, header.extra);
}

Result<SketchHeader> ReadHeader(std::string_view magic, uint8_t hash, std::string_view source, ByteCursor* in) {
  const std::string_view found = in->ReadBytes(magic.size());
  const auto version = in->Read<uint16_t>();
  SketchHeader h;
  h.hash = in->Read<uint8_t>();
  h.layout = in->Read<uint8_t>();
  h.size = in->Read<uint32_t>();
  h.seed = in->Read<uint64_t>();
  h.extra = in->Read<uint64_t>();
  if (!in->ok() || found != magic) return Corrupt(source, magic, "no header of this sketch");
  if (version != SketchHeader::kVersion || h.hash != hash) {
    return Unsupported("{}: {} version {}, hash {} is not known", source, magic, version, h.hash);
  }
  return h;
}

}  // namespace pilum
