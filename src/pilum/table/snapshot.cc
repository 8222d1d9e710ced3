#include "pilum/table/snapshot.h"

#include <map>

#include <arrow/type.h>

#include "pilum/table/given_unit.h"

namespace pilum {
namespace {

class TableSnapshot final : public Snapshot {
 public:
  TableSnapshot(TableContext table, std::vector<std::shared_ptr<const Unit>> units)
      : table_(std::move(table)), units_(std::move(units)) {}
  const std::string& name() const override { return table_.files->uri(); }
  const std::shared_ptr<arrow::Schema>& schema() const override { return table_.schema->given(); }
  int num_hidden() const override { return table_.schema->num_system(); }
  const std::vector<std::shared_ptr<const Unit>>& units() const override { return units_; }
  bool has_stored_json(const FieldPath& column) const override { return table_.schema->IsJson(column); }
  Status CheckColumn(const std::string&) const override { return Status::OK(); }  // one schema holds for all
  const ReadCost* ahead() const override { return &table_.files->root().cost(); }

 private:
  const TableContext table_;
  const std::vector<std::shared_ptr<const Unit>> units_;
};

Result<std::vector<const Fragment*>> Chosen(const TableContext& table,
                                            const std::optional<std::vector<uint64_t>>& ids) {
  std::vector<const Fragment*> out;
  std::map<uint64_t, const Fragment*> by_id;
  for (const Fragment& f : table.manifest->fragments) {
    by_id.emplace(f.id, &f);
    if (!ids) out.push_back(&f);
  }
  if (!ids) return out;
  for (const uint64_t id : *ids) {
    const auto at = by_id.find(id);
    if (at == by_id.end()) {
      return NotFoundError("{}: version {} has no fragment {}", table.files->uri(), table.manifest->version, id);
    }
    out.push_back(at->second);
  }
  return out;
}

}  // namespace

Result<std::shared_ptr<const Snapshot>> MakeTableSnapshot(TableContext table,
                                                          const std::optional<std::vector<uint64_t>>& fragments,
                                                          ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto chosen, Chosen(table, fragments));
  std::vector<std::shared_ptr<const Unit>> units;
  for (const Fragment* f : chosen) {
    PILUM_RETURN_NOT_OK(ctx.Check());
    PILUM_ASSIGN_OR_RETURN(auto unit, MakeFragmentUnit(table, *f, ctx));
    if (table.schema->given() != table.schema->full()) unit = MakeGivenUnit(table, *f, std::move(unit));
    units.push_back(std::move(unit));
  }
  return std::make_shared<TableSnapshot>(std::move(table), std::move(units));
}

}  // namespace pilum
