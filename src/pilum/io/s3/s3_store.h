// Internal to io: the store over any HttpClient, as tests have one of their own.
#pragma once

#include <memory>
#include <string>

#include "pilum/io/http/http.h"
#include "pilum/io/object_store.h"
#include "pilum/io/s3/config.h"

namespace pilum::s3 {

std::shared_ptr<ObjectStore> MakeStore(std::string bucket, const std::string& prefix, Config config, HttpClient* http,
                                       Sha256 sha256);

}  // namespace pilum::s3
