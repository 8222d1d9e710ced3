#include "pilum/table/given_unit.h"

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <span>

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/file/projection.h"
#include "pilum/source/field_path.h"
#include "pilum/table/blobs.h"
#include "pilum/table/json_texts.h"

namespace pilum {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;

// The bytes of blobs as large_binary, for descriptions (of blob v2) of the column at a path.
using FetchBlobs = std::function<Result<ArrayPtr>(const FieldPath&, const ArrayPtr&)>;

// Where the items of a list or map begin and end.
std::pair<int64_t, int64_t> ItemsOf(const arrow::Array& array) {
  if (array.length() == 0) return {0, 0};
  if (array.type_id() == arrow::Type::LARGE_LIST) {
    const auto& list = static_cast<const arrow::LargeListArray&>(array);
    return {list.value_offset(0), list.value_offset(list.length())};
  }
  const auto& list = static_cast<const arrow::ListArray&>(array);  // a map is one too
  return {list.value_offset(0), list.value_offset(list.length())};
}

bool IsList(const arrow::Array& array) {
  return array.type_id() == arrow::Type::LIST || array.type_id() == arrow::Type::LARGE_LIST ||
         array.type_id() == arrow::Type::MAP;
}

class Presenter {
 public:
  Presenter(const FetchBlobs& fetch, ReadContext& ctx) : fetch_(fetch), ctx_(ctx) {}

  Result<ArrayPtr> Present(const arrow::Field& given, const ArrayPtr& array, FieldPath* path) {
    const arrow::DataType& stored = *array->type();
    if (stored.Equals(*given.type())) return array;
    if (stored.id() == arrow::Type::LARGE_BINARY) return JsonTexts(*array, ctx_);
    if (given.type()->id() == arrow::Type::LARGE_BINARY) return fetch_(*path, array);
    PILUM_ASSIGN_OR_RETURN(const ArrayPtr whole, Compact(array));
    auto data = whole->data()->Copy();
    data->type = given.type();
    for (int i = 0; i < given.type()->num_fields(); ++i) {
      const arrow::Field& field = *given.type()->field(i);
      ArrayPtr child = arrow::MakeArray(data->child_data[static_cast<size_t>(i)]);
      const bool is_struct = data->type->id() == arrow::Type::STRUCT;
      if (is_struct) {
        child = child->Slice(0, whole->length());
        path->steps.push_back(field.name());
      }
      PILUM_ASSIGN_OR_RETURN(child, Present(field, child, path));
      if (is_struct) path->steps.pop_back();
      data->child_data[static_cast<size_t>(i)] = child->data();
    }
    return arrow::MakeArray(std::move(data));
  }

 private:
  // The array with no more below it than is its own.
  Result<ArrayPtr> Compact(const ArrayPtr& array) {
    bool own = array->offset() == 0;
    if (own && IsList(*array)) {
      own = ItemsOf(*array) == std::pair<int64_t, int64_t>(0, array->data()->child_data[0]->length);
    }
    if (own) return array;
    return arrow::Concatenate({array}, ctx_.memory_pool());
  }

  const FetchBlobs& fetch_;
  ReadContext& ctx_;
};

// Bytes of the blobs that are fetched for `array`.
uint64_t BlobBytes(const arrow::DataType& given, const arrow::Array& array) {
  uint64_t bytes = 0;
  if (array.type()->Equals(given)) return bytes;
  if (given.id() == arrow::Type::LARGE_BINARY) {
    const auto& described = static_cast<const arrow::StructArray&>(array);
    const auto sizes = std::static_pointer_cast<arrow::UInt64Array>(described.field(2));
    for (int64_t i = 0; i < array.length(); ++i) {
      if (array.IsValid(i)) bytes += std::min(sizes->Value(i), uint64_t{1} << 40);
    }
    return bytes;
  }
  if (array.type_id() == arrow::Type::STRUCT) {
    const auto& s = static_cast<const arrow::StructArray&>(array);
    for (int i = 0; i < given.num_fields(); ++i) bytes += BlobBytes(*given.field(i)->type(), *s.field(i));
  } else if (IsList(array)) {
    const auto [begin, end] = ItemsOf(array);
    const ArrayPtr items = arrow::MakeArray(array.data()->child_data[0])->Slice(begin, end - begin);
    bytes += BlobBytes(*given.field(0)->type(), *items);
  }
  return bytes;
}

class GivenStream final : public BatchStream {
 public:
  GivenStream(std::string name, std::unique_ptr<BatchStream> stored, std::shared_ptr<arrow::Schema> given,
              FetchBlobs fetch, const BatchLimits& limits, const ReadContext& ctx)
      : name_(std::move(name)),
        stored_(std::move(stored)),
        given_(std::move(given)),
        fetch_(std::move(fetch)),
        limits_(limits),
        ctx_(ctx) {}
  const std::shared_ptr<arrow::Schema>& schema() const override { return given_; }
  const RowSet& rows() const override { return rows_; }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    if (!failed_.ok()) return failed_;
    auto batch = NextBatch();
    if (!batch.ok()) failed_ = batch.status();
    return batch;
  }

 private:
  Result<std::shared_ptr<arrow::RecordBatch>> NextBatch() {
    if (!rest_ || used_ == rest_->num_rows()) {
      PILUM_ASSIGN_OR_RETURN(rest_, stored_->Next());
      used_ = 0;
      if (!rest_) return nullptr;
    }
    const auto part = rest_->Slice(used_, RowsThatFit());
    rows_ = stored_->rows().SliceByRank(static_cast<uint64_t>(used_), static_cast<uint64_t>(part->num_rows()));
    used_ += part->num_rows();
    arrow::ArrayVector columns;
    for (int i = 0; i < given_->num_fields(); ++i) {
      FieldPath path{{given_->field(i)->name()}};
      auto column = Presenter(fetch_, ctx_).Present(*given_->field(i), part->column(i), &path);
      if (!column.ok()) {
        return WithContext(fmt::format("{}: column '{}'", name_, given_->field(i)->name()), column.status());
      }
      columns.push_back(std::move(*column));
    }
    return arrow::RecordBatch::Make(given_, part->num_rows(), std::move(columns));
  }

  int64_t RowsThatFit() const {
    int64_t rows = rest_->num_rows() - used_;
    while (rows > 1) {
      uint64_t bytes = 0;
      for (int i = 0; i < given_->num_fields(); ++i) {
        bytes += BlobBytes(*given_->field(i)->type(), *rest_->column(i)->Slice(used_, rows));
      }
      if (bytes <= limits_.bytes) break;
      rows = std::max<int64_t>(1, rows / 2);
    }
    return rows;
  }

  const std::string name_;
  const std::unique_ptr<BatchStream> stored_;
  const std::shared_ptr<arrow::Schema> given_;
  const FetchBlobs fetch_;
  const BatchLimits limits_;
  ReadContext ctx_;
  std::shared_ptr<arrow::RecordBatch> rest_;
  int64_t used_ = 0;  // rows of it
  RowSet rows_;
  Status failed_;
};

// `fields` with the type that `stored` has at `steps`, from which on they are one column.
void SetStored(arrow::FieldVector* fields, const arrow::FieldVector& stored, std::span<const std::string> steps) {
  for (auto& field : *fields) {
    if (field->name() != steps[0]) continue;
    const auto at = std::find_if(stored.begin(), stored.end(), [&](const auto& f) { return f->name() == steps[0]; });
    if (steps.size() == 1) {
      field = field->WithType((*at)->type());
    } else {
      arrow::FieldVector children = field->type()->fields();
      SetStored(&children, (*at)->type()->fields(), steps.subspan(1));
      field = field->WithType(arrow::struct_(std::move(children)));
    }
    return;
  }
}

class GivenUnit final : public Unit, public std::enable_shared_from_this<GivenUnit> {
 public:
  GivenUnit(TableContext table, const Fragment& fragment, std::shared_ptr<const Unit> stored)
      : table_(std::move(table)), fragment_(fragment), stored_(std::move(stored)) {}
  const std::string& name() const override { return stored_->name(); }
  uint64_t num_rows() const override { return stored_->num_rows(); }
  Result<bool> MayMatch(const Probe& probe, ReadContext& ctx) const override { return stored_->MayMatch(probe, ctx); }
  Result<Candidates> Narrow(const Probe& probe, ReadContext& ctx) const override { return stored_->Narrow(probe, ctx); }
  std::string index_note() const override { return stored_->index_note(); }
  void OpenAhead(const std::vector<FieldPath>& columns, ReadContext& ctx) const override {
    stored_->OpenAhead(StoredPaths(columns), ctx);
  }

  Result<std::unique_ptr<BatchStream>> Read(const std::vector<FieldPath>& columns, const RowSet& rows,
                                            const BatchLimits& limits, const ReadContext& ctx) const override {
    const TableSchema& schema = *table_.schema;
    const std::vector<FieldPath> paths = StoredPaths(columns);
    PILUM_ASSIGN_OR_RETURN(auto given, ProjectFields(name(), *schema.given(), schema.given_leaves(), paths));
    arrow::FieldVector fields = given.schema->fields();
    for (const FieldPath& path : MinimalPaths(columns)) {
      if (IsStoredJson(path))
        SetStored(&fields, schema.full()->fields(), std::span(path.steps).first(path.steps.size() - 1));
    }
    PILUM_ASSIGN_OR_RETURN(auto stream, stored_->Read(paths, rows, limits, ctx));
    auto out = arrow::schema(std::move(fields), given.schema->metadata());
    if (stream->schema()->Equals(*out, false)) return stream;
    FetchBlobs fetch = [self = shared_from_this(), how = ctx](
                           const FieldPath& path, const ArrayPtr& descriptions) mutable -> Result<ArrayPtr> {
      PILUM_ASSIGN_OR_RETURN(auto files, self->FilesOf(path));
      return files->ReadAll(*descriptions, how);
    };
    return std::make_unique<GivenStream>(name(), std::move(stream), std::move(out), std::move(fetch), limits, ctx);
  }

 private:
  // What to read of the stored rows.
  static std::vector<FieldPath> StoredPaths(const std::vector<FieldPath>& columns) {
    if (std::none_of(columns.begin(), columns.end(), IsStoredJson)) return columns;
    std::vector<FieldPath> out;
    for (const FieldPath& path : columns) out.push_back(WithoutStoredJson(path));
    return MinimalPaths(out);
  }

  // Files stay open with the unit.
  Result<std::shared_ptr<const BlobFiles>> FilesOf(const FieldPath& column) const {
    std::lock_guard lock(mutex_);
    auto& files = blobs_[column];
    if (files) return files;
    PILUM_ASSIGN_OR_RETURN(files, BlobFilesOf(table_, fragment_, column));
    return files;
  }

  const TableContext table_;
  const Fragment& fragment_;
  const std::shared_ptr<const Unit> stored_;
  mutable std::mutex mutex_;
  mutable std::map<FieldPath, std::shared_ptr<const BlobFiles>> blobs_;
};

}  // namespace

std::shared_ptr<const Unit> MakeGivenUnit(TableContext table, const Fragment& fragment,
                                          std::shared_ptr<const Unit> stored) {
  return std::make_shared<GivenUnit>(std::move(table), fragment, std::move(stored));
}

}  // namespace pilum
