#include "pilum/table/take_blobs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/source/field_path.h"

namespace pilum {
namespace {

struct RowPlace {
  size_t fragment = 0;  // of the manifest's
  uint64_t row = 0;     // deleted ones counted
};

// The fragments of a version, each opened when a row of it is looked for.
class Places {
 public:
  Places(const TableContext& table, ReadContext& ctx)
      : table_(table), ctx_(ctx), opened_(table.manifest->fragments.size()) {}

  Result<std::vector<RowPlace>> Find(RowSelector selector, const std::vector<uint64_t>& rows) {
    if (selector == RowSelector::kNumbers) return ByNumber(rows);
    if (selector == RowSelector::kIds && table_.manifest->has_stable_row_ids()) return ById(rows);
    return ByAddress(rows);
  }

  Result<std::shared_ptr<const PhysicalFragment>> Open(size_t i) {
    PILUM_ASSIGN_OR_RETURN(const Opened* opened, At(i));
    return opened->fragment;
  }

 private:
  struct Opened {
    std::shared_ptr<const PhysicalFragment> fragment;
    RowSet live;
  };

  const Fragment& fragment(size_t i) const { return table_.manifest->fragments[i]; }
  std::string Where() const { return fmt::format("{} version {}", table_.files->uri(), table_.manifest->version); }

  Result<const Opened*> At(size_t i) {
    Opened& opened = opened_[i];
    if (!opened.fragment) {
      PILUM_ASSIGN_OR_RETURN(auto physical, PhysicalFragment::Make(table_, fragment(i), ctx_));
      PILUM_ASSIGN_OR_RETURN(const RowSet deleted, physical->ReadDeletions(ctx_));
      opened.live = deleted.Complement(physical->num_rows());
      opened.fragment = std::move(physical);
    }
    return &opened;
  }

  // Rows of a fragment that are not deleted; from the manifest where it says.
  Result<uint64_t> LiveRows(size_t i) {
    const Fragment& f = fragment(i);
    const uint64_t deleted = f.deletions ? f.deletions->num_deleted : 0;
    if (table_.manifest->tells_row_counts() && f.physical_rows > 0 && deleted <= f.physical_rows &&
        (deleted > 0 || !f.deletions)) {
      return f.physical_rows - deleted;
    }
    PILUM_ASSIGN_OR_RETURN(const Opened* opened, At(i));
    return opened->live.size();
  }

  Result<std::vector<RowPlace>> ByNumber(const std::vector<uint64_t>& rows) {
    std::vector<uint64_t> ends;
    for (size_t i = 0; i < opened_.size(); ++i) {
      PILUM_ASSIGN_OR_RETURN(const uint64_t live, LiveRows(i));
      ends.push_back((ends.empty() ? 0 : ends.back()) + live);
    }
    std::vector<RowPlace> out;
    for (const uint64_t row : rows) {
      const auto at = static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), row) - ends.begin());
      if (at == ends.size()) {
        return UsageError("{}: row {} is out of range: there are {}", Where(), row, ends.empty() ? 0 : ends.back());
      }
      PILUM_ASSIGN_OR_RETURN(const Opened* opened, At(at));
      const RowSet found = opened->live.SliceByRank(row - (at == 0 ? 0 : ends[at - 1]), 1);
      if (found.empty()) return Corrupt(Where(), "", "a deletion file deletes more rows than the manifest says");
      out.push_back({at, found.ranges()[0].begin});
    }
    return out;
  }

  Result<std::vector<RowPlace>> ByAddress(const std::vector<uint64_t>& rows) {
    std::unordered_map<uint64_t, size_t> by_id;
    for (size_t i = 0; i < opened_.size(); ++i) by_id.emplace(fragment(i).id, i);
    std::vector<RowPlace> out;
    for (const uint64_t address : rows) {
      const uint64_t row = address & 0xFFFFFFFF;
      const auto at = by_id.find(address >> 32);
      if (at == by_id.end()) {
        return UsageError("{}: row address {}: there is no fragment {}", Where(), address, address >> 32);
      }
      PILUM_ASSIGN_OR_RETURN(const Opened* opened, At(at->second));
      if (!opened->live.Contains(row)) {
        if (row < opened->fragment->num_rows()) {
          return Unsupported(
              "{}: row address {}: that row is deleted. A take operation that includes row addresses "
              "must not target deleted rows",
              Where(), address);
        }
        return UsageError("{}: row address {}: fragment {} has {} rows", Where(), address, at->first,
                          opened->fragment->num_rows());
      }
      out.push_back({at->second, row});
    }
    return out;
  }

  Result<std::vector<RowPlace>> ById(const std::vector<uint64_t>& rows) {
    std::unordered_map<uint64_t, std::optional<RowPlace>> wanted;
    for (const uint64_t id : rows) wanted.emplace(id, std::nullopt);
    for (size_t i = 0; i < opened_.size(); ++i) {
      PILUM_RETURN_NOT_OK(ctx_.Check());
      PILUM_ASSIGN_OR_RETURN(const Opened* opened, At(i));
      PILUM_ASSIGN_OR_RETURN(auto ids, opened->fragment->SystemValues(SystemColumn::kRowId, opened->live, ctx_));
      const auto& numbers = static_cast<const arrow::UInt64Array&>(*ids);
      int64_t k = 0;
      for (const RowRange& range : opened->live.ranges()) {
        for (uint64_t row = range.begin; row < range.end; ++row) {
          const auto at = wanted.find(numbers.Value(k++));
          if (at != wanted.end()) at->second = RowPlace{i, row};
        }
      }
    }
    std::vector<RowPlace> out;
    for (const uint64_t id : rows) {
      if (!wanted[id]) return UsageError("{}: there is no row with id {}", Where(), id);
      out.push_back(*wanted[id]);
    }
    return out;
  }

  const TableContext& table_;
  ReadContext& ctx_;
  std::vector<Opened> opened_;
};

// The blobs of some rows of one fragment, ascending.
Status OpenBlobs(const TableContext& table, const PhysicalFragment& fragment, const FieldPath& column,
                 const RowSet& rows, std::map<uint64_t, TakenBlob>* out, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto stream, fragment.Read({column}, rows, BatchLimits(), ctx));
  auto files = BlobFilesOf(table, fragment.fragment(), column);
  if (!files.ok() && KindOf(files.status()) != ErrorKind::kNotFound) return files.status();
  while (true) {
    PILUM_ASSIGN_OR_RETURN(auto batch, stream->Next());
    if (!batch) return Status::OK();
    PILUM_ASSIGN_OR_RETURN(auto descriptions, ArrayAt(*batch, column, ctx.memory_pool()));
    PILUM_ASSIGN_OR_RETURN(auto places, BlobPlacesOf(*descriptions));
    const std::vector<uint64_t> numbers = stream->rows().ToVector();
    for (size_t i = 0; i < places.size(); ++i) {
      TakenBlob taken{RowAddress(fragment.fragment().id, numbers[i]), nullptr};
      if (places[i]) {
        if (!files.ok()) return files.status();
        PILUM_ASSIGN_OR_RETURN(taken.blob, (*files)->Open(*places[i], ctx));
      }
      out->emplace(numbers[i], std::move(taken));
    }
  }
}

}  // namespace

Result<std::vector<TakenBlob>> TakeBlobs(const TableContext& table, const FieldPath& column, RowSelector selector,
                                         const std::vector<uint64_t>& rows, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto field, FieldAt(*table.schema->declared(), column));
  if (!IsBlobColumn(*field)) return UsageError("column '{}' is not a blob column", column.ToString());
  Places places(table, ctx);
  PILUM_ASSIGN_OR_RETURN(const auto found, places.Find(selector, rows));
  std::map<size_t, std::vector<uint64_t>> wanted;  // fragment -> its rows
  for (const RowPlace& place : found) wanted[place.fragment].push_back(place.row);
  std::map<size_t, std::map<uint64_t, TakenBlob>> taken;
  for (auto& [i, numbers] : wanted) {
    std::sort(numbers.begin(), numbers.end());
    PILUM_ASSIGN_OR_RETURN(auto fragment, places.Open(i));
    PILUM_RETURN_NOT_OK(OpenBlobs(table, *fragment, column, RowSet::FromSorted(numbers), &taken[i], ctx));
  }
  std::vector<TakenBlob> out;
  for (const RowPlace& place : found) out.push_back(taken.at(place.fragment).at(place.row));
  return out;
}

}  // namespace pilum
