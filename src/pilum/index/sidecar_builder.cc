#include "pilum/index/sidecar_builder.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "pilum/index/dataset_spec.h"

namespace pilum {
namespace {

uint64_t CountColumns(const arrow::DataType& type) {
  uint64_t n = 1;
  if (type.id() == arrow::Type::STRUCT) {
    for (const auto& child : type.fields()) n += CountColumns(*child->type());
  }
  return n;
}

// Of lists whose elements can be asked for; else null.
const arrow::DataType* ItemType(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::EXTENSION: return ItemType(*static_cast<const arrow::ExtensionType&>(type).storage_type());
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST:
    case arrow::Type::FIXED_SIZE_LIST: return type.field(0)->type().get();
    default: return nullptr;
  }
}

bool IsTime(const arrow::DataType& type) {
  return type.id() == arrow::Type::TIMESTAMP || type.id() == arrow::Type::DATE32 || type.id() == arrow::Type::DATE64;
}

// NULL as ValueAt sees it: a dictionary's own NULLs too.
void AddNullRows(const arrow::Array& given, uint64_t first, PostingsBuilder* out) {
  if (given.type_id() == arrow::Type::EXTENSION)
    return AddNullRows(*static_cast<const arrow::ExtensionArray&>(given).storage(), first, out);
  if (given.type_id() == arrow::Type::NA) return;  // zones know
  const bool coded = given.type_id() == arrow::Type::DICTIONARY &&
                     static_cast<const arrow::DictionaryArray&>(given).dictionary()->null_count() > 0;
  if (!coded && given.null_count() == 0) return;
  for (int64_t i = 0; i < given.length(); ++i) {
    bool null = given.IsNull(i);
    if (!null && coded) {
      const auto& array = static_cast<const arrow::DictionaryArray&>(given);
      null = array.dictionary()->IsNull(array.GetValueIndex(i));
    }
    if (null) out->Add(first + static_cast<uint64_t>(i));
  }
}

std::string DatasetOf(const arrow::Schema& schema) {
  const std::string key(kDatasetKey);
  return schema.metadata() ? schema.metadata()->Get(key).ValueOr("") : "";
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

std::string SidecarBuilder::BuiltBy(const arrow::Schema& schema) {
  uint16_t families = 0;
  for (uint16_t family = 1; family < 256; ++family) families += !FamilyName(family).empty();
  const std::string dataset = DatasetOf(schema);
  return fmt::format("rules {}, {} families{}", kRules, families, dataset.empty() ? "" : ", dataset.toml " + dataset);
}

SidecarBuilder::SidecarBuilder(const arrow::Schema& schema) {
  uint64_t count = 0;
  for (const auto& field : schema.fields()) count += CountColumns(*field->type());
  const uint64_t cap = std::clamp(kDistinctBudget / std::max<uint64_t>(1, count), kMinDistinct, kMaxDistinct);
  dataset_ = DatasetOf(schema);
  built_by_ = BuiltBy(schema);
  pairs_ = PairsAskedFor(schema);
  annotated_ = IsAnnotated(schema) || !dataset_.empty();
  for (const auto& field : schema.fields()) top_level_.push_back(AddColumn({{field->name()}}, *field, cap));
}

size_t SidecarBuilder::AddColumn(FieldPath path, const arrow::Field& field, uint64_t cap) {
  const arrow::DataType& type = *field.type();
  const size_t at = columns_.size();
  columns_.push_back({.path = path,
                      .collector = ColumnCollector::Make(type, cap),
                      .stats = ColumnStats::Make(type),
                      .spec = IndexSpec::Of(field, annotated_)});
  Column& column = columns_.back();
  const std::string dotted = Dotted(path);
  column.paired =
      std::any_of(pairs_.begin(), pairs_.end(), [&](const auto& p) { return p.first == dotted || p.second == dotted; });
  if (column.paired || column.spec.MayHave(IndexKind::kInverted))
    column.inverted = InvertedBuilder::Make(type, column.paired || column.spec.Asks(IndexKind::kInverted));
  if (column.spec.MayHave(IndexKind::kKey)) column.key = KeyBuilder::Make(type, column.spec.Asks(IndexKind::kKey));
  if (column.spec.Asks(IndexKind::kTrigrams)) column.trigrams = TrigramBuilder::Make(type);
  if (column.spec.Asks(IndexKind::kWords)) column.words = WordsBuilder::Make(type);
  const bool time = IsTime(type) && !annotated_;
  if ((time || column.spec.Asks(IndexKind::kRanges)) && ValueRangesBuilder::Fits(type)) column.ranges.emplace();
  if (const auto* item = ItemType(type); item && column.spec.MayHave(IndexKind::kMembers))
    column.members = InvertedBuilder::Make(*item, column.spec.Asks(IndexKind::kMembers));
  if (type.id() == arrow::Type::STRUCT) {
    for (const auto& child : type.fields()) {
      FieldPath child_path = path;
      child_path.steps.push_back(child->name());
      const size_t child_at = AddColumn(std::move(child_path), *child, cap);
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
  KeyBuilder* key = columns_[at].key.get();
  PILUM_RETURN_NOT_OK(collector.Append(array));
  if (key) key->Append(array);
  PILUM_RETURN_NOT_OK(columns_[at].stats.Update(array, [&](const HashBlock& block) {
    collector.AddHashes(block.hashes);
    if (key) key->AddHashes(block);
  }));
  if (columns_[at].inverted) PILUM_RETURN_NOT_OK(columns_[at].inverted->Append(array));
  if (columns_[at].members) PILUM_RETURN_NOT_OK(columns_[at].members->AppendLists(array));
  if (columns_[at].trigrams) PILUM_RETURN_NOT_OK(columns_[at].trigrams->Append(array));
  if (columns_[at].words) PILUM_RETURN_NOT_OK(columns_[at].words->Append(array));
  if (columns_[at].ranges) columns_[at].ranges->Append(array);
  if (columns_[at].spec.MayHave(IndexKind::kNulls)) AddNullRows(array, num_rows_, &columns_[at].nulls);
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

  SidecarWriter index, terms;
  for (const Column& c : columns_) index.Add({c.path}, SectionFamily::kZones, c.collector->zones().ToBytes());
  PILUM_ASSIGN_OR_RETURN(SidecarWriter header, HeaderWithBounds(stored, columns_));

  AddPairs(&header, &index);
  for (Column& c : columns_) {
    AddInverted(&c, &index);
    AddNulls(&c, &index);
    AddRanges(&c, &header);
    AddTrigrams(&c, &index);
    AddWords(&c, &index, &terms);
  }
  PILUM_RETURN_NOT_OK(AddKeys(&header, &index));
  AddFilters(&header, &index);
  AddMemberFilters(&header, index);
  PILUM_RETURN_NOT_OK(AddAskedFilters(&header, &index));
  decisions_.push_back({std::string(kBuiltBy), "rules", true, built_by_});
  if (!dataset_.empty()) decisions_.push_back({"(dataset.toml)", dataset_, true, "it chose the indexes of this part"});
  SidecarWriter stats;
  for (const Column& c : columns_) c.stats.AddTo(c.path, &stats);
  stats.Add({}, SectionFamily::kDecisions, DecisionsToBytes(decisions_));
  return Files{index.Finish(SidecarKind::kIndex, identity), header.Finish(SidecarKind::kHeader, identity),
               stats.Finish(SidecarKind::kStats, identity),
               terms.entries().empty() ? std::string() : terms.Finish(SidecarKind::kTerms, identity)};
}

}  // namespace pilum
