// One object of a bucket as a source, pinned to the version that was first seen.
#pragma once

#include <memory>
#include <string>

#include "pilum/io/byte_source.h"
#include "pilum/io/s3/client.h"

namespace pilum::s3 {

// One request: the object's end, with which its size and ETag come. kNotFound.
Result<std::shared_ptr<const ByteSource>> OpenSource(std::shared_ptr<Client> client, const std::string& key,
                                                     ReadContext& ctx);

}  // namespace pilum::s3
