#include "pilum/file/check.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/file/scan.h"

namespace pilum {
namespace {

constexpr uint64_t kPieceRows = 16 * 1024;
constexpr uint64_t kPieceBytes = 16 << 20;

// Every row of such a page decodes like every other, and a few bytes may stand for 2^48 of them: only the first and the
// last rows are decoded.
bool IsUniform(const Page& page) {
  return page.info().layout.kind == LayoutKind::kConstant && page.info().buffers.size() < 2;  // two hold levels
}

// Rows of leaves [first, last) of one field that differ in any way: all but the inside of uniform pages, some rows away
// from every page's ends.
RowSet RowsWorthReading(const OpenFile& file, size_t first, size_t last) {
  std::vector<RowRange> ranges;
  auto add = [&](uint64_t begin, uint64_t end) {
    if (begin < end) ranges.push_back({begin, end});
  };
  for (size_t leaf = first; leaf < last; ++leaf) {
    const OpenColumn& column = file.columns[leaf];
    for (size_t page = 0; page < column.pages.size(); ++page) {
      const uint64_t begin = column.first_row[page], end = column.first_row[page + 1];
      if (!IsUniform(*column.pages[page])) {
        add(begin, end);
        continue;
      }
      add(begin, std::min(end, begin + kPieceRows));
      add(end - std::min(end - begin, kPieceRows), end);
    }
  }
  return RowSet::FromRanges(std::move(ranges));
}

// Faults end the piece; these end the check.
bool EndsCheck(const Status& status) {
  ErrorKind kind = KindOf(status);
  return kind == ErrorKind::kCancelled || kind == ErrorKind::kDeadline;
}

// A page and what it is called, by the bytes of one of its buffers.
struct PageBuffer {
  ByteRange bytes;
  int top_level = 0;
  size_t leaf = 0, page = 0;  // where it is a page of a leaf
  std::string place;
};

std::vector<PageBuffer> PageBuffersOf(const OpenFile& file) {
  std::vector<PageBuffer> out;
  for (size_t leaf = 0; file.stored.empty() && leaf < file.leaves.size(); ++leaf) {
    for (size_t page = 0; page < file.columns[leaf].pages.size(); ++page) {
      for (const ByteRange& b : file.columns[leaf].pages[page]->info().buffers) {
        if (b.size > 0) out.push_back({b, file.leaves[leaf].top_level, leaf, page, file.PlaceOf(leaf, page)});
      }
    }
  }
  for (const auto& column : file.stored) {  // version 2.0: pages count entries of their own column
    uint64_t first = 0;
    for (size_t page = 0; page < column->pages.size(); ++page) {
      const PageInfo& info = column->pages[page];
      const auto place = fmt::format("column '{}' page {} (rows {} to {})", column->name, page, first,
                                     first + std::max<uint64_t>(1, info.length) - 1);
      for (const ByteRange& b : info.buffers) {
        if (b.size > 0) out.push_back({b, -1, 0, page, place});
      }
      first += info.length;
    }
  }
  return out;
}

class Checker {
 public:
  Checker(const OpenFile& file, const ReadContext& ctx) : file_(file), ctx_(ctx) {}

  Result<std::vector<Status>> Run() {
    if (file_.checksums && ctx_.verify != Verify::kOff) {
      PILUM_RETURN_NOT_OK(CheckChecksums());
      ctx_.verify = Verify::kOff;  // once is enough
    }
    for (size_t leaf = 0; leaf < file_.leaves.size(); ++leaf) {
      for (size_t page = 0; page < file_.columns[leaf].pages.size(); ++page) {
        PILUM_RETURN_NOT_OK(CheckPage(leaf, page));
      }
    }
    std::map<int, int> leaves_of;
    for (const LeafColumn& leaf : file_.leaves) ++leaves_of[leaf.top_level];
    for (const auto& [top_level, leaves] : leaves_of) {
      if (leaves > 1 && !faulty_.contains(top_level)) PILUM_RETURN_NOT_OK(CheckMerge(top_level));
    }
    return std::move(faults_);
  }

 private:
  // Holds all data against their checksums: one fault a page that a damaged block touches, one for damage elsewhere.
  Status CheckChecksums() {
    auto found = file_.checksums->FindDamage(*file_.source, kMaxFaults, ctx_);
    if (!found.ok()) {
      if (EndsCheck(found.status())) return found.status();
      Report(-1, "", found.status());
      return Status::OK();
    }
    if (found->empty()) return Status::OK();
    const auto pages = PageBuffersOf(file_);
    std::map<std::string, std::vector<ByteRange>> damaged;  // what it is -> where
    std::vector<std::string> order;
    auto add = [&](const std::string& place, const ByteRange& bad) {
      auto& at = damaged[place];
      if (at.empty()) order.push_back(place);
      if (at.empty() || at.back() != bad) at.push_back(bad);
    };
    for (const ByteRange& bad : *found) {
      bool in_page = false;
      for (const PageBuffer& p : pages) {
        if (p.bytes.offset >= bad.end() || bad.offset >= p.bytes.end()) continue;
        in_page = true;
        add(p.place, bad);
        if (p.top_level >= 0) condemned_.insert({p.leaf, p.page}), faulty_[p.top_level] = true;
      }
      if (!in_page) add("no page (payloads of blobs, another global buffer or padding)", bad);
    }
    for (const std::string& place : order) {
      const auto& at = damaged[place];
      Report(-1, place,
             MakeError(ErrorKind::kCorrupt,
                       fmt::format("bytes {} to {} of the file do not agree with their checksum{}", at[0].offset,
                                   at[0].end() - 1,
                                   at.size() > 1 ? fmt::format(", nor do {} more blocks", at.size() - 1) : "")));
    }
    return Status::OK();
  }

  Status CheckPage(size_t leaf, size_t number) {
    if (condemned_.contains({leaf, number})) return Status::OK();
    const OpenColumn& column = file_.columns[leaf];
    const Page& page = *column.pages[number];
    const uint64_t rows = page.num_rows();
    uint64_t fit = std::max<uint64_t>(1, kPieceBytes / EstimateRowBytes(file_, leaf, number));
    for (uint64_t at = 0; at < rows;) {
      uint64_t n = std::min({rows - at, kPieceRows, fit});
      Status st = CheckPiece(leaf, number, at, n);
      if (KindOf(st) == ErrorKind::kMemory && n > 1) {
        fit = n / 2;  // larger than guessed
        continue;
      }
      if (!st.ok()) {
        if (EndsCheck(st)) return st;
        const uint64_t first = column.first_row[number] + at;
        Report(file_.leaves[leaf].top_level,
               fmt::format("column '{}' page {} rows {} to {}", file_.leaves[leaf].name, number, first, first + n - 1),
               st);
        if (faults_.size() >= kMaxFaults) break;
      }
      at += n;
      if (IsUniform(page)) at = std::max(at, rows - std::min(rows, kPieceRows));
    }
    return Status::OK();
  }

  Status CheckPiece(size_t leaf, size_t page, uint64_t at, uint64_t n) {
    PILUM_RETURN_NOT_OK(ctx_.Check());
    PILUM_ASSIGN_OR_RETURN(auto array, DecodePage(file_, leaf, page, RowSet::Range(at, at + n), ctx_));
    if (static_cast<uint64_t>(array->length()) != n) {
      return MakeError(ErrorKind::kCorrupt, fmt::format("{} rows decoded where {} were asked for", array->length(), n));
    }
    Status st = array->ValidateFull();
    return st.ok() ? st : MakeError(ErrorKind::kCorrupt, st.message());
  }

  // Leaves that are sound alone may still not fit together.
  Status CheckMerge(int top_level) {
    const std::string& name = file_.schema->field(top_level)->name();
    Projection p;
    const auto& field = file_.schema->field(top_level);
    ReadField read{top_level, {}, field, field};
    for (size_t i = 0; i < file_.leaves.size(); ++i) {
      if (file_.leaves[i].top_level == top_level) read.leaves.push_back(static_cast<int>(i));
    }
    const RowSet rows =
        RowsWorthReading(file_, static_cast<size_t>(read.leaves.front()), static_cast<size_t>(read.leaves.back()) + 1);
    p.schema = arrow::schema({field});
    p.reads.push_back(std::move(read));
    p.outputs = {0};
    std::shared_ptr<const OpenFile> unowned(&file_, [](const OpenFile*) {});
    auto stream = MakeScan(unowned, std::make_shared<const Projection>(std::move(p)), rows,
                           BatchLimits{kPieceRows, kPieceBytes}, ctx_);
    uint64_t read_rows = 0;
    while (true) {
      auto batch = stream->Next();
      if (batch.ok() && *batch == nullptr) return Status::OK();
      if (!batch.ok()) {
        if (EndsCheck(batch.status())) return batch.status();
        const RowSet left = rows.SliceByRank(read_rows, 1);
        const uint64_t row = left.empty() ? file_.num_rows : left.ranges()[0].begin;
        Report(top_level, fmt::format("column '{}' from row {} on", name, row), batch.status());
        return Status::OK();
      }
      read_rows += static_cast<uint64_t>((*batch)->num_rows());
    }
  }

  void Report(int top_level, const std::string& place, const Status& status) {
    faulty_[top_level] = true;
    if (faults_.size() >= kMaxFaults) return;
    std::string message(status.message());
    const std::string prefix = file_.source->name() + ": ";
    if (message.starts_with(prefix)) message.erase(0, prefix.size());
    faults_.push_back(status.WithMessage(fmt::format("{}{}{}{}", prefix, place, place.empty() ? "" : ": ", message)));
  }

  const OpenFile& file_;
  ReadContext ctx_;
  std::set<std::pair<size_t, size_t>> condemned_;  // pages (leaf, number) with a damaged block
  std::map<int, bool> faulty_;                     // top-level fields with a fault
  std::vector<Status> faults_;
};

}  // namespace

Result<std::vector<Status>> CheckFile(const OpenFile& file, ReadContext& ctx) { return Checker(file, ctx).Run(); }

}  // namespace pilum
