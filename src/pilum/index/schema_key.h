// A schema's names and types as bytes, to tell whether a sidecar is about this schema (docs/formats/sidecar.md).
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <arrow/type_fwd.h>

namespace pilum {

using Hash128 = std::array<uint8_t, 16>;

std::string SchemaDescriptor(const arrow::Schema& schema);
Hash128 SchemaDescriptorHash(const arrow::Schema& schema);

}  // namespace pilum
