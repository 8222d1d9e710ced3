#include "pilum/part/erase.h"

#include "pilum/part/plan_book.h"
#include "pilum/part/store_snapshot.h"

namespace pilum {
namespace {

constexpr int kRounds = 64;
constexpr size_t kMostInputs = 4096;

class Eraser {
 public:
  Eraser(const DatasetFiles& files, const BindRowMatcher& bind, const EraseOptions& options, ReadContext& ctx)
      : files_(files), bind_(bind), options_(options), ctx_(ctx), book_(files, ctx) {}

  Result<EraseResult> Run() {
    for (int round = 1;; ++round) {
      PILUM_RETURN_NOT_OK(Look());
      PILUM_ASSIGN_OR_RETURN(const bool all, Round());
      if (all) break;
      if (round == kRounds) return Status::IOError(files_.uri, ": others planned first each time; try again");
    }
    PILUM_RETURN_NOT_OK(LookAtHidden());
    return std::move(result_);
  }

 private:
  // Whatever a plan takes is out of reach until it is done, so open plans come first.
  Status Look() {
    result_.notes.clear();
    result_.straddling = 0;
    PILUM_RETURN_NOT_OK(book_.Look());
    PILUM_ASSIGN_OR_RETURN(const bool any, book_.DoOpen(PlanBook::Which::kAll, &result_.notes));
    if (any) PILUM_RETURN_NOT_OK(book_.Look());
    snapshot_ = MakeStoreSnapshot(files_, book_.view(), true);
    PILUM_ASSIGN_OR_RETURN(matcher_, bind_(*snapshot_));
    return Status::OK();
  }

  Result<RowSet> Match(const LoadedPart& part) {
    const PartUnit unit(files_, part, snapshot_->schema(), true);
    return matcher_(unit, ctx_);
  }

  // False: somebody planned meanwhile, or a part is gone; look again.
  Result<bool> Round() {
    std::vector<const LoadedPart*> whole;
    for (const LoadedPart& part : book_.view().parts) {
      auto rows = Match(part);
      if (!rows.ok() && KindOf(rows.status()) == ErrorKind::kNotFound) return false;
      PILUM_RETURN_NOT_OK(rows.status());
      if (rows->empty()) continue;
      if (!book_.IsFree(part)) {
        const char* why = part.file.content_hash().empty() ? "it was dropped in by hand; put its rows and remove it"
                                                           : "a plan that cannot be done takes it";
        result_.notes.push_back(
            fmt::format("part {} holds {} such rows and stays: {}", part.file.name, rows->size(), why));
      } else if (rows->size() == part.num_rows) {
        whole.push_back(&part);
      } else if (options_.whole_parts_only) {
        ++result_.straddling;
      } else {
        PILUM_ASSIGN_OR_RETURN(const bool won, Rewrite({&part}, {std::move(*rows)}));
        if (!won) return false;
      }
    }
    return DropWhole(whole);
  }

  Result<bool> DropWhole(const std::vector<const LoadedPart*>& parts) {
    for (size_t at = 0; at < parts.size();) {
      std::vector<const LoadedPart*> some;
      std::vector<NamedSchema> schemas;
      for (; at < parts.size() && some.size() < kMostInputs; ++at) {
        schemas.push_back({parts[at]->file.name, parts[at]->schema});
        if (!some.empty() && !UnionSchema::Of(schemas).clashes.empty()) break;
        some.push_back(parts[at]);
      }
      std::vector<RowSet> all;
      for (const LoadedPart* part : some) all.push_back(RowSet::All(part->num_rows));
      PILUM_ASSIGN_OR_RETURN(const bool won, Rewrite(some, std::move(all)));
      if (!won) return false;
    }
    return true;
  }

  Result<bool> Rewrite(const std::vector<const LoadedPart*>& parts, std::vector<RowSet> rows) {
    uint64_t counted = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      counted += parts[i]->counted ? parts[i]->counted->Intersect(rows[i]).size() : rows[i].size();
    }
    PILUM_ASSIGN_OR_RETURN(const auto plan, book_.Plan(parts, std::move(rows)));
    if (!plan) return false;
    PILUM_RETURN_NOT_OK(book_.Do(*plan).status());
    result_.rows += counted;
    result_.parts += parts.size();
    return true;
  }

  // Their bytes are there until they are swept.
  Status LookAtHidden() {
    PILUM_ASSIGN_OR_RETURN(const StoreView view, LoadView(files_, true, ctx_));
    for (const HiddenPart& hidden : view.hidden) {
      auto part = LoadPart(files_, hidden.file, true, ctx_);
      auto rows = part.ok() ? Match(*part) : Result<RowSet>(part.status());
      if (!rows.ok() && KindOf(rows.status()) == ErrorKind::kNotFound) continue;  // swept just now
      PILUM_RETURN_NOT_OK(rows.status());
      result_.hidden_left += !rows->empty();
    }
    return Status::OK();
  }

  const DatasetFiles& files_;
  const BindRowMatcher& bind_;
  const EraseOptions options_;
  ReadContext& ctx_;
  PlanBook book_;
  std::shared_ptr<const Snapshot> snapshot_;
  RowMatcher matcher_;
  EraseResult result_;
};

}  // namespace

Result<EraseResult> EraseRows(const DatasetFiles& files, const BindRowMatcher& bind, const EraseOptions& options,
                              ReadContext& ctx) {
  return Eraser(files, bind, options, ctx).Run();
}

}  // namespace pilum
