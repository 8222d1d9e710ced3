// From messages to descriptions, for descriptor.cc and planar_layout.cc.
#pragma once

#include <optional>

#include "lance_encodings.pb.h"
#include "pilum/encoding/descriptor.h"

namespace pilum {

Status BadLayout(std::string_view what);
// nullopt where the message has none.
Result<std::optional<CodecDesc>> ParseCodec(bool present, const wire::CompressiveEncoding& m, FileVersion version);
Status CheckValueBits(uint64_t bits);

}  // namespace pilum
