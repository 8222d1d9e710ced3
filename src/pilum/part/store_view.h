// One listing of a dataset and what follows from it: which parts count, and which are hidden by merged parts that stand
// for them. The rules are those of docs/formats/part_store.md, their proof is docs/adr/0015-plans.md.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "pilum/part/part_unit.h"
#include "pilum/part/stands_for.h"

namespace pilum {

struct HiddenPart {
  PartFile file;
  StoreTime since{};  // when the first of those that hide it appeared
};

// Pure. `said`: what each listed merged part stands for, by name; null for one that says nothing.
struct Visibility {
  std::vector<PartFile> visible;  // by name
  std::vector<HiddenPart> hidden;
  static Visibility Of(const std::vector<PartFile>& listed,
                       const std::map<std::string, std::shared_ptr<const StandsFor>>& said);
};

struct StoreView {
  std::vector<LoadedPart> parts;  // that count, by name: the order of rows
  std::vector<HiddenPart> hidden;
  // Of each merged part listed, hidden or not, by name.
  std::map<std::string, std::shared_ptr<const StandsFor>> said;

  // Is this content name stood for? A retried put of it then adds nothing.
  bool StandsInFor(const std::string& content_name) const;
  bool IsDone(uint64_t plan) const;
};

// Lists and loads. A part that is gone between its listing and its opening was merged and swept: list again.
Result<StoreView> LoadView(const DatasetFiles& files, bool use_index, ReadContext& ctx);
// The same without loading ordinary parts: what sweep needs.
struct ListedView {
  Visibility parts;
  std::map<std::string, std::shared_ptr<const StandsFor>> said;
};
Result<ListedView> ListView(const DatasetFiles& files, bool use_index, ReadContext& ctx);

}  // namespace pilum
