// Objects written front to back: small ones in one request, larger ones in parts, invisible until the last.
#pragma once

#include <memory>
#include <string>

#include "pilum/io/byte_source.h"
#include "pilum/io/s3/client.h"

namespace pilum::s3 {

// Replaces what is there at Close. Without Close the parts that were sent are taken back.
std::unique_ptr<ByteSink> MakeSink(std::shared_ptr<Client> client, std::string key);

// false: something is there already, and it is untouched. What was lost on the way is found out by reading back: each put
// carries a random mark as metadata.
Result<bool> PutIfAbsent(const std::shared_ptr<Client>& client, const std::string& key, std::string_view bytes,
                         ReadContext& ctx);
Result<bool> PutFileIfAbsent(const std::shared_ptr<Client>& client, const std::string& key,
                             const std::string& local_file, ReadContext& ctx);

}  // namespace pilum::s3
