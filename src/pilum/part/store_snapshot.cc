#include "pilum/part/store_snapshot.h"

#include <map>

#include <arrow/type.h>

#include "pilum/base/for_each.h"
#include "pilum/part/widen.h"
#include "pilum/part/word_segments.h"
#include "pilum/source/masked_unit.h"

namespace pilum {
namespace {

// The units whose prune headers are shares of one bundle.
using BundledUnits = std::map<std::shared_ptr<const Bundle>, std::vector<std::shared_ptr<const PartUnit>>>;
using Bundled = BundledUnits::value_type;

// What cannot be read ahead is unknown, or asked for again, when it is needed.
Status Forgiven(const Status& status) { return StopsARead(status) ? status : Status::OK(); }

// The filters that a probe may ask; none: bounds say all that there is.
std::vector<SectionFamily> FiltersFor(const Probe& probe) {
  if (probe.kind == Probe::Kind::kHasElement) return {SectionFamily::kMemberBloom};
  if (probe.kind != Probe::Kind::kInSet || !probe.set.AsPoints()) return {};
  return {SectionFamily::kFuse, SectionFamily::kBloom, SectionFamily::kCuckoo};
}

// Bounds of all parts first; then filters, the larger ones, of the parts that bounds leave.
Status PrepareBundle(const Bundled& bundled, const std::vector<Probe>& probes, ReadContext& ctx) {
  const auto& [bundle, units] = bundled;
  std::vector<FieldPath> columns;
  for (const Probe& probe : probes) {
    columns.push_back(probe.column);
    if (probe.kind == Probe::Kind::kInPair) columns.push_back(probe.second);
  }
  std::vector<size_t> parts;
  for (const auto& unit : units) parts.push_back(unit->part().bundle_part);
  constexpr SectionFamily kBounds[] = {SectionFamily::kBounds, SectionFamily::kRanges};
  PILUM_RETURN_NOT_OK(Forgiven(bundle->Fetch(columns, kBounds, parts, ctx)));
  for (const Probe& probe : probes) {
    const bool pair = probe.kind == Probe::Kind::kInPair;
    const auto filters = FiltersFor(probe);
    if (pair ? !bundle->HasPair(probe.column, probe.second) : filters.empty()) continue;
    std::vector<size_t> left;
    for (size_t i = 0; i < units.size(); ++i) {
      const auto& unit = units[i];
      if (i % 256 == 0) PILUM_RETURN_NOT_OK(ctx.Check());
      PILUM_ASSIGN_OR_RETURN(const bool may, unit->MayMatchByBounds(probe, ctx));
      if (may) left.push_back(unit->part().bundle_part);
    }
    PILUM_RETURN_NOT_OK(Forgiven(pair ? bundle->FetchPair(probe.column, probe.second, left, ctx)
                                      : bundle->Fetch(std::span(&probe.column, 1), filters, left, ctx)));
  }
  return Status::OK();
}

class StoreSnapshot final : public Snapshot {
 public:
  StoreSnapshot(const DatasetFiles& files, StoreView view, UnionSchema schema, bool use_index)
      : files_(files), union_(std::move(schema)), use_index_(use_index) {
    std::shared_ptr<WordSegments> segments;
    if (use_index && view.parts.size() >= WordSegments::kFewParts) segments = std::make_shared<WordSegments>(files);
    units_.reserve(view.parts.size());
    for (LoadedPart& part : view.parts) {
      auto counted = std::move(part.counted);
      auto of_part = std::make_shared<const PartUnit>(files, std::move(part), union_.schema, use_index, segments);
      if (const auto& bundle = of_part->part().bundle) bundled_[bundle].push_back(of_part);
      std::shared_ptr<const Unit> unit = std::move(of_part);
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
  Status Prepare(const std::vector<Probe>& probes, ReadContext& ctx) const override {
    std::vector<const Bundled*> bundles;
    for (const auto& bundle : bundled_) bundles.push_back(&bundle);
    return ForEach(
        bundles.size(), files_.parallel(ctx), [&](size_t i) { return PrepareBundle(*bundles[i], probes, ctx); }, 1);
  }
  Result<std::shared_ptr<const Snapshot>> Renew(ReadContext& ctx) const override {
    return OpenStoreSnapshot(files_, use_index_, &union_, ctx);
  }

 private:
  const DatasetFiles files_;
  const UnionSchema union_;
  const bool use_index_;
  std::vector<std::shared_ptr<const Unit>> units_;
  BundledUnits bundled_;
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
