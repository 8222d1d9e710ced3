// Small datasets in a store and what a listing of them counts.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include <arrow/api.h>

#include "pilum/part/part_store.h"

namespace pilum::testing {

inline std::shared_ptr<arrow::RecordBatch> Rows(int64_t first, int64_t n) {
  arrow::Int64Builder ids;
  arrow::StringBuilder texts;
  for (int64_t i = first; i < first + n; ++i) {
    EXPECT_TRUE(ids.Append(i).ok());
    EXPECT_TRUE((i % 7 == 0 ? texts.AppendNull() : texts.Append("t" + std::to_string(i % 50))).ok());
  }
  return arrow::RecordBatch::Make(arrow::schema({arrow::field("id", arrow::int64()), arrow::field("t", arrow::utf8())}),
                                  n, {ids.Finish().ValueOrDie(), texts.Finish().ValueOrDie()});
}

inline Result<PutResult> Put(const std::shared_ptr<ObjectStore>& store, const std::shared_ptr<arrow::RecordBatch>& rows,
                             const PutOptions& options) {
  PILUM_ASSIGN_OR_RETURN(auto parts, PartStore::OpenIn(store, "d"));
  PILUM_ASSIGN_OR_RETURN(auto reader, arrow::RecordBatchReader::Make({rows}));
  ReadContext ctx;
  return parts->Put(*reader, options, ctx);
}

inline Result<CompactResult> Compact(const std::shared_ptr<ObjectStore>& store, const CompactOptions& options) {
  PILUM_ASSIGN_OR_RETURN(auto parts, PartStore::OpenIn(store, "d"));
  ReadContext ctx;
  return parts->Compact(options, ctx);
}

inline Result<SweepResult> Sweep(const std::shared_ptr<ObjectStore>& store, std::chrono::microseconds grace) {
  PILUM_ASSIGN_OR_RETURN(auto parts, PartStore::OpenIn(store, "d"));
  ReadContext ctx;
  return parts->Sweep({grace, false}, ctx);
}

// All ids of one listing, ascending. kNotFound: a part went between its listing and its reading (or there is none).
inline Result<std::vector<int64_t>> TryIds(const std::shared_ptr<ObjectStore>& store, bool use_index = true) {
  std::vector<int64_t> out;
  PILUM_ASSIGN_OR_RETURN(auto parts, PartStore::OpenIn(store, "d"));
  ReadContext ctx;
  PILUM_ASSIGN_OR_RETURN(auto snapshot, parts->OpenSnapshot(use_index, ctx));
  for (const auto& unit : snapshot->units()) {
    PILUM_ASSIGN_OR_RETURN(auto stream, unit->Read({FieldPath{{"id"}}}, RowSet::All(unit->num_rows()), {}, ctx));
    while (true) {
      PILUM_ASSIGN_OR_RETURN(auto batch, stream->Next());
      if (!batch) break;
      const auto& ids = static_cast<const arrow::Int64Array&>(*batch->column(0));
      for (int64_t i = 0; i < ids.length(); ++i) out.push_back(ids.Value(i));
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

// The same of a store at rest; none where there is no dataset.
inline std::vector<int64_t> Ids(const std::shared_ptr<ObjectStore>& store) {
  auto ids = TryIds(store);
  if (!ids.ok()) {
    EXPECT_EQ(KindOf(ids.status()), ErrorKind::kNotFound) << ids.status().ToString();
    return {};
  }
  return *ids;
}

// Parts that the store shows must be sound, and must have their sidecars.
inline void ExpectSound(const std::shared_ptr<ObjectStore>& store, const std::string& what) {
  auto parts = PartStore::OpenIn(store, "d").ValueOrDie();
  ReadContext ctx;
  auto found = parts->Check(ctx);
  if (!found.ok()) return;  // no part at all
  for (const Status& fault : found->faults) ADD_FAILURE() << what << ": " << fault.ToString();
}

}  // namespace pilum::testing
