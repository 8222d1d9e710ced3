#include "pilum/part/store_view.h"

#include <algorithm>
#include <set>

#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "pilum/part/batch_rows.h"
#include "pilum/part/for_each.h"

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

Status LoadOne(const DatasetFiles& files, const PartFile& file, bool use_index, ReadContext& ctx, LoadedPart* out) {
  auto part = LoadPart(files, file, use_index, ctx);
  if (!part.ok()) return WithContext(fmt::format("part {}", file.name), part.status());
  *out = std::move(*part);
  return Status::OK();
}

Result<Listed> ListOnce(const DatasetFiles& files, bool use_index, ReadContext& ctx) {
  Listed out;
  PILUM_ASSIGN_OR_RETURN(out.files, files.ListParts());
  std::vector<const PartFile*> merged;
  for (const PartFile& file : out.files) {
    if (file.plan()) merged.push_back(&file);
  }
  std::vector<LoadedPart> loaded(merged.size());
  PILUM_RETURN_NOT_OK(ForEach(merged.size(), ctx.threads,
                              [&](size_t i) { return LoadOne(files, *merged[i], use_index, ctx, &loaded[i]); }));
  for (LoadedPart& part : loaded) {
    PILUM_ASSIGN_OR_RETURN(out.said[part.file.name], WhatItSays(part));
    out.merged.emplace(part.file.name, std::move(part));
  }
  return out;
}

// Runs `once` until no part of its listing was gone when it was opened.
template <typename F>
auto ListAgain(ReadContext& ctx, F once) -> decltype(once()) {
  for (int left = kListings;; --left) {
    auto out = once();
    if (out.ok() || KindOf(out.status()) != ErrorKind::kNotFound || left == 1) return out;
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

Result<StoreView> LoadOnce(const DatasetFiles& files, bool use_index, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(Listed listed, ListOnce(files, use_index, ctx));
  StoreView view;
  Visibility found = Visibility::Of(listed.files, listed.said);
  view.said = std::move(listed.said);
  view.hidden = std::move(found.hidden);
  view.parts.resize(found.visible.size());
  PILUM_RETURN_NOT_OK(ForEach(found.visible.size(), ctx.threads, [&](size_t i) {
    const PartFile& file = found.visible[i];
    auto loaded = listed.merged.find(file.name);
    if (loaded == listed.merged.end() || !file.plan()) return LoadOne(files, file, use_index, ctx, &view.parts[i]);
    view.parts[i] = loaded->second;
    view.parts[i].stands_for = view.said.at(file.name);
    return Status::OK();
  }));
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
  return ListAgain(ctx, [&] { return LoadOnce(files, use_index, ctx); });
}

Result<ListedView> ListView(const DatasetFiles& files, bool use_index, ReadContext& ctx) {
  return ListAgain(ctx, [&]() -> Result<ListedView> {
    PILUM_ASSIGN_OR_RETURN(Listed listed, ListOnce(files, use_index, ctx));
    Visibility found = Visibility::Of(listed.files, listed.said);
    return ListedView{std::move(found), std::move(listed.said)};
  });
}

}  // namespace pilum
