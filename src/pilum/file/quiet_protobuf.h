// Protobuf prints to stderr when a text field of a message is not UTF-8. Here that is an error value like any other.
#pragma once

#include <google/protobuf/stubs/logging.h>

namespace pilum {

inline void QuietProtobuf() { [[maybe_unused]] static const auto previous = google::protobuf::SetLogHandler(nullptr); }

}  // namespace pilum
