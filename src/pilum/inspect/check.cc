#include "pilum/inspect/check.h"

#include <algorithm>

namespace pilum {
namespace {

bool Stops(const Status& status) {
  const ErrorKind kind = KindOf(status);
  return kind == ErrorKind::kCancelled || kind == ErrorKind::kDeadline || kind == ErrorKind::kMemory;
}

}  // namespace

Status Findings::FromStatus(std::string code, std::string where, const Status& status, std::string fix) {
  if (status.ok() || Stops(status)) return status;
  Problem(std::move(code), std::move(where), status.message(), std::move(fix));
  return Status::OK();
}

std::vector<Finding> Findings::Take() {
  std::stable_sort(found_.begin(), found_.end(), [](const Finding& a, const Finding& b) {
    return static_cast<int>(a.severity) < static_cast<int>(b.severity);
  });
  return std::move(found_);
}

Result<CheckReport> CheckTable(const CheckInput& input, References* refs_out, ReadContext& ctx) {
  CheckReport report;
  report.deep = input.deep;
  Findings findings;
  References refs;  // of which the visits see what is listed already
  const uint64_t shown = input.table ? input.table->manifest().version : 0;
  std::vector<TableIndex> indices;
  const VisitManifest visit = [&](const References& so_far, uint32_t i, const Manifest& m,
                                  const std::vector<TableIndex>& of, const ByteSource& source) -> Status {
    const Holder& h = so_far.holders[i];
    const bool is_shown = input.table && h.branch == input.branch && h.version == shown;
    if (is_shown) indices = of;
    report.made_by.resize(so_far.holders.size());
    PILUM_ASSIGN_OR_RETURN(report.made_by[i],
                           CheckTransaction(*input.root, so_far, h, m, source, is_shown || input.deep, &findings, ctx));
    return Status::OK();
  };
  PILUM_ASSIGN_OR_RETURN(refs, CollectReferences(*input.root, visit, ctx));
  report.made_by.resize(refs.holders.size());
  CheckFolder(refs, input.branch, &findings);
  PILUM_RETURN_NOT_OK(CheckHint(*input.root, refs, input.branch, &findings, ctx));
  for (const Holder& h : refs.holders) {
    ++report.versions;
    report.readable += h.status.ok();
  }
  if (input.table) {
    CheckManifest(input.table->manifest(), indices, &findings);
    PILUM_RETURN_NOT_OK(CheckFiles(input.table, refs, input.deep, &report, &findings, ctx));
  } else if (findings.problems() == 0) {
    PILUM_RETURN_NOT_OK(findings.FromStatus("not_open", input.root->uri(), input.opening));
  }
  report.problems = findings.problems();
  report.notes = findings.notes();
  report.findings = findings.Take();
  if (refs_out != nullptr) *refs_out = std::move(refs);
  return report;
}

}  // namespace pilum
