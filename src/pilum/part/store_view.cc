#include "pilum/part/store_view.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <set>

#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "pilum/part/batch_rows.h"
#include "pilum/part/bundle_book.h"
#include "pilum/base/for_each.h"
#include "pilum/part/part_cache.h"

namespace pilum {
namespace {

constexpr int kListings = 20;  // each but the last found a part gone

using Said = std::map<std::string, std::shared_ptr<const StandsFor>>;

struct Listed {
  std::vector<PartFile> files;
  std::map<std::string, LoadedPart> merged;  // loaded, by name
  Said said;
};

// What a merged part says in its own bytes, or in the prune header that carries the same schema.
Result<std::shared_ptr<const StandsFor>> WhatItSays(const LoadedPart& part) {
  const auto plan = part.file.plan();
  if (!plan) return nullptr;  // dropped in by hand: it counts, and hides nothing
  const auto& metadata = part.schema->metadata();
  const auto text = metadata ? metadata->Get(kStandsForKey) : Result<std::string>(Status::KeyError(""));
  if (!text.ok()) {
    return Corrupt(
        part.file.path, "schema metadata",
        fmt::format("no '{}' although its name is that of a merged part; move it to parts/ if its rows are to "
                    "count, else remove it",
                    kStandsForKey));
  }
  PILUM_ASSIGN_OR_RETURN(auto said, StandsFor::Parse(*text, part.file.path));
  if (!said.HasPlan(*plan)) {
    return Corrupt(part.file.path, fmt::format("schema metadata '{}'", kStandsForKey),
                   fmt::format("it does not stand for plan {}, whose output its name says it is", *plan));
  }
  return std::make_shared<const StandsFor>(std::move(said));
}

// What one listing has found and read so far.
class Loading {
 public:
  Loading(const DatasetFiles& files, bool use_index, ReadContext& ctx)
      : files_(files), use_index_(use_index), ctx_(ctx) {}

  // parts/ first, then merged/ in the order of names (docs/adr/0015-plans.md). Bundles are a cache, so when they are looked for
  // does not matter: meanwhile.
  Result<std::vector<PartFile>> List() {
    PILUM_ASSIGN_OR_RETURN(auto puts, files_.ListPuts(ctx_));
    listed_ = puts.size();
    std::future<Result<BundleBook>> book;
    if (WantsBundles(puts)) {
      try {
        book = std::async(std::launch::async, [&] { return BundleBook::Open(files_, ctx_); });
      } catch (const std::system_error&) {  // no more threads to be had: afterwards, then
      }
    }
    auto merged = files_.ListMerged(ctx_);
    if (book.valid()) {
      PILUM_ASSIGN_OR_RETURN(book_, book.get());
    }
    PILUM_RETURN_NOT_OK(merged.status());
    auto all = DatasetFiles::Join(std::move(puts), std::move(*merged));
    listed_ = all.size();
    if (!book_.is_open() && WantsBundles(all)) {
      PILUM_ASSIGN_OR_RETURN(book_, BundleBook::Open(files_, ctx_));
    }
    return all;
  }

  // The same of each: from what this handle knows, from a bundle, or from its own header.
  Status Load(const std::vector<const PartFile*>& parts, std::vector<LoadedPart>* out) {
    out->resize(parts.size());
    std::vector<size_t> unknown;
    for (size_t i = 0; i < parts.size(); ++i) {
      std::optional<LoadedPart> known;
      if (use_index_ && files_.cache) known = files_.cache->Find(*parts[i]);
      if (!known) known = book_.Find(*parts[i]);
      if (known) {
        (*out)[i] = std::move(*known);
      } else {
        unknown.push_back(i);
      }
    }
    const bool remote = files_.store->cost().remote;
    PILUM_RETURN_NOT_OK(ForEach(
        unknown.size(), files_.parallel(ctx_),
        [&](size_t i) { return LoadOne(*parts[unknown[i]], &(*out)[unknown[i]]); }, remote ? 1 : 4));
    if (!use_index_ || !files_.cache) return Status::OK();
    for (const LoadedPart& part : *out) files_.cache->Keep(part);
    return Status::OK();
  }

  // One that was stopped says how far it had come.
  Status Failure(const Status& status) const {
    const ErrorKind kind = KindOf(status);
    if (kind != ErrorKind::kDeadline && kind != ErrorKind::kCancelled) return status;
    return MakeError(kind, fmt::format("{} (by then: {} parts listed, {} of them opened)", status.message(),
                                       listed_.load(), opened_.load()));
  }

 private:
  bool WantsBundles(const std::vector<PartFile>& parts) const {
    return use_index_ && files_.cache && files_.cache->CountUnknown(parts) >= BundleBook::kFewParts;
  }

  Status LoadOne(const PartFile& file, LoadedPart* out) {
    PILUM_RETURN_NOT_OK(ctx_.Check());
    auto part = LoadPart(files_, file, use_index_, ctx_);
    if (!part.ok()) return WithContext(fmt::format("part {}", file.name), part.status());
    ++opened_;
    *out = std::move(*part);
    return Status::OK();
  }

  const DatasetFiles& files_;
  const bool use_index_;
  ReadContext& ctx_;
  BundleBook book_;
  std::atomic<uint64_t> listed_{0}, opened_{0};
};

Result<Listed> ListOnce(Loading& loading) {
  Listed out;
  PILUM_ASSIGN_OR_RETURN(out.files, loading.List());
  std::vector<const PartFile*> merged;
  for (const PartFile& file : out.files) {
    if (file.plan()) merged.push_back(&file);
  }
  std::vector<LoadedPart> loaded;
  PILUM_RETURN_NOT_OK(loading.Load(merged, &loaded));
  for (LoadedPart& part : loaded) {
    PILUM_ASSIGN_OR_RETURN(out.said[part.file.name], WhatItSays(part));
    out.merged.emplace(part.file.name, std::move(part));
  }
  return out;
}

// Runs `once` until no part of its listing was gone when it was opened.
template <typename F>
auto ListAgain(const DatasetFiles& files, bool use_index, ReadContext& ctx, F once)
    -> decltype(once(std::declval<Loading&>())) {
  for (int left = kListings;; --left) {
    Loading loading(files, use_index, ctx);
    auto out = once(loading);
    if (out.ok()) return out;
    if (KindOf(out.status()) != ErrorKind::kNotFound || left == 1) return loading.Failure(out.status());
    PILUM_RETURN_NOT_OK(ctx.Check());
  }
}

// Two puts of one batch at once may both have written its rows, cut differently: merged parts hold what they hold, then
// the first part by name counts.
void CountBatchesOnce(StoreView* view) {
  BatchRows held;
  for (const auto& [name, said] : view->said) {
    if (said) AddBatches(said->batches, &held);
  }
  for (LoadedPart& part : view->parts) {
    const auto batch = part.stands_for ? std::nullopt : BatchOf(*part.schema, part.num_rows);
    if (!batch) continue;
    RowSet rows = TakeRows(*batch, &held);
    if (rows.size() < part.num_rows) part.counted = std::move(rows);
  }
}

Result<StoreView> LoadOnce(const DatasetFiles& files, Loading& loading) {
  PILUM_ASSIGN_OR_RETURN(Listed listed, ListOnce(loading));
  StoreView view;
  Visibility found = Visibility::Of(listed.files, listed.said);
  view.said = std::move(listed.said);
  view.hidden = std::move(found.hidden);
  std::vector<const PartFile*> puts;
  for (const PartFile& file : found.visible) {
    if (!file.plan()) puts.push_back(&file);
  }
  std::vector<LoadedPart> loaded;
  PILUM_RETURN_NOT_OK(loading.Load(puts, &loaded));
  size_t next = 0;
  for (const PartFile& file : found.visible) {
    if (file.plan()) {
      view.parts.push_back(listed.merged.at(file.name));
      view.parts.back().stands_for = view.said.at(file.name);
    } else {
      view.parts.push_back(std::move(loaded[next++]));
    }
  }
  if (files.cache) files.cache->Retain(listed.files);
  CountBatchesOnce(&view);
  return view;
}

}  // namespace

Visibility Visibility::Of(const std::vector<PartFile>& listed, const Said& said) {
  // When the first of those that stand for it appeared: by part key and, of other plans' outputs, by plan.
  std::unordered_map<std::string, StoreTime> part_since;
  std::unordered_map<uint64_t, StoreTime> plan_since;
  std::map<uint64_t, const PartFile*> last_of_plan;  // the greatest name stays
  const auto note = [](auto* map, const auto& key, StoreTime when) {
    auto [it, is_new] = map->emplace(key, when);
    if (!is_new) it->second = std::min(it->second, when);
  };
  for (const PartFile& file : listed) {
    const auto plan = file.plan();
    const auto it = said.find(file.name);
    if (!plan || it == said.end() || !it->second) continue;
    last_of_plan[*plan] = &file;  // names ascend
    for (const std::string& key : it->second->parts) note(&part_since, key, file.modified);
    for (uint64_t other : it->second->plans) {
      if (other != *plan) note(&plan_since, other, file.modified);
    }
  }
  Visibility out;
  for (const PartFile& file : listed) {
    std::optional<StoreTime> since;
    if (const auto plan = file.plan()) {
      if (auto it = plan_since.find(*plan); it != plan_since.end()) since = it->second;
      const auto last = last_of_plan.find(*plan);
      if (last != last_of_plan.end() && last->second != &file) {
        since = std::min(since.value_or(last->second->modified), last->second->modified);
      }
    } else if (IsContentName(file.name)) {
      if (auto it = part_since.find(PartKey(file.name)); it != part_since.end()) since = it->second;
    }
    if (since) {
      out.hidden.push_back({file, *since});
    } else {
      out.visible.push_back(file);
    }
  }
  return out;
}

bool StoreView::StandsInFor(const std::string& content_name) const {
  const std::string key = PartKey(content_name);
  return std::any_of(said.begin(), said.end(), [&](const auto& s) { return s.second && s.second->HasPart(key); });
}

bool StoreView::IsDone(uint64_t plan) const {
  return std::any_of(said.begin(), said.end(), [&](const auto& s) { return s.second && s.second->HasPlan(plan); });
}

Result<StoreView> LoadView(const DatasetFiles& files, bool use_index, ReadContext& ctx) {
  return ListAgain(files, use_index, ctx, [&](Loading& loading) { return LoadOnce(files, loading); });
}

Result<ListedView> ListView(const DatasetFiles& files, bool use_index, ReadContext& ctx) {
  return ListAgain(files, use_index, ctx, [&](Loading& loading) -> Result<ListedView> {
    PILUM_ASSIGN_OR_RETURN(Listed listed, ListOnce(loading));
    Visibility found = Visibility::Of(listed.files, listed.said);
    return ListedView{std::move(found), std::move(listed.said)};
  });
}

}  // namespace pilum
