// A manifest piece by piece, for those who read many of them and want a part of each. Called by manifest.cc and
// version_list.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pilum/table/manifest.h"

namespace pilum {

struct ManifestMessage {
  BufferPtr buffer;  // `bytes` lie in it
  std::string_view bytes;
  ByteRange range;  // in the file
};

// One request for the last 256 KiB, a second where the message begins before them. Errors as those of ReadManifest.
Result<ManifestMessage> ReadManifestMessage(const ByteSource& source, ReadContext& ctx);

struct ManifestPieces {
  std::string schema;                       // a message of its own
  std::vector<std::string_view> fragments;  // a message each
  std::string rest;
};

Result<ManifestPieces> SplitManifest(std::string_view message);
// What `rest` tells: no schema and no fragments.
Result<Manifest> ParseHead(const ManifestPieces& pieces);

}  // namespace pilum
