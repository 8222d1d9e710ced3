#include "pilum/part/store_snapshot.h"

#include <arrow/type.h>

#include "pilum/part/widen.h"
#include "pilum/part/word_segments.h"
#include "pilum/source/masked_unit.h"

namespace pilum {
namespace {

class StoreSnapshot final : public Snapshot {
 public:
  StoreSnapshot(const DatasetFiles& files, StoreView view, UnionSchema schema, bool use_index)
      : files_(files), union_(std::move(schema)), use_index_(use_index) {
    std::shared_ptr<WordSegments> segments;
    if (use_index && view.parts.size() >= WordSegments::kFewParts) segments = std::make_shared<WordSegments>(files);
    units_.reserve(view.parts.size());
    for (LoadedPart& part : view.parts) {
      auto counted = std::move(part.counted);
      std::shared_ptr<const Unit> unit =
          std::make_shared<PartUnit>(files, std::move(part), union_.schema, use_index, segments);
      if (counted) unit = MakeMaskedUnit(std::move(unit), std::move(*counted));
      units_.push_back(std::move(unit));
    }
  }
  const std::string& name() const override { return files_.uri; }
  const std::shared_ptr<arrow::Schema>& schema() const override { return union_.schema; }
  const std::vector<std::shared_ptr<const Unit>>& units() const override { return units_; }
  Status CheckColumn(const std::string& name) const override {
    auto it = union_.clashes.find(name);
    return it == union_.clashes.end() ? Status::OK() : QueryError("{}: {}", files_.uri, it->second);
  }
  Result<std::shared_ptr<const Snapshot>> Renew(ReadContext& ctx) const override {
    return OpenStoreSnapshot(files_, use_index_, &union_, ctx);
  }

 private:
  const DatasetFiles files_;
  const UnionSchema union_;
  const bool use_index_;
  std::vector<std::shared_ptr<const Unit>> units_;
};

// Merging widens nothing; a put since may have.
Status CheckFits(const DatasetFiles& files, const arrow::Schema& now, const arrow::Schema& schema) {
  for (const auto& field : schema.fields()) {
    const auto found = now.GetFieldByName(field->name());
    const auto common = found ? CommonType(found->type(), field->type()) : field->type();
    const bool may_be_null = !found || found->nullable();
    if (common && common->Equals(*field->type()) && (field->nullable() || !may_be_null)) continue;
    return NotFoundError("{}: column '{}' changed its type while it was read; read again", files.uri, field->name());
  }
  return Status::OK();
}

}  // namespace

std::vector<NamedSchema> NamedSchemas(const std::vector<LoadedPart>& parts) {
  std::vector<NamedSchema> out;
  for (const LoadedPart& part : parts) out.push_back({"part " + part.file.name, part.schema});
  return out;
}

Result<std::shared_ptr<const Snapshot>> OpenStoreSnapshot(const DatasetFiles& files, bool use_index,
                                                          const UnionSchema* schema, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(StoreView view, LoadView(files, use_index, ctx));
  if (view.parts.empty()) return files.NoDataset();
  UnionSchema now = UnionSchema::Of(NamedSchemas(view.parts));
  if (schema) PILUM_RETURN_NOT_OK(CheckFits(files, *now.schema, *schema->schema));
  return std::make_shared<StoreSnapshot>(files, std::move(view), schema ? *schema : std::move(now), use_index);
}

std::shared_ptr<const Snapshot> MakeStoreSnapshot(const DatasetFiles& files, const StoreView& view, bool use_index) {
  return std::make_shared<StoreSnapshot>(files, view, UnionSchema::Of(NamedSchemas(view.parts)), use_index);
}

}  // namespace pilum
