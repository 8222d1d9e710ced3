// What a merged part's own bytes say that it stands for: plans, parts and batches, transitively
// (docs/formats/part_store.md, "Merged parts"). Pure; no I/O.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pilum/base/row_set.h"
#include "pilum/base/status.h"

namespace pilum {

inline constexpr char kStandsForKey[] = "pilum:stands_for";  // of the schema's metadata

// How a merged part names a part that put wrote: by half of its digits, the same that its sidecars know it by.
std::string PartKey(std::string_view content_name);

struct StandsFor {
  std::vector<uint64_t> plans;            // ascending; the part's own is among them
  std::vector<std::string> parts;         // keys, sorted
  std::map<std::string, RowSet> batches;  // by batch id: the input rows that it holds

  void Add(const StandsFor& other);
  void AddPlan(uint64_t number);
  void AddPart(const std::string& key);
  bool HasPlan(uint64_t number) const;
  bool HasPart(const std::string& key) const;

  // The same content gives the same text.
  std::string ToText() const;
  // kCorrupt names `file`.
  static Result<StandsFor> Parse(std::string_view text, std::string_view file);
};

// " BEGIN-END BEGIN-END …", each with its blank, and back without the first blank.
std::string RangesText(const RowSet& rows);
std::optional<RowSet> ParseRanges(std::string_view text);
// "ID BEGIN-END BEGIN-END …" with the id's bytes in hex, as plans and merged parts write a batch's rows; and back.
std::string BatchLine(const std::string& id, const RowSet& rows);
std::optional<std::pair<std::string, RowSet>> ParseBatchLine(std::string_view line);
// Decimal digits only, nothing else; nullopt otherwise.
std::optional<uint64_t> ParseNumber(std::string_view text);

}  // namespace pilum
