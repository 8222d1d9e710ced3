// Pages whose layout is parsed at their first use: opening a file costs its columns and rows, not the symbol tables and
// dictionaries' descriptions of pages that nobody reads.
#include <mutex>

#include <arrow/array.h>

#include "pilum/base/bytes.h"
#include "pilum/encoding/codec/codec.h"
#include "pilum/encoding/page.h"

namespace pilum {
namespace {

// Of a page that cannot be read.
class FailedRead : public PageRead {
 public:
  explicit FailedRead(Status status) : status_(std::move(status)) {}
  Result<std::vector<ByteRange>> Next(std::vector<BufferPtr>) override { return status_; }
  Result<std::shared_ptr<arrow::Array>> Decode(ReadContext&) override { return status_; }

 private:
  Status status_;
};

class LazyPage : public Page {
 public:
  LazyPage(PageHead head, PageMessage message, const LeafColumn* column, int index, FileVersion version,
           uint64_t file_size)
      : head_(std::move(head)),
        message_(std::move(message)),
        column_(column),
        index_(index),
        version_(version),
        file_size_(file_size),
        num_rows_(head_.length / static_cast<uint64_t>(column->items_per_row())) {}

  std::unique_ptr<PageRead> StartRead(RowSet rows) const override {
    if (const Page* page = Parsed()) return page->StartRead(std::move(rows));
    return std::make_unique<FailedRead>(status_);
  }
  uint64_t estimated_row_bytes() const override {
    const Page* page = Parsed();
    return page ? page->estimated_row_bytes() : 0;
  }
  uint64_t num_rows() const override { return num_rows_; }
  const PageInfo& info() const override {
    const Page* page = Parsed();
    return page ? page->info() : *failed_;
  }
  std::vector<ByteRange> stored_ranges() const override { return head_.buffers; }
  uint64_t cached_bytes() const override { return page_ ? page_->cached_bytes() : 0; }
  const Page& parsed() const override {
    const Page* page = Parsed();
    return page ? *page : *this;
  }
  Status status() const override {
    Parsed();
    return status_;
  }

 private:
  const Page* Parsed() const {
    std::call_once(once_, [this] {
      auto page = Parse();
      if (page.ok())
        page_ = std::move(*page);
      else
        status_ = page.status(), failed_ = std::make_unique<PageInfo>(PageHead(head_).ToInfo());
    });
    return page_.get();
  }
  Result<std::unique_ptr<Page>> Parse() const {
    PageInfo info = PageHead(head_).ToInfo();
    auto layout = ParsePageLayout(message_.bytes, version_);
    if (!layout.ok()) return WithContext(fmt::format("column '{}' page {}", column_->name, index_), layout.status());
    info.layout = std::move(*layout);
    return Page::Make(std::move(info), column_, index_, version_, file_size_);
  }

  const PageHead head_;
  const PageMessage message_;
  const LeafColumn* column_;
  const int index_;
  const FileVersion version_;
  const uint64_t file_size_, num_rows_;
  mutable std::once_flag once_;
  mutable std::unique_ptr<Page> page_;
  mutable Status status_;
  mutable std::unique_ptr<const PageInfo> failed_;  // of a page that does not parse
};

// Mini-block and full-zip pages hold a byte or more for each chunk or row; others may stand for rows that cost nothing,
// and are looked at at once.
bool BytesBoundRows(std::string_view message) {
  constexpr char kMiniBlock = 1 << 3 | 2, kFullZip = 3 << 3 | 2;
  return !message.empty() && (message[0] == kMiniBlock || message[0] == kFullZip);
}

}  // namespace

Result<std::unique_ptr<Page>> Page::MakeLazily(PageHead head, PageMessage message, const LeafColumn* column, int index,
                                               FileVersion version, uint64_t file_size) {
  if (version == FileVersion::kV2_3 || !BytesBoundRows(message.bytes)) {
    auto layout = ParsePageLayout(message.bytes, version);
    if (!layout.ok()) return WithContext(fmt::format("column '{}' page {}", column->name, index), layout.status());
    PageInfo info = std::move(head).ToInfo();
    info.layout = std::move(*layout);
    return Make(std::move(info), column, index, version, file_size);
  }
  constexpr uint64_t kRowsOfEightBytes = uint64_t{1} << 16;  // no chunk has more events, or fewer bytes
  uint64_t bytes = 0;
  for (const ByteRange& b : head.buffers) bytes += b.size;
  if (head.length / kRowsOfEightBytes > bytes / 8) {
    return MakeError(ErrorKind::kCorrupt,
                     fmt::format("column '{}' page {}: {} rows in {} bytes", column->name, index, head.length, bytes));
  }
  return std::unique_ptr<Page>(new LazyPage(std::move(head), std::move(message), column, index, version, file_size));
}

}  // namespace pilum
