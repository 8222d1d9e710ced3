#include "pilum/part/list_uniform.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "pilum/base/hash.h"
#include "pilum/base/for_each.h"

namespace pilum {
namespace {

constexpr double kPageShare = 0.88;  // of a page's names in a range, so that hardly any takes two
constexpr size_t kMostRanges = 128;

// Where in [0, 1) a name lies, by its first eight digits.
std::optional<double> PlaceOf(std::string_view name) {
  if (name.size() < 8) return std::nullopt;
  double place = 0;
  for (size_t i = 8; i-- > 0;) {
    const int digit = HexDigit(name[i]);
    if (digit < 0) return std::nullopt;
    place = (place + digit) / 16;
  }
  return place;
}

std::string NameAt(double place) { return fmt::format("{:08x}", static_cast<uint32_t>(place * 4294967296.0)); }

}  // namespace

Result<std::vector<ObjectInfo>> ListUniform(const ObjectStore& store, const std::string& prefix, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(ObjectStore::Page first, store.ListPage(prefix, "", ctx));
  if (!first.more) return std::move(first.objects);
  if (first.objects.empty()) return store.List(prefix, ctx);
  const std::string last = first.objects.back().path;
  const auto listed_up_to = PlaceOf(std::string_view(last).substr(prefix.size()));
  // Names in each unit of place, so ranges that are left.
  const double seen = listed_up_to.value_or(0), page = static_cast<double>(first.objects.size());
  const double left = seen > 0 ? page / seen * (1 - seen) : 0;
  const auto ranges = std::clamp<size_t>(static_cast<size_t>(std::ceil(left / (page * kPageShare))), 1, kMostRanges);
  std::vector<std::string> bounds = {last};
  for (size_t i = 1; i < ranges; ++i)
    bounds.push_back(
        std::max(last, prefix + NameAt(seen + (1 - seen) * static_cast<double>(i) / static_cast<double>(ranges))));
  bounds.emplace_back();
  std::vector<std::vector<ObjectInfo>> found(ranges);
  PILUM_RETURN_NOT_OK(ForEach(
      ranges, store.cost().parallel,
      [&](size_t i) -> Status {
        PILUM_ASSIGN_OR_RETURN(found[i], store.ListBetween(prefix, bounds[i], bounds[i + 1], ctx));
        return Status::OK();
      },
      1));
  std::vector<ObjectInfo> out = std::move(first.objects);
  for (auto& part : found)
    out.insert(out.end(), std::make_move_iterator(part.begin()), std::make_move_iterator(part.end()));
  return out;
}

}  // namespace pilum
