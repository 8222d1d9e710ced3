// The schema of one version of a table, as every fragment of it is read: columns, ids, and which file of a fragment holds
// what. Called by fragment.cc and snapshot.cc. Thread-safe; no I/O.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "pilum/file/file_reader.h"
#include "pilum/file/legacy_file.h"
#include "pilum/table/column_forms.h"
#include "pilum/table/manifest.h"
#include "pilum/table/read_shape.h"

namespace pilum {

// Columns that every table has, of uint64, not null, and that come only where they are named.
enum class SystemColumn { kRowId, kRowAddress, kCreatedAt, kLastUpdatedAt, kRowOffset };
inline constexpr SystemColumn kSystemColumns[] = {SystemColumn::kRowId, SystemColumn::kRowAddress,
                                                  SystemColumn::kCreatedAt, SystemColumn::kLastUpdatedAt,
                                                  SystemColumn::kRowOffset};
const char* SystemColumnName(SystemColumn column);  // "_rowid"

class TableSchema {
 public:
  // kCorrupt, or kUnsupported for a type that no Lance file holds. Errors name no file.
  static Result<std::shared_ptr<const TableSchema>> Make(const FileSchema& schema,
                                                         BlobHandling blobs = BlobHandling::kDescriptions);

  const std::shared_ptr<arrow::Schema>& declared() const { return declared_; }
  // What data files are read as, each its part of it: of a blob a description of where it lies, of JSON its JSONB.
  const std::shared_ptr<arrow::Schema>& stored() const { return stored_; }
  const std::shared_ptr<arrow::Schema>& full() const { return full_; }  // then the system's, whose names are free
  const std::vector<LeafColumn>& leaves() const { return leaves_; }     // of full()
  // full() as reads give it: JSON as text, blobs as asked for (column_forms.h). The same object where nothing differs.
  const std::shared_ptr<arrow::Schema>& given() const { return given_; }
  const std::vector<LeafColumn>& given_leaves() const { return given_leaves_; }
  int num_system() const;
  // A column of JSON, outside of lists and maps.
  bool IsJson(const FieldPath& column) const;

  // What one data file holds of the table's columns; its schema may be empty. The same object for files that hold the
  // same in the same way, as those of most fragments do; it lives as long as this. kCorrupt where it cannot be so, kUnsupported where it has a
  // column of the table in a form that is not known here.
  // `elsewhere`: fields that are not taken from this file, though it has them.
  Result<std::shared_ptr<const FileView>> ViewOf(const DataFile& file, const std::set<int32_t>& elsewhere = {}) const;
  // What a read of `columns` is of files seen through views of this schema. `name`: whose, for errors.
  Result<std::shared_ptr<const ReadShape>> ShapeOf(const std::string& name, const std::vector<const FileView*>& views,
                                                   const std::vector<FieldPath>& columns) const {
    return shapes_.Of(name, *full_, leaves_, views, columns);
  }
  // The same for a legacy file, of which `view` is the view.
  LegacyFields LegacyFieldsOf(const DataFile& file, const FileView& view) const;

 private:
  // A leaf column's way down: the id of its top-level field, of each field below, and its own. And its name.
  struct Path {
    std::vector<int32_t> ids;
    FieldPath path;  // of a map: the map's
    bool in_map = false;
  };

  Result<FileView> MakeView(const DataFile& file, const std::set<int32_t>& elsewhere) const;

  std::shared_ptr<arrow::Schema> declared_, stored_, full_, given_;
  FieldIds ids_;  // of declared_
  std::vector<LeafColumn> leaves_, given_leaves_;
  std::vector<Path> paths_;               // one a leaf of stored_
  std::map<int32_t, std::string> names_;  // of all field ids
  // Is 2.0, fields, columns, and those of the fields that are not taken from it.
  using ViewKey = std::tuple<bool, std::vector<int32_t>, std::vector<int32_t>, std::vector<int32_t>>;
  ReadShapes shapes_;
  mutable std::mutex mutex_;
  mutable std::map<ViewKey, std::shared_ptr<const FileView>> views_;
};

}  // namespace pilum
