// Internal to table/commit and change: the messages of a table as protobuf holds them, unknown fields and all. Whoever
// changes a version changes a copy of its message, so that what newer writers put there survives.
#pragma once

#include <string>
#include <string_view>

#include "lance_table.pb.h"
#include "pilum/base/status.h"

namespace pilum {

// Maps in the order of their keys: the same message, the same bytes.
std::string SerializeWire(const google::protobuf::MessageLite& message);
// kCorrupt: "the WHAT does not parse".
Status ParseWire(std::string_view bytes, std::string_view what, google::protobuf::MessageLite* out);

const wire::DataFragment* FindFragment(const wire::Manifest& manifest, uint64_t id);  // null: there is none

}  // namespace pilum
