#include "pilum/encoding/page.h"

#include "pilum/base/bytes.h"
#include "pilum/encoding/page/page_base.h"

namespace pilum {
namespace {

Status Prepare(PageContext* c) {
  const PageInfo& info = c->info;
  for (const ByteRange& b : info.buffers) {
    if (b.size > c->file_size || b.offset > c->file_size - b.size) {
      return codec::BadBytes("a buffer at {} of {} bytes lies past the end of the file", b.offset, b.size);
    }
  }
  int64_t per_row = c->column->items_per_row();
  if (info.length > INT64_MAX) return codec::BadBytes("a length of {}", info.length);
  if (info.length % static_cast<uint64_t>(per_row) != 0) {
    return codec::BadBytes("{} items in rows of {}", info.length, per_row);
  }
  c->items_per_row = static_cast<uint64_t>(per_row);
  c->num_rows = info.length / c->items_per_row;
  PILUM_ASSIGN_OR_RETURN(c->plan, MakeLevelPlan(*c->column, info.layout.layers));
  return Status::OK();
}

Result<std::unique_ptr<Page>> Dispatch(PageContext&& c) {
  switch (c.info.layout.kind) {
    case LayoutKind::kMiniBlock: return MakeMiniBlockPage(std::move(c));
    case LayoutKind::kFullZip: return MakeFullZipPage(std::move(c));
    case LayoutKind::kConstant: return MakeConstantPage(std::move(c));
    case LayoutKind::kBlob: return MakeBlobPage(std::move(c));
    case LayoutKind::kSparse: return MakeSparsePage(std::move(c));
  }
  return Unsupported("an unknown page layout");
}

}  // namespace

Result<std::unique_ptr<Page>> Page::Make(PageInfo info, const LeafColumn* column, int index, FileVersion version,
                                         uint64_t file_size) {
  PageContext c;
  c.info = std::move(info);
  c.column = column;
  c.index = index;
  c.version = version;
  c.file_size = file_size;
  Status st = Prepare(&c);
  auto page = st.ok() ? Dispatch(std::move(c)) : Result<std::unique_ptr<Page>>(st);
  if (!page.ok()) return WithContext(fmt::format("column '{}' page {}", column->name, index), page.status());
  return page;
}

}  // namespace pilum
