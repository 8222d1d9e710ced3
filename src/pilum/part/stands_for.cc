#include "pilum/part/stands_for.h"

#include <algorithm>
#include <charconv>
#include <span>

#include "pilum/base/hash.h"

namespace pilum {
namespace {

constexpr size_t kKeyDigits = 32;

template <typename T>
void MergeSorted(std::vector<T>* into, const std::vector<T>& more) {
  std::vector<T> out;
  std::set_union(into->begin(), into->end(), more.begin(), more.end(), std::back_inserter(out));
  *into = std::move(out);
}

template <typename T>
void InsertSorted(std::vector<T>* into, const T& value) {
  auto at = std::lower_bound(into->begin(), into->end(), value);
  if (at == into->end() || *at != value) into->insert(at, value);
}

std::string_view NextWord(std::string_view* text) {
  const size_t space = text->find(' ');
  std::string_view word = text->substr(0, space);
  text->remove_prefix(space == std::string_view::npos ? text->size() : space + 1);
  return word;
}

bool IsKey(std::string_view text) {
  return text.size() == kKeyDigits &&
         std::all_of(text.begin(), text.end(), [](char c) { return HexDigit(c) >= 0 && !(c >= 'A' && c <= 'F'); });
}

std::optional<std::string> Unhex(std::string_view digits) {
  std::string out;
  if (digits.size() % 2 != 0) return std::nullopt;
  for (size_t i = 0; i < digits.size(); i += 2) {
    const int high = HexDigit(digits[i]), low = HexDigit(digits[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
  }
  return out;
}

}  // namespace

std::string RangesText(const RowSet& rows) {
  std::string out;
  for (const RowRange& r : rows.ranges()) out += fmt::format(" {}-{}", r.begin, r.end);
  return out;
}

std::optional<RowSet> ParseRanges(std::string_view text) {
  std::vector<RowRange> ranges;
  while (!text.empty()) {
    const std::string_view range = NextWord(&text);
    const size_t dash = range.find('-');
    if (dash == std::string_view::npos) return std::nullopt;
    const auto begin = ParseNumber(range.substr(0, dash)), end = ParseNumber(range.substr(dash + 1));
    if (!begin || !end || *begin >= *end) return std::nullopt;
    ranges.push_back({*begin, *end});
  }
  return RowSet::FromRanges(std::move(ranges));
}

std::string BatchLine(const std::string& id, const RowSet& rows) {
  return Hex(std::span(reinterpret_cast<const uint8_t*>(id.data()), id.size())) + RangesText(rows);
}

std::optional<std::pair<std::string, RowSet>> ParseBatchLine(std::string_view line) {
  const auto id = Unhex(NextWord(&line));
  auto rows = ParseRanges(line);
  if (!id || id->empty() || !rows) return std::nullopt;
  return std::pair(*id, std::move(*rows));
}

namespace {

// One line into `out`; false: it is not one that this Pilum writes.
bool ParseLine(std::string_view line, StandsFor* out) {
  const std::string_view kind = NextWord(&line);
  if (kind == "plan") {
    const auto number = ParseNumber(line);
    if (number) out->plans.push_back(*number);
    return number.has_value();
  }
  if (kind == "part") {
    if (IsKey(line)) out->parts.emplace_back(line);
    return IsKey(line);
  }
  const auto batch = kind == "batch" ? ParseBatchLine(line) : std::nullopt;
  if (batch) out->batches[batch->first] = out->batches[batch->first].Union(batch->second);
  return batch.has_value();
}

template <typename T>
void SortUnique(std::vector<T>* v) {
  std::sort(v->begin(), v->end());
  v->erase(std::unique(v->begin(), v->end()), v->end());
}

}  // namespace

std::optional<uint64_t> ParseNumber(std::string_view text) {
  uint64_t v = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return v;
}

std::string PartKey(std::string_view content_name) { return std::string(content_name.substr(0, kKeyDigits)); }

void StandsFor::Add(const StandsFor& other) {
  MergeSorted(&plans, other.plans);
  MergeSorted(&parts, other.parts);
  for (const auto& [id, rows] : other.batches) batches[id] = batches[id].Union(rows);
}

void StandsFor::AddPlan(uint64_t number) { InsertSorted(&plans, number); }
void StandsFor::AddPart(const std::string& key) { InsertSorted(&parts, key); }
bool StandsFor::HasPlan(uint64_t number) const { return std::binary_search(plans.begin(), plans.end(), number); }
bool StandsFor::HasPart(const std::string& key) const { return std::binary_search(parts.begin(), parts.end(), key); }

std::string StandsFor::ToText() const {
  std::string out;
  for (uint64_t plan : plans) out += fmt::format("plan {}\n", plan);
  for (const std::string& part : parts) out += fmt::format("part {}\n", part);
  for (const auto& [id, rows] : batches) out += "batch " + BatchLine(id, rows) + "\n";
  return out;
}

Result<StandsFor> StandsFor::Parse(std::string_view text, std::string_view file) {
  StandsFor out;
  for (uint64_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos || !ParseLine(text.substr(0, end), &out)) {
      return Corrupt(file, fmt::format("schema metadata '{}' line {}", kStandsForKey, number),
                     "it does not say which plans, parts and batches this merged part stands for; a newer Pilum may "
                     "have written it");
    }
    text.remove_prefix(end + 1);
  }
  SortUnique(&out.plans);
  SortUnique(&out.parts);
  return out;
}

}  // namespace pilum
