// Builds the sidecars of a part from the batches that are written into it, without reading the part again. Used by
// part/part_writer and by checks. Not thread-safe. The bytes depend on the rows and the schema, not on the batching.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/index/column_collector.h"
#include "pilum/index/column_stats.h"
#include "pilum/index/index_spec.h"
#include "pilum/index/inverted_builder.h"
#include "pilum/index/key_builder.h"
#include "pilum/index/sidecar.h"
#include "pilum/index/trigram_builder.h"
#include "pilum/index/value_ranges.h"
#include "pilum/index/words_builder.h"

namespace pilum {

std::string Dotted(const FieldPath& path);  // its steps as people write them in dataset.toml

class SidecarBuilder {
 public:
  static constexpr uint64_t kHeaderLimit = 2'000'000;   // most bytes of an .idxh
  static constexpr uint64_t kHeaderFloor = 32 << 10;    // always allowed; above it, a tenth of the .idx
  static constexpr uint64_t kMaxDistinct = 1 << 20;     // a column; see docs/formats/sidecar.md
  static constexpr uint64_t kDistinctBudget = 8 << 20;  // all columns
  static constexpr uint64_t kMinDistinct = 1024;
  // Raised with every change of rules or of a family's bytes; bench/counts/bytes.txt shows such a change.
  static constexpr uint32_t kRules = 2;

  // What beside the rows decides the sidecars' bytes: this version's rules and families, and the dataset.toml that `schema` was
  // annotated by. Among the decisions as `kBuiltBy`.
  static std::string BuiltBy(const arrow::Schema& schema);
  static constexpr std::string_view kBuiltBy = "(pilum)";

  explicit SidecarBuilder(const arrow::Schema& schema);

  // Columns are taken by position and must have the schema's types.
  Status Append(const arrow::RecordBatch& batch);
  uint64_t num_rows() const { return num_rows_; }

  struct Files {
    // Bytes of .idx, .idxh, .stats and .terms; of the last none where no column asks for words.
    std::string index, header, stats, terms;
    const std::string& Of(SidecarKind kind) const {
      switch (kind) {
        case SidecarKind::kIndex: return index;
        case SidecarKind::kHeader: return header;
        case SidecarKind::kTerms: return terms;
        default: return stats;
      }
    }
    uint64_t size() const { return index.size() + header.size() + stats.size() + terms.size(); }
  };
  // `stored`: the schema as the part's bytes carry it. No more rows.
  Result<Files> Finish(const arrow::Schema& stored, const Hash128& part_hash);

  // What was collected, for checks: every column outside of lists, structs before their fields. After Finish.
  struct Column {
    FieldPath path;
    std::unique_ptr<ColumnCollector> collector;
    ColumnStats stats;
    std::vector<size_t> children = {};  // of a struct
    IndexSpec spec;
    std::unique_ptr<InvertedBuilder> inverted = nullptr, members = nullptr;  // null: not to be built
    bool paired = false;  // `inverted` is collected for a pair that was asked for, whatever becomes of it alone
    std::unique_ptr<KeyBuilder> key = nullptr;  // after Finish: only where a key was built
    std::vector<uint64_t> member_hashes = {};   // of the elements, where `members` was built
    PostingsBuilder nulls = {};
    std::unique_ptr<TrigramBuilder> trigrams = nullptr;
    std::unique_ptr<WordsBuilder> words = nullptr;
    std::optional<ValueRangesBuilder> ranges = std::nullopt;
  };
  const std::vector<Column>& columns() const { return columns_; }

 private:
  static uint64_t HeaderBudget(const SidecarWriter& index);  // most bytes of the .idxh beside it
  size_t AddColumn(FieldPath path, const arrow::Field& field, uint64_t cap);
  Status AppendColumn(size_t at, const arrow::Array& array);
  // index/sidecar_pairs.cc
  void AddPairs(SidecarWriter* header, SidecarWriter* index);
  void AddPair(Column* a, Column* b, bool asked, SidecarWriter* header, SidecarWriter* index);
  std::optional<std::pair<size_t, size_t>> PairThatPays() const;
  Column* ColumnNamed(const std::string& dotted);
  void AddInverted(Column* column, SidecarWriter* index);
  void AddNulls(Column* column, SidecarWriter* index);
  void AddTrigrams(Column* column, SidecarWriter* index);
  void AddWords(Column* column, SidecarWriter* index, SidecarWriter* terms);
  void AddRanges(Column* column, SidecarWriter* header);
  Status AddKeys(SidecarWriter* header, SidecarWriter* index);
  void AddMemberFilters(SidecarWriter* header, const SidecarWriter& index);
  void AddFilters(SidecarWriter* header, SidecarWriter* index);
  Status AddAskedFilters(SidecarWriter* header, SidecarWriter* index);
  void Decide(const Column& column, SectionFamily family, bool built, std::string reason);
  void Decide(std::string column, SectionFamily family, bool built, std::string reason);

  std::vector<Column> columns_;
  std::vector<size_t> top_level_;
  std::vector<std::pair<std::string, std::string>> pairs_;  // asked for, as dotted paths
  std::vector<BuildDecision> decisions_;
  bool annotated_ = false;
  std::string dataset_;  // which dataset.toml chose; empty: none
  std::string built_by_;
  uint64_t num_rows_ = 0;
};

}  // namespace pilum
