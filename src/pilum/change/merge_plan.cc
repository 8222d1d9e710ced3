#include "pilum/change/merge_plan.h"

#include <algorithm>
#include <set>

#include <arrow/array.h>
#include <arrow/compute/api.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include "pilum/change/find_rows.h"
#include "pilum/change/json_columns.h"
#include "pilum/change/read_rows.h"

namespace pilum {
namespace {

std::vector<FieldPath> PathsOf(const std::vector<std::string>& columns) {
  std::vector<FieldPath> out;
  for (const auto& name : columns) out.push_back({{name}});
  return out;
}

std::vector<uint64_t> AddressesOf(uint64_t fragment, const RowSet& places) {
  std::vector<uint64_t> out = places.ToVector();
  for (uint64_t& place : out) place |= fragment << 32;
  return out;
}

// `addresses`: ascending.
TakenRows ByFragment(const std::vector<uint64_t>& addresses) {
  TakenRows out;
  for (const uint64_t address : addresses) {
    const uint64_t place = address & UINT32_MAX;
    out[address >> 32].Append(place, place + 1);
  }
  return out;
}

std::shared_ptr<arrow::RecordBatch> NoColumns(size_t rows) {
  return arrow::RecordBatch::Make(arrow::schema({}), static_cast<int64_t>(rows), arrow::ArrayVector());
}

class Planner {
 public:
  Planner(const Table& table, const MergeSource& source, const std::vector<std::string>& on,
          const MergeOptions& options, ReadContext& ctx)
      : table_(table), source_(source), keys_(source.keys()), on_(on), options_(options), ctx_(ctx) {}

  Result<MergePlan> Plan() {
    PILUM_RETURN_NOT_OK(Match());
    if (options_.matched == WhenMatched::kFail && !matches_.empty()) {
      return Named("Merge insert failed: found matching row with key values: {}", matches_[0].key);
    }
    if (options_.matched == WhenMatched::kUpdate) PILUM_RETURN_NOT_OK(PlanUpdates());
    if (options_.matched == WhenMatched::kDelete) PILUM_RETURN_NOT_OK(PlanDeletes());
    if (options_.insert) PlanInserts();
    if (options_.delete_others) PILUM_RETURN_NOT_OK(PlanOthers());
    return std::move(out_);
  }

 private:
  struct Match1 {
    uint32_t key;
    uint64_t address;
  };

  Status Match() {
    out_.matched.resize(keys_.num_keys());
    std::vector<uint64_t> fragments;
    for (const Fragment& f : table_.manifest().fragments) fragments.push_back(f.id);
    const auto found = [&](uint32_t key, uint64_t address) {
      matches_.push_back({key, address});
      out_.matched[key] = true;
      return Status::OK();
    };
    if (keys_.num_keys() > 0) PILUM_RETURN_NOT_OK(FindKeys(table_, fragments, on_, keys_, ctx_, found));
    std::sort(matches_.begin(), matches_.end(), [](const Match1& a, const Match1& b) { return a.address < b.address; });
    return Status::OK();
  }

  // An error that says of which key it is.
  Status Named(const char* text, uint32_t key) {
    std::string values;
    const uint32_t row[] = {keys_.first_row(key)};
    PILUM_RETURN_NOT_OK(source_.Take(on_, row, ctx_, [&](size_t, const arrow::RecordBatch& batch) -> Status {
      for (int i = 0; i < batch.num_columns(); ++i) {
        PILUM_ASSIGN_OR_RETURN(auto value, batch.column(i)->GetScalar(0));
        values += fmt::format("{}{} = {}", i > 0 ? ", " : "", on_[static_cast<size_t>(i)], value->ToString());
      }
      return Status::OK();
    }));
    return MakeError(ErrorKind::kUsage, fmt::format(fmt::runtime(text), values));
  }

  Status Ambiguous(uint32_t key) {
    return Named(
        "Ambiguous merge inserts are prohibited: multiple source rows match the same target row on ({}). Please ensure "
        "each target row is matched by at most one source row.",
        key);
  }

  Status PlanUpdates() {
    std::vector<MergePair> pairs;
    for (const Match1& m : matches_) {
      for (const uint32_t row : keys_.rows_of(m.key)) pairs.push_back({row, m.address});
    }
    if (!options_.update_if.empty()) PILUM_RETURN_NOT_OK(KeepWhereTrue(&pairs));
    for (size_t i = 1; i < pairs.size(); ++i) {
      if (pairs[i].address == pairs[i - 1].address) return Ambiguous(keys_.key_of_row()[pairs[i].row]);
    }
    out_.taken = ByFragment(pairs);
    out_.updates = std::move(pairs);
    return Status::OK();
  }

  static std::vector<std::string> TopLevel(const BoundPredicate& predicate, std::string_view side) {
    std::set<std::string> names;
    for (const FieldPath& path : predicate.columns()) {
      if (path.steps.size() > 1 && path.steps[0] == side) names.insert(path.steps[1]);
    }
    return {names.begin(), names.end()};
  }

  // The condition is over two structs.
  Status KeepWhereTrue(std::vector<MergePair>* pairs) {
    const auto both =
        arrow::schema({arrow::field("source", arrow::struct_(FieldsWithJsonText(*source_.schema())), false),
                       arrow::field("target", arrow::struct_(table_.schema()->fields()), false)});
    PILUM_ASSIGN_OR_RETURN(auto condition, BindPredicate(options_.update_if, *both, {}));
    std::vector<MergePair> kept;
    const auto all = [](const std::string&) { return true; };
    const auto take = [&](size_t first, const arrow::RecordBatch& target, const arrow::RecordBatch& source) -> Status {
      arrow::ArrayVector sides;
      arrow::FieldVector fields;
      for (const auto* stored : {&source, &target}) {
        PILUM_ASSIGN_OR_RETURN(const auto side, WithJsonText(*stored, all, ctx_));
        fields.push_back(
            arrow::field(stored == &source ? "source" : "target", arrow::struct_(side->schema()->fields()), false));
        sides.push_back(std::make_shared<arrow::StructArray>(fields.back()->type(), side->num_rows(), side->columns()));
      }
      const auto batch = arrow::RecordBatch::Make(arrow::schema(fields), target.num_rows(), sides);
      PILUM_ASSIGN_OR_RETURN(auto is_true, condition->Evaluate(*batch, ctx_));
      for (int64_t i = 0; i < is_true->length(); ++i) {
        if (is_true->IsValid(i) && is_true->Value(i)) kept.push_back((*pairs)[first + static_cast<size_t>(i)]);
      }
      return Status::OK();
    };
    PILUM_RETURN_NOT_OK(
        ReadPairs(table_, source_, *pairs, TopLevel(*condition, "target"), TopLevel(*condition, "source"), ctx_, take));
    *pairs = std::move(kept);
    return Status::OK();
  }

  Status PlanDeletes() {
    std::vector<uint64_t> addresses;
    for (const Match1& m : matches_) {
      if (keys_.rows_of(m.key).size() > 1) return Ambiguous(m.key);
      addresses.push_back(m.address);
    }
    out_.taken = ByFragment(addresses);
    out_.deleted += addresses.size();
    return Status::OK();
  }

  void PlanInserts() {
    const auto& key_of_row = keys_.key_of_row();
    for (size_t row = 0; row < key_of_row.size(); ++row) {
      const uint32_t key = key_of_row[row];
      if (key == MergeKeys::kNone || !out_.matched[key]) out_.inserts.push_back(static_cast<uint32_t>(row));
    }
  }

  Status PlanOthers() {
    PILUM_ASSIGN_OR_RETURN(TakenRows others, Candidates());
    std::vector<uint64_t> addresses;
    for (const Match1& m : matches_) addresses.push_back(m.address);
    const TakenRows matched = ByFragment(addresses);
    for (auto& [fragment, rows] : others) {
      const auto known = matched.find(fragment);
      const RowSet gone = known == matched.end() ? rows : rows.Minus(known->second);
      if (gone.empty()) continue;
      out_.deleted += gone.size();
      out_.taken[fragment] = out_.taken[fragment].Union(gone);
    }
    return Status::OK();
  }

  Result<TakenRows> Candidates() {
    if (!options_.delete_if.empty()) return FindRows(table_, options_.delete_if, ctx_, options_.delete_params);
    std::vector<uint64_t> fragments;
    for (const Fragment& f : table_.manifest().fragments) fragments.push_back(f.id);
    return LiveRows(table_, fragments, ctx_);
  }

  const Table& table_;
  const MergeSource& source_;
  const MergeKeys& keys_;
  const std::vector<std::string>& on_;
  const MergeOptions& options_;
  ReadContext& ctx_;
  std::vector<Match1> matches_;
  MergePlan out_;
};

}  // namespace

Result<MergePlan> PlanMerge(const Table& table, const MergeSource& source, const std::vector<std::string>& on,
                            const MergeOptions& options, ReadContext& ctx) {
  return Planner(table, source, on, options, ctx).Plan();
}

TakenRows ByFragment(const std::vector<MergePair>& pairs) {
  std::vector<uint64_t> addresses;
  for (const MergePair& p : pairs) {
    if (addresses.empty() || addresses.back() != p.address) addresses.push_back(p.address);
  }
  return ByFragment(addresses);
}

Result<std::shared_ptr<arrow::RecordBatch>> TakeRows(const arrow::RecordBatch& batch,
                                                     const std::vector<int64_t>& rows) {
  arrow::Int64Builder builder;
  PILUM_RETURN_NOT_OK(builder.AppendValues(rows));
  PILUM_ASSIGN_OR_RETURN(auto indices, builder.Finish());
  arrow::ArrayVector columns;
  for (const auto& column : batch.columns()) {
    PILUM_ASSIGN_OR_RETURN(arrow::Datum taken, arrow::compute::Take(column, indices));
    columns.push_back(taken.make_array());
  }
  return arrow::RecordBatch::Make(batch.schema(), static_cast<int64_t>(rows.size()), std::move(columns));
}

Status FindKeys(const Table& table, const std::vector<uint64_t>& fragments, const std::vector<std::string>& on,
                const MergeKeys& keys, ReadContext& ctx, const std::function<Status(uint32_t, uint64_t)>& found) {
  PILUM_ASSIGN_OR_RETURN(const TakenRows live, LiveRows(table, fragments, ctx));
  std::vector<uint32_t> of_row;
  const auto take = [&](uint64_t fragment, const RowSet& places, const arrow::RecordBatch& batch) -> Status {
    PILUM_RETURN_NOT_OK(keys.Find(batch.columns(), batch.num_rows(), &of_row));
    if (std::all_of(of_row.begin(), of_row.end(), [](uint32_t key) { return key == MergeKeys::kNone; })) {
      return Status::OK();
    }
    const auto addresses = AddressesOf(fragment, places);
    for (size_t i = 0; i < of_row.size(); ++i) {
      if (of_row[i] != MergeKeys::kNone) PILUM_RETURN_NOT_OK(found(of_row[i], addresses[i]));
    }
    return Status::OK();
  };
  return ReadRows(table, live, PathsOf(on), {}, ctx, take);
}

Status ReadPairs(const Table& table, const MergeSource& source, const std::vector<MergePair>& pairs,
                 const std::vector<std::string>& target_columns, const std::vector<std::string>& source_columns,
                 ReadContext& ctx, const TakePairs& take) {
  std::vector<uint32_t> rows;
  for (const MergePair& p : pairs) rows.push_back(p.row);
  // The source's rows of `n` pairs from `first` on, which lie beside `target`.
  const auto beside = [&](size_t first, size_t n, const arrow::RecordBatch& target) -> Status {
    if (source_columns.empty()) return take(first, target, *NoColumns(n));
    return source.Take(source_columns, std::span(rows).subspan(first, n), ctx,
                       [&](size_t at, const arrow::RecordBatch& batch) {
                         const auto part = target.Slice(static_cast<int64_t>(at), batch.num_rows());
                         return take(first + at, *part, batch);
                       });
  };
  if (target_columns.empty()) return beside(0, pairs.size(), *NoColumns(pairs.size()));
  BatchLimits limits;
  limits.bytes = 32 << 20;
  const auto read = [&](uint64_t fragment, const RowSet& places, const arrow::RecordBatch& batch) -> Status {
    const auto addresses = AddressesOf(fragment, places);
    const auto begin = std::lower_bound(pairs.begin(), pairs.end(), addresses[0],
                                        [](const MergePair& p, uint64_t address) { return p.address < address; });
    const auto first = static_cast<size_t>(begin - pairs.begin());
    std::vector<int64_t> of_pair;
    for (size_t i = 0; i < addresses.size(); ++i) {
      while (first + of_pair.size() < pairs.size() && pairs[first + of_pair.size()].address == addresses[i]) {
        of_pair.push_back(static_cast<int64_t>(i));
      }
    }
    if (of_pair.size() == addresses.size()) return beside(first, of_pair.size(), batch);
    PILUM_ASSIGN_OR_RETURN(auto repeated, TakeRows(batch, of_pair));
    return beside(first, of_pair.size(), *repeated);
  };
  return ReadRows(table, ByFragment(pairs), PathsOf(target_columns), limits, ctx, read);
}

}  // namespace pilum
