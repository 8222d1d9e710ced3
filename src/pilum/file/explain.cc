#include "pilum/file/explain.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/encoding/page_writer.h"

namespace pilum {
namespace {

void Add(const std::vector<EncodedPage>& pages, PlannedColumn* out) {
  for (const EncodedPage& p : pages) {
    ++out->pages;
    for (const BufferPtr& b : p.buffers) out->bytes += static_cast<uint64_t>(b->size());
    out->layouts.push_back(p.layout.ToString());
    out->reasons.push_back(p.choice.why);
    for (const Alternative& a : p.choice.alternatives) {
      auto known = std::find_if(out->alternatives.begin(), out->alternatives.end(),
                                [&](const Alternative& k) { return k.name == a.name; });
      if (known == out->alternatives.end())
        out->alternatives.push_back(a);
      else
        known->bytes += a.bytes;
    }
  }
}

// The columns of one top-level field.
Status PlanField(const FileReader& file, int field, const PageWriterOptions& options, ReadContext& ctx,
                 std::vector<PlannedColumn>* out) {
  const arrow::Field& top = *file.schema()->field(field);
  const size_t first = out->size();
  std::vector<std::unique_ptr<ColumnWriter>> writers;
  PILUM_ASSIGN_OR_RETURN(const auto columns, LeafColumnsOf(*arrow::schema({file.schema()->field(field)})));
  for (const LeafColumn& c : columns) {
    PILUM_ASSIGN_OR_RETURN(auto writer, ColumnWriter::Make(&c, top, options));
    writers.push_back(std::move(writer));
    out->push_back({c.name});
  }
  const std::vector<FieldPath> path{FieldPath{{top.name()}}};
  PILUM_ASSIGN_OR_RETURN(auto stream, file.Read(path, RowSet::All(file.num_rows()), {}, ctx));
  while (true) {
    PILUM_ASSIGN_OR_RETURN(auto batch, stream->Next());
    for (size_t i = 0; i < writers.size(); ++i) {
      std::vector<EncodedPage> pages;
      PILUM_RETURN_NOT_OK(batch ? writers[i]->Append(batch->column(0), &pages) : writers[i]->Finish(&pages));
      Add(pages, &(*out)[first + i]);
    }
    if (!batch) return Status::OK();
  }
}

}  // namespace

Result<std::vector<PlannedColumn>> PlanColumns(const FileReader& file, WriteProfile profile, ReadContext& ctx) {
  PageWriterOptions options;
  const FileVersion version = file.info().version;
  options.version = version == FileVersion::kV2_1 ? version : FileVersion::kV2_2;
  options.profile = profile;
  std::vector<PlannedColumn> out;
  for (int i = 0; i < file.schema()->num_fields(); ++i) {
    PILUM_RETURN_NOT_OK(PlanField(file, i, options, ctx, &out));
  }
  return out;
}

}  // namespace pilum
