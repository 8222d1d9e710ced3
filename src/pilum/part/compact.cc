#include "pilum/part/compact.h"

#include <algorithm>
#include <map>

#include <arrow/type.h>

#include "pilum/part/plan_book.h"
#include "pilum/part/union_schema.h"

namespace pilum {
namespace {

constexpr int kRounds = 64;  // each but the last lost its plan's number to somebody
constexpr size_t kMostInputs = 4096;

bool CanWrite(const std::shared_ptr<arrow::Schema>& schema) {
  BufferPtr bytes;
  return FileWriter::Make(MakeMemorySink("", &bytes), schema, {}).ok();
}

class Compactor {
 public:
  Compactor(const DatasetFiles& files, const CompactOptions& options, ReadContext& ctx)
      : options_(options), book_(files, ctx) {}

  Result<CompactResult> Run() {
    PILUM_RETURN_NOT_OK(book_.Look());
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
  using Group = std::vector<const LoadedPart*>;

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
    for (const Group& group : Groups()) {
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

  // The smallest parts first, up to the target. A part joins only if the others have as many rows together: so a row is
  // written again at most about log2(target) times, however often compaction runs.
  std::vector<Group> Groups() const {
    std::vector<Group> groups;
    for (Group& parts : Buckets()) {
      std::stable_sort(parts.begin(), parts.end(),
                       [](const LoadedPart* a, const LoadedPart* b) { return a->num_rows < b->num_rows; });
      Group group;
      uint64_t rows = 0, bytes = 0;
      const auto close = [&] {
        while (!options_.all && group.size() > 1 && group.back()->num_rows > rows - group.back()->num_rows) {
          rows -= group.back()->num_rows;
          group.pop_back();
        }
        std::sort(group.begin(), group.end(),
                  [](const LoadedPart* a, const LoadedPart* b) { return a->file.name < b->file.name; });
        if (group.size() > 1) groups.push_back(std::move(group));
        group = {};
        rows = bytes = 0;
      };
      for (const LoadedPart* part : parts) {
        const bool fits = (options_.target_rows == 0 || rows + part->num_rows <= options_.target_rows) &&
                          bytes + part->file.size <= options_.target_bytes && group.size() < kMostInputs;
        if (!fits) close();
        group.push_back(part);
        rows += part->num_rows;
        bytes += part->file.size;
      }
      close();
    }
    return groups;
  }

  const CompactOptions options_;
  PlanBook book_;
  CompactResult result_;
};

}  // namespace

Result<CompactResult> Compact(const DatasetFiles& files, const CompactOptions& options, ReadContext& ctx) {
  if (options.target_bytes == 0) return UsageError("a part of 0 bytes holds nothing: raise target_bytes");
  return Compactor(files, options, ctx).Run();
}

}  // namespace pilum
