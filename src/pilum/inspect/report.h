// The whole of an inspection as one HTML page that needs nothing beside it: no network, no script. Called by cli. Pure.
#pragma once

#include <string>
#include <vector>

#include "pilum/inspect/advice.h"
#include "pilum/inspect/check.h"
#include "pilum/inspect/column_bytes.h"

namespace pilum {

struct ReportVersion {
  uint32_t holder = 0;
  std::string made_by;  // what made it, in words
};

struct ReportData {
  std::string table;    // its name
  std::string made_at;  // when the report was, "2026-11-29 20:51:17 UTC"
  std::string pilum;    // "Pilum 0.9"
  const References* refs = nullptr;
  const SpaceReport* space = nullptr;
  const CheckReport* check = nullptr;
  const Manifest* manifest = nullptr;  // of the shown version
  const std::vector<TableIndex>* indices = nullptr;
  std::vector<Advice> advice;
  MeasuredColumns columns;
  std::vector<ReportVersion> versions;  // of the shown version's branch, ascending, up to it
};

std::string RenderReport(const ReportData& data);

// The rooms of it.
std::string ReportStyle();                         // CSS
std::string RenderTimeline(const ReportData& d);   // rows and bytes over the versions
std::string RenderFragments(const ReportData& d);  // sizes, deleted rows
std::string RenderColumns(const ReportData& d);
std::string RenderSpace(const ReportData& d);     // who needs what; what a clean-up would free
std::string RenderVersions(const ReportData& d);  // the newest of them, as a table

}  // namespace pilum
