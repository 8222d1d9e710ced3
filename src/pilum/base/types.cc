#include "pilum/base/types.h"

#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

namespace pilum {

bool IsUuidField(const arrow::Field& field) {
  const auto& type = *field.type();
  return field.HasMetadata() && type.id() == arrow::Type::FIXED_SIZE_BINARY &&
         static_cast<const arrow::FixedSizeBinaryType&>(type).byte_width() == 16 &&
         field.metadata()->Get("ARROW:extension:name").ValueOr("") == "arrow.uuid";
}

}  // namespace pilum
