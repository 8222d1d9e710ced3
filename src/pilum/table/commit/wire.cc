#include "pilum/table/commit/wire.h"

#include <algorithm>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "pilum/file/quiet_protobuf.h"

namespace pilum {

std::string SerializeWire(const google::protobuf::MessageLite& message) {
  std::string out;
  google::protobuf::io::StringOutputStream stream(&out);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&coded);
  coded.Trim();
  return out;
}

Status ParseWire(std::string_view bytes, std::string_view what, google::protobuf::MessageLite* out) {
  QuietProtobuf();
  if (bytes.size() > INT32_MAX || !out->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return MakeError(ErrorKind::kCorrupt, fmt::format("the {} does not parse", what));
  }
  return Status::OK();
}

const wire::DataFragment* FindFragment(const wire::Manifest& manifest, uint64_t id) {
  const auto& all = manifest.fragments();
  const auto at = std::find_if(all.begin(), all.end(), [&](const auto& f) { return f.id() == id; });
  return at == all.end() ? nullptr : &*at;
}

}  // namespace pilum
