#include "pilum/index/sidecar_builder.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/sketch/bloom.h"

namespace pilum {
namespace {

uint64_t CountColumns(const arrow::DataType& type) {
  uint64_t n = 1;
  if (type.id() == arrow::Type::STRUCT) {
    for (const auto& child : type.fields()) n += CountColumns(*child->type());
  }
  return n;
}

// Would a filter say more than the bounds do? Not for one value, nor for integers that fill their range.
bool BoundsSuffice(const ColumnCollector& c) {
  if (c.distinct().size() <= 1) return true;
  const ZoneMap& b = c.bounds();
  if (b.domain != Domain::kInt || !(b.flags[0] & ZoneMap::kHasBounds)) return false;
  return b.High(0).as_int() - b.Low(0).as_int() + 1 == Int128(c.distinct().size());
}

std::string BloomBytes(const DistinctSet& distinct) {
  BloomFilter filter = BloomFilter::ForItems(distinct.size());
  distinct.ForEach([&](uint64_t hash) { filter.Insert(hash); });
  return filter.ToBytes();
}

// Schema and bounds, and absent entries for what was left out on the way to the limit.
Result<SidecarWriter> HeaderWithBounds(const arrow::Schema& stored,
                                       const std::vector<SidecarBuilder::Column>& columns) {
  PILUM_ASSIGN_OR_RETURN(auto schema, arrow::ipc::SerializeSchema(stored));
  for (size_t kept = columns.size();; kept /= 2) {
    for (bool with_schema : {true, false}) {
      SidecarWriter out;
      if (with_schema) {
        out.Add({}, SectionFamily::kSchema, std::string_view(*schema));
      } else {
        out.AddAbsent({}, SectionFamily::kSchema, SectionState::kOverBudget);
      }
      for (size_t i = 0; i < kept; ++i) {
        out.Add({columns[i].path}, SectionFamily::kBounds, columns[i].collector->bounds().ToBytes());
      }
      if (out.size() <= SidecarBuilder::kHeaderLimit) return out;
      if (kept > 0) break;  // bounds go before the schema does
    }
    if (kept == 0) return Status::Invalid("a sidecar header without content is over its limit");
  }
}

}  // namespace

SidecarBuilder::SidecarBuilder(const arrow::Schema& schema) {
  uint64_t count = 0;
  for (const auto& field : schema.fields()) count += CountColumns(*field->type());
  const uint64_t cap = std::clamp(kDistinctBudget / std::max<uint64_t>(1, count), kMinDistinct, kMaxDistinct);
  for (const auto& field : schema.fields()) top_level_.push_back(AddColumn({{field->name()}}, *field->type(), cap));
}

size_t SidecarBuilder::AddColumn(FieldPath path, const arrow::DataType& type, uint64_t cap) {
  const size_t at = columns_.size();
  columns_.push_back({path, ColumnCollector::Make(type, cap), ColumnStats::Make(type), {}});
  if (type.id() == arrow::Type::STRUCT) {
    for (const auto& child : type.fields()) {
      FieldPath child_path = path;
      child_path.steps.push_back(child->name());
      const size_t child_at = AddColumn(std::move(child_path), *child->type(), cap);
      columns_[at].children.push_back(child_at);
    }
  }
  return at;
}

Status SidecarBuilder::Append(const arrow::RecordBatch& batch) {
  if (batch.num_columns() != static_cast<int>(top_level_.size())) {
    return Status::Invalid("a batch of ", batch.num_columns(), " columns for ", top_level_.size());
  }
  for (size_t i = 0; i < top_level_.size(); ++i) {
    PILUM_RETURN_NOT_OK(AppendColumn(top_level_[i], *batch.column(static_cast<int>(i))));
  }
  num_rows_ += static_cast<uint64_t>(batch.num_rows());
  return Status::OK();
}

Status SidecarBuilder::AppendColumn(size_t at, const arrow::Array& array) {
  ColumnCollector& collector = *columns_[at].collector;
  PILUM_RETURN_NOT_OK(collector.Append(array));
  PILUM_RETURN_NOT_OK(
      columns_[at].stats.Update(array, [&](std::span<const uint64_t> hashes) { collector.AddHashes(hashes); }));
  const std::vector<size_t>& children = columns_[at].children;
  if (children.empty()) return Status::OK();
  const auto& parent = static_cast<const arrow::StructArray&>(array);
  for (size_t i = 0; i < children.size(); ++i) {
    // A field of a NULL struct is NULL: the flattened field has the parent's NULLs merged in.
    PILUM_ASSIGN_OR_RETURN(auto child, parent.GetFlattenedField(static_cast<int>(i)));
    PILUM_RETURN_NOT_OK(AppendColumn(children[i], *child));
  }
  return Status::OK();
}

Result<SidecarBuilder::Files> SidecarBuilder::Finish(const arrow::Schema& stored, const Hash128& part_hash) {
  const SidecarIdentity identity{SchemaDescriptorHash(stored), part_hash, num_rows_};
  for (Column& c : columns_) {
    c.collector->Finish();
    if (auto extremes = c.collector->extreme_bytes()) c.stats.WidenExtremes(extremes->first, extremes->second);
  }

  SidecarWriter index;
  for (const Column& c : columns_) index.Add({c.path}, SectionFamily::kZones, c.collector->zones().ToBytes());
  PILUM_ASSIGN_OR_RETURN(SidecarWriter header, HeaderWithBounds(stored, columns_));

  // Filters, smallest first, in the header while they fit, else in the index.
  const uint64_t budget = std::min(kHeaderLimit, std::max(kHeaderFloor, index.size() / 10));
  std::vector<std::pair<uint64_t, size_t>> order;  // distinct values, column
  for (size_t i = 0; i < columns_.size(); ++i) {
    const ColumnCollector& c = *columns_[i].collector;
    if (!c.is_ordered() || num_rows_ == 0) continue;
    if (c.distinct().overflowed()) {
      index.AddAbsent({columns_[i].path}, SectionFamily::kBloom, SectionState::kTooManyValues);
      Decide(columns_[i], false, "too many distinct values to be counted exactly while rows stream by");
    } else if (BoundsSuffice(c)) {
      index.AddAbsent({columns_[i].path}, SectionFamily::kBloom, SectionState::kBoundsSuffice);
      Decide(columns_[i], false,
             c.distinct().size() <= 1 ? "one value: the bounds say as much"
                                      : "integers that fill their range: the bounds say as much");
    } else {
      order.emplace_back(c.distinct().size(), i);
    }
  }
  std::sort(order.begin(), order.end());
  for (const auto& [distinct, i] : order) {
    auto section =
        SidecarWriter::Pack({columns_[i].path}, SectionFamily::kBloom, BloomBytes(columns_[i].collector->distinct()));
    const bool fits = header.size() + section.size <= budget;
    Decide(columns_[i], true,
           fmt::format("{} distinct values, {} bytes, in the {}", distinct, section.size,
                       fits ? "prune header" : "index, since the prune header is full"));
    (fits ? header : index).Add(std::move(section));
  }
  SidecarWriter stats;
  for (const Column& c : columns_) c.stats.AddTo(c.path, &stats);
  stats.Add({}, SectionFamily::kDecisions, DecisionsToBytes(decisions_));
  return Files{index.Finish(SidecarKind::kIndex, identity), header.Finish(SidecarKind::kHeader, identity),
               stats.Finish(SidecarKind::kStats, identity)};
}

void SidecarBuilder::Decide(const Column& column, bool built, std::string reason) {
  decisions_.push_back({column.path.ToString(), "bloom", built, std::move(reason)});
}

}  // namespace pilum
