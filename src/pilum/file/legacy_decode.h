// Pages of a legacy file to arrays. Called by legacy_file.cc.
#pragma once

#include <functional>
#include <memory>

#include <arrow/type_fwd.h>

#include "pilum/file/legacy_file.h"

namespace pilum {

class LegacyDecoder {
 public:
  // `page_of`: the page of a field id in the group that is decoded.
  LegacyDecoder(const ByteSource& source, std::function<LegacyPage(int32_t)> page_of, ReadContext& ctx)
      : source_(source), page_of_(std::move(page_of)), ctx_(ctx) {}

  // Values [rows.begin, rows.end) of the field's page. kCorrupt, kUnsupported; errors name the field, not the file.
  Result<std::shared_ptr<arrow::Array>> Decode(const arrow::Field& field, const FieldIds& ids, RowRange rows);
  // Bytes that these rows of strings take, of the field and of what is in its structs.
  Result<uint64_t> TextBytes(const arrow::Field& field, const FieldIds& ids, RowRange rows);

 private:
  using ArrayPtr = std::shared_ptr<arrow::Array>;
  Result<ArrayPtr> Fixed(const std::shared_ptr<arrow::DataType>& type, uint64_t position, RowRange values);
  template <typename Type>
  Result<ArrayPtr> Binary(const arrow::Field& field, const LegacyPage& page, RowRange rows);
  template <typename List>
  Result<ArrayPtr> Lists(const arrow::Field& field, const FieldIds& ids, const LegacyPage& page, RowRange rows);
  Result<ArrayPtr> Struct(const arrow::Field& field, const FieldIds& ids, RowRange rows);
  // Numbers [rows.begin, rows.end] of a page of them: ascending, not negative.
  template <typename Offset>
  Result<std::vector<Offset>> Offsets(uint64_t position, RowRange rows);
  Result<BufferPtr> Bytes(uint64_t position, uint64_t first, uint64_t size);

  const ByteSource& source_;
  const std::function<LegacyPage(int32_t)> page_of_;
  ReadContext& ctx_;
};

}  // namespace pilum
