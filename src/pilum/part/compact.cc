#include "pilum/part/compact.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include <arrow/type.h>

#include "pilum/part/dataset_file.h"
#include "pilum/part/plan_book.h"
#include "pilum/part/put_order.h"
#include "pilum/part/sort_key.h"
#include "pilum/part/union_schema.h"
#include "pilum/source/field_path.h"

namespace pilum {
namespace {

constexpr int kRounds = 64;  // each but the last lost its plan's number to somebody
constexpr size_t kMostInputs = 4096;

bool CanWrite(const std::shared_ptr<arrow::Schema>& schema) {
  BufferPtr bytes;
  return FileWriter::Make(MakeMemorySink("", &bytes), schema, {}).ok();
}

using Group = std::vector<const LoadedPart*>;

// A part and the days of its rows.
struct Dated {
  const LoadedPart* part = nullptr;
  int64_t first = 0, last = 0;
};

// Which parts become one: up to the targets. A part joins only if the others have as many rows together: so a row is written
// again at most about log2(target) times, however often compaction runs.
class Grouping {
 public:
  explicit Grouping(const CompactOptions& options) : options_(options) {}

  void AddBySize(Group parts) {
    SortByRows(&parts);
    for (const LoadedPart* part : parts) Add(part);
    Close();
  }

  // As put does: a group ends with a day, at the first one after half of a target.
  void AddByDays(std::vector<Dated> parts) {
    std::stable_sort(parts.begin(), parts.end(), [](const Dated& a, const Dated& b) {
      return std::tuple(a.first, a.last, a.part->num_rows) < std::tuple(b.first, b.last, b.part->num_rows);
    });
    int64_t last = std::numeric_limits<int64_t>::min();
    for (const Dated& dated : parts) {
      if (dated.first > last && HalfFull()) Close();
      Add(dated.part);
      last = std::max(last, dated.last);
    }
    Close();
  }

  std::vector<Group> Take() { return std::move(groups_); }

 private:
  static void SortByRows(Group* parts) {
    std::stable_sort(parts->begin(), parts->end(),
                     [](const LoadedPart* a, const LoadedPart* b) { return a->num_rows < b->num_rows; });
  }
  bool HalfFull() const {
    return (options_.target_rows > 0 && rows_ * 2 >= options_.target_rows) || bytes_ >= options_.target_bytes / 2;
  }
  void Add(const LoadedPart* part) {
    const bool fits = (options_.target_rows == 0 || rows_ + part->num_rows <= options_.target_rows) &&
                      bytes_ + part->file.size <= options_.target_bytes && group_.size() < kMostInputs;
    if (!fits) Close();
    group_.push_back(part);
    rows_ += part->num_rows;
    bytes_ += part->file.size;
  }
  void Close() {
    SortByRows(&group_);
    while (!options_.all && group_.size() > 1 && group_.back()->num_rows > rows_ - group_.back()->num_rows) {
      rows_ -= group_.back()->num_rows;
      group_.pop_back();
    }
    std::sort(group_.begin(), group_.end(),
              [](const LoadedPart* a, const LoadedPart* b) { return a->file.name < b->file.name; });
    if (group_.size() > 1) groups_.push_back(std::move(group_));
    group_ = {};
    rows_ = bytes_ = 0;
  }

  const CompactOptions& options_;
  std::vector<Group> groups_;
  Group group_;
  uint64_t rows_ = 0, bytes_ = 0;
};

class Compactor {
 public:
  Compactor(const DatasetFiles& files, const CompactOptions& options, ReadContext& ctx)
      : files_(files), options_(options), ctx_(ctx), book_(files, ctx) {}

  Result<CompactResult> Run() {
    PILUM_RETURN_NOT_OK(book_.Look());
    PILUM_ASSIGN_OR_RETURN(spec_, ReadDatasetSpec(files_, ctx_));
    const auto count = [this](const MergePlan& plan, const PlanDone& done) { Count(plan, done); };
    PILUM_ASSIGN_OR_RETURN(const bool any, book_.DoOpen(PlanBook::Which::kLeft, &result_.notes, count));
    if (any) PILUM_RETURN_NOT_OK(book_.Look());
    for (int round = 1;; ++round) {
      PILUM_ASSIGN_OR_RETURN(const bool all, PlanAndDo());
      if (all) return std::move(result_);
      if (round == kRounds) {
        result_.notes.push_back("others planned first each time; what is left is for a later run");
        return std::move(result_);
      }
      PILUM_RETURN_NOT_OK(book_.Look());
    }
  }

 private:
  void Count(const MergePlan& plan, const PlanDone& done) {
    if (done.name.empty()) return;  // others did it
    ++result_.plans;
    result_.parts += plan.inputs.size();
    result_.rows += done.rows;
    result_.bytes += done.bytes;
    result_.merged.push_back(done.name);
  }

  // True: all groups of this view were planned. False: somebody planned meanwhile, look again.
  Result<bool> PlanAndDo() {
    PILUM_ASSIGN_OR_RETURN(const auto groups, Groups());
    for (const Group& group : groups) {
      PILUM_ASSIGN_OR_RETURN(const auto plan, book_.Plan(group, {}));
      if (!plan) return false;
      PILUM_ASSIGN_OR_RETURN(const PlanDone done, book_.Do(*plan));
      Count(*plan, done);
    }
    return true;
  }

  bool IsSmall(const LoadedPart& part) const {
    return (options_.target_rows == 0 || part.num_rows < options_.target_rows) &&
           part.file.size < options_.target_bytes;
  }

  // Small parts that nobody took, in buckets whose schemas unite.
  std::vector<Group> Buckets() const {
    struct Bucket {
      std::vector<NamedSchema> schemas;
      Group parts;
    };
    std::vector<Bucket> buckets;
    std::map<Hash128, size_t> bucket_of;
    for (const LoadedPart& part : book_.view().parts) {
      if (!IsSmall(part) || !book_.IsFree(part)) continue;
      const Hash128 key = SchemaDescriptorHash(*part.schema);
      auto known = bucket_of.find(key);
      for (size_t b = 0; known == bucket_of.end(); ++b) {
        if (b == buckets.size()) buckets.emplace_back();
        auto schemas = buckets[b].schemas;
        schemas.push_back({part.file.name, part.schema});
        if (!UnionSchema::Of(schemas).clashes.empty() && !buckets[b].schemas.empty()) continue;
        buckets[b].schemas = std::move(schemas);
        known = bucket_of.emplace(key, b).first;
      }
      buckets[known->second].parts.push_back(&part);
    }
    std::vector<Group> out;
    for (Bucket& bucket : buckets) {
      const UnionSchema all = UnionSchema::Of(bucket.schemas);
      if (all.clashes.empty() && CanWrite(all.schema)) out.push_back(std::move(bucket.parts));
    }
    return out;
  }

  // Where rows are ordered by a time: parts of one day, day by day, so that what becomes one part ends where a day ends; those
  // of several days likewise, apart. All others from the smallest on.
  Result<std::vector<Group>> Groups() {
    Grouping grouping(options_);
    for (const Group& parts : Buckets()) {
      std::vector<Dated> of_a_day, of_days;
      Group others;
      for (const LoadedPart* part : parts) {
        PILUM_ASSIGN_OR_RETURN(const auto dated, DaysOf(*part));
        if (!dated)
          others.push_back(part);
        else
          (dated->first == dated->last ? of_a_day : of_days).push_back(*dated);
      }
      grouping.AddByDays(std::move(of_a_day));
      grouping.AddByDays(std::move(of_days));
      grouping.AddBySize(std::move(others));
    }
    return grouping.Take();
  }

  // By its bounds of the time; nullopt: it has none, or they are not known.
  Result<std::optional<Dated>> DaysOf(const LoadedPart& part) {
    const PutOrder order = PutOrder::OfMerged(*part.schema, spec_);
    if (!order.day_of || !part.header) return std::nullopt;
    PILUM_ASSIGN_OR_RETURN(const auto bounds, part.header->Zones(*order.day_of, ctx_));
    if (!bounds || bounds->num_chunks() != 1 || bounds->domain != Domain::kInt || !bounds->IsSound(0) ||
        !(bounds->flags[0] & ZoneMap::kHasBounds))
      return std::nullopt;
    PILUM_ASSIGN_OR_RETURN(const auto field, FieldAt(*part.schema, *order.day_of));
    const auto day = [&](const Value& v) { return DayOf(static_cast<int64_t>(v.as_int()), *field->type()); };
    return Dated{&part, day(bounds->Low(0)), day(bounds->High(0))};
  }

  const DatasetFiles& files_;
  const CompactOptions options_;
  ReadContext& ctx_;
  std::optional<DatasetSpec> spec_;
  PlanBook book_;
  CompactResult result_;
};

}  // namespace

Result<CompactResult> Compact(const DatasetFiles& files, const CompactOptions& options, ReadContext& ctx) {
  if (options.target_bytes == 0) return UsageError("a part of 0 bytes holds nothing: raise target_bytes");
  return Compactor(files, options, ctx).Run();
}

}  // namespace pilum
