#include "pilum/table/message_specs.h"

#include <algorithm>
#include <string_view>

namespace pilum::wire_spec {
namespace {

using enum Kind;

constexpr Field Sub(uint32_t number, const char* name, const Message& message) {
  return {number, name, kMessage, false, &message};
}
constexpr Field Subs(uint32_t number, const char* name, const Message& message) {
  return {number, name, kMessage, true, &message};
}
constexpr Field Map(uint32_t number, const char* name, const Message& entry) {
  return {number, name, kMap, true, &entry};
}
constexpr Field Enum(uint32_t number, const char* name, const char* const* values) {
  return {number, name, kEnum, false, nullptr, values};
}
constexpr Field Always(uint32_t number, const char* name, Kind kind = kUint) {
  return {number, name, kind, false, nullptr, nullptr, true};
}

constexpr const char* kFieldTypes[] = {"parent", "repeated", "leaf", nullptr};
constexpr const char* kFieldEncodings[] = {"none", "plain", "var binary", "dictionary", "run length", nullptr};
constexpr const char* kDeletionKinds[] = {"arrow array", "bitmap", nullptr};
constexpr const char* kUpdateModes[] = {"rewrite rows", "rewrite columns", nullptr};
constexpr const char* kMetrics[] = {"L2", "Cosine", "Dot", "Hamming", nullptr};

constexpr Field kTextEntryFields[] = {{1, "key", kText}, {2, "value", kText}};
constexpr Message kTextEntry{kTextEntryFields};
constexpr Field kBytesEntryFields[] = {{1, "key", kText}, {2, "value", kText}};
constexpr Message kBytesEntry{kBytesEntryFields};

constexpr Field kTimestampFields[] = {{1, "seconds", kInt}, {2, "nanos", kInt}};
constexpr Message kTimestamp{kTimestampFields};
constexpr Field kDictionaryFields[] = {{1, "offset", kInt}, {2, "length", kInt}};
constexpr Message kDictionary{kDictionaryFields};
constexpr Field kFieldFields[] = {Enum(1, "type", kFieldTypes),
                                  {2, "name", kText},
                                  Always(3, "id", kInt),
                                  Always(4, "parent_id", kInt),
                                  {5, "logical_type", kText},
                                  {6, "nullable", kBool},
                                  Enum(7, "encoding", kFieldEncodings),
                                  Sub(8, "dictionary", kDictionary),
                                  {9, "extension_name", kText},
                                  Map(10, "metadata", kBytesEntry),
                                  {12, "unenforced_primary_key", kBool},
                                  {13, "unenforced_primary_key_position"},
                                  {14, "unenforced_clustering_key", kBool},
                                  {15, "unenforced_clustering_key_position"}};
constexpr Message kField{kFieldFields};

constexpr Field kDataFileFields[] = {{1, "path", kText},
                                     {2, "fields", kInts},
                                     {3, "column_indices", kInts},
                                     {4, "file_major_version"},
                                     {5, "file_minor_version"},
                                     {6, "file_size_bytes"},
                                     {7, "base_id"}};
constexpr Message kDataFile{kDataFileFields};
constexpr Field kDeletionFileFields[] = {Enum(1, "file_type", kDeletionKinds),
                                         Always(2, "read_version"),
                                         Always(3, "id"),
                                         {4, "num_deleted_rows"},
                                         {7, "base_id"}};
constexpr Message kDeletionFile{kDeletionFileFields};
constexpr Field kExternalFileFields[] = {{1, "path", kText}, {2, "offset"}, {3, "size"}};
constexpr Message kExternalFile{kExternalFileFields};

constexpr Field kU16ArrayFields[] = {{1, "base"}, {2, "offsets", kU16s}};
constexpr Message kU16Array{kU16ArrayFields};
constexpr Field kU32ArrayFields[] = {{1, "base"}, {2, "offsets", kU32s}};
constexpr Message kU32Array{kU32ArrayFields};
constexpr Field kU64ArrayFields[] = {{2, "values", kU64s}};
constexpr Message kU64Array{kU64ArrayFields};
constexpr Field kEncodedArrayFields[] = {Sub(1, "u16_array", kU16Array), Sub(2, "u32_array", kU32Array),
                                         Sub(3, "u64_array", kU64Array)};
constexpr Message kEncodedArray{kEncodedArrayFields};
constexpr Field kRangeFields[] = {Always(1, "start"), Always(2, "end")};
constexpr Message kRange{kRangeFields};
constexpr Field kHolesFields[] = {Always(1, "start"), Always(2, "end"), Sub(3, "holes", kEncodedArray)};
constexpr Message kHoles{kHolesFields};
constexpr Field kBitsFields[] = {Always(1, "start"), Always(2, "end"), {3, "bitmap", kBytes}};
constexpr Message kBits{kBitsFields};
constexpr Field kSegmentFields[] = {Sub(1, "range", kRange), Sub(2, "range_with_holes", kHoles),
                                    Sub(3, "range_with_bitmap", kBits), Sub(4, "sorted_array", kEncodedArray),
                                    Sub(5, "array", kEncodedArray)};
constexpr Message kSegment{kSegmentFields};
constexpr Field kRowIdsFields[] = {Subs(1, "segments", kSegment)};
constexpr Message kRowIds{kRowIdsFields};
constexpr Field kRunFields[] = {Sub(1, "span", kSegment), Always(2, "version")};
constexpr Message kRun{kRunFields};
constexpr Field kRunsFields[] = {Subs(1, "runs", kRun)};
constexpr Message kRuns{kRunsFields};

constexpr Field kFragmentFields[] = {Always(1, "id"),
                                     Subs(2, "files", kDataFile),
                                     Sub(3, "deletion_file", kDeletionFile),
                                     Always(4, "physical_rows"),
                                     Sub(5, "row_ids", kRowIds),
                                     Sub(6, "external_row_ids", kExternalFile),
                                     Sub(7, "last_updated_at_versions", kRuns),
                                     Sub(8, "external_last_updated_at_versions", kExternalFile),
                                     Sub(9, "created_at_versions", kRuns),
                                     Sub(10, "external_created_at_versions", kExternalFile),
                                     {11, "overlays", kBytes, true},
                                     {12, "spilled_row_ids", kBytes},
                                     {13, "spilled_last_updated_at_versions", kBytes},
                                     {14, "spilled_created_at_versions", kBytes},
                                     {15, "clustering_id"}};
constexpr Message kFragment{kFragmentFields};

constexpr Field kBasePathFields[] = {
    Always(1, "id"), {2, "name", kText}, {3, "is_dataset_root", kBool}, {4, "path", kText}};
constexpr Message kBasePath{kBasePathFields};
constexpr Field kWriterFields[] = {
    {1, "library", kText}, {2, "version", kText}, {3, "prerelease", kText}, {4, "build_metadata", kText}};
constexpr Message kWriter{kWriterFields};
constexpr Field kDataFormatFields[] = {{1, "file_format", kText}, {2, "version", kText}};
constexpr Message kDataFormat{kDataFormatFields};

constexpr Field kManifestFields[] = {Subs(1, "fields", kField),
                                     Subs(2, "fragments", kFragment),
                                     Always(3, "version"),
                                     {4, "version_aux_data"},
                                     Map(5, "schema_metadata", kBytesEntry),
                                     {6, "index_section"},
                                     Sub(7, "timestamp", kTimestamp),
                                     {8, "tag", kText},
                                     Always(9, "reader_feature_flags"),
                                     Always(10, "writer_feature_flags"),
                                     {11, "max_fragment_id"},
                                     {12, "transaction_file", kText},
                                     Sub(13, "writer_version", kWriter),
                                     {14, "next_row_id"},
                                     Sub(15, "data_format", kDataFormat),
                                     Map(16, "config", kTextEntry),
                                     Subs(18, "base_paths", kBasePath),
                                     Map(19, "table_metadata", kTextEntry),
                                     {20, "branch", kText},
                                     {21, "transaction_section_before_14"},
                                     {22, "fragment_tree", kBytes},
                                     {23, "transaction_section"},
                                     {24, "max_allocated_field_id"},
                                     {25, "clustering", kBytes},
                                     {26, "max_clustering_id"}};

// --- indices

constexpr Field kIndexFileFields[] = {{1, "path", kText}, {2, "size_bytes"}};
constexpr Message kIndexFile{kIndexFileFields};
constexpr Field kIndexFields[] = {{1, "uuid", kUuid},
                                  {2, "fields", kInts},
                                  {3, "name", kText},
                                  {4, "dataset_version"},
                                  {5, "fragment_bitmap", kBitmap},
                                  {6, "index_details", kAny},
                                  {7, "index_version", kInt},
                                  {8, "created_at"},
                                  {9, "base_id"},
                                  Subs(10, "files", kIndexFile),
                                  {11, "covering_fields", kInts},
                                  {12, "clustering_id"}};
constexpr Message kIndex{kIndexFields};
constexpr Field kIndexSectionFields[] = {Subs(1, "indices", kIndex)};

constexpr Message kEmpty{};
constexpr Field kZoneMapFields[] = {{1, "rows_per_zone"}};
constexpr Message kZoneMap{kZoneMapFields};
constexpr Field kInvertedFields[] = {
    {1, "base_tokenizer", kText},    {2, "language", kText},      {3, "with_position", kBool},
    {4, "max_token_length"},         {5, "lower_case", kBool},    {6, "stem", kBool},
    {7, "remove_stop_words", kBool}, {8, "ascii_folding", kBool}, {9, "min_ngram_length"},
    {10, "max_ngram_length"},        {11, "prefix_only", kBool},  {12, "block_size"},
    {15, "format_version"}};
constexpr Message kInverted{kInvertedFields};
constexpr Field kHnswFields[] = {{1, "max_connections"}, {2, "construction_ef"}, {3, "max_level"}};
constexpr Message kHnsw{kHnswFields};
constexpr Field kPqFields[] = {{1, "num_bits"}, {2, "num_sub_vectors"}};
constexpr Message kPq{kPqFields};
constexpr Field kSqFields[] = {{1, "num_bits"}};
constexpr Message kSq{kSqFields};
constexpr Field kRqFields[] = {{1, "num_bits"}, {2, "rotation_type"}};
constexpr Message kRq{kRqFields};
constexpr Field kVectorFields[] = {{1, "metric_type", kEnum, false, nullptr, kMetrics, true},
                                   {2, "target_partition_size"},
                                   Sub(3, "hnsw", kHnsw),
                                   Sub(4, "pq", kPq),
                                   Sub(5, "sq", kSq),
                                   Sub(6, "rq", kRq),
                                   Sub(8, "flat", kEmpty),
                                   Map(9, "runtime_hints", kTextEntry)};
constexpr Message kVector{kVectorFields};
constexpr Field kJsonFields[] = {{1, "path", kText}, {2, "target_details", kAny}};
constexpr Message kJson{kJsonFields};
constexpr Field kDigestFields[] = {Always(1, "id"), {2, "physical_rows"}, {3, "num_deleted_rows"}};
constexpr Message kDigest{kDigestFields};
constexpr Field kReuseGroupFields[] = {
    {1, "changed_row_addrs", kBytes}, Subs(2, "old_fragments", kDigest), Subs(3, "new_fragments", kDigest)};
constexpr Message kReuseGroup{kReuseGroupFields};
constexpr Field kReuseVersionFields[] = {{1, "dataset_version"}, Subs(3, "groups", kReuseGroup)};
constexpr Message kReuseVersion{kReuseVersionFields};
constexpr Field kReuseInlineFields[] = {Subs(1, "versions", kReuseVersion)};
constexpr Message kReuseInline{kReuseInlineFields};
constexpr Field kReuseFields[] = {Sub(1, "inline", kReuseInline), Sub(2, "external", kExternalFile)};
constexpr Message kReuse{kReuseFields};

// --- transactions

constexpr Field kAppendFields[] = {Subs(1, "fragments", kFragment)};
constexpr Message kAppend{kAppendFields};
constexpr Field kDeleteFields[] = {
    Subs(1, "updated_fragments", kFragment), {2, "deleted_fragment_ids", kUints}, {3, "predicate", kText}};
constexpr Message kDelete{kDeleteFields};
constexpr Field kOverwriteFields[] = {Subs(1, "fragments", kFragment), Subs(2, "schema", kField),
                                      Map(3, "schema_metadata", kBytesEntry),
                                      Map(4, "config_upsert_values", kTextEntry), Subs(5, "initial_bases", kBasePath)};
constexpr Message kOverwrite{kOverwriteFields};
constexpr Field kCreateIndexFields[] = {Subs(1, "new_indices", kIndex), Subs(2, "removed_indices", kIndex)};
constexpr Message kCreateIndex{kCreateIndexFields};
constexpr Field kGroupFields[] = {Subs(1, "old_fragments", kFragment), Subs(2, "new_fragments", kFragment)};
constexpr Message kGroup{kGroupFields};
constexpr Field kRewrittenFields[] = {{1, "old_id", kUuid},
                                      {2, "new_id", kUuid},
                                      {3, "new_index_details", kAny},
                                      {4, "new_index_version", kInt},
                                      Subs(5, "new_index_files", kIndexFile)};
constexpr Message kRewritten{kRewrittenFields};
constexpr Field kRewriteFields[] = {Subs(1, "old_fragments", kFragment), Subs(2, "new_fragments", kFragment),
                                    Subs(3, "groups", kGroup), Subs(4, "rewritten_indices", kRewritten)};
constexpr Message kRewrite{kRewriteFields};
constexpr Field kMergeFields[] = {Subs(1, "fragments", kFragment),
                                  Subs(2, "schema", kField),
                                  Map(3, "schema_metadata", kBytesEntry),
                                  {4, "preserves_nullability", kBool}};
constexpr Message kMerge{kMergeFields};
constexpr Field kRestoreFields[] = {Always(1, "version")};
constexpr Message kRestore{kRestoreFields};
constexpr Field kReserveFields[] = {Always(1, "num_fragments")};
constexpr Message kReserve{kReserveFields};
constexpr Field kExactFields[] = {{1, "key_hashes", kUints}};
constexpr Message kExact{kExactFields};
constexpr Field kBloomFields[] = {
    {1, "bitmap", kBytes}, {2, "num_bits"}, {3, "number_of_items"}, {4, "probability", kDouble}};
constexpr Message kBloom{kBloomFields};
constexpr Field kKeysFields[] = {{1, "field_ids", kInts}, Sub(2, "exact", kExact), Sub(3, "bloom", kBloom)};
constexpr Message kKeys{kKeysFields};
constexpr Field kUpdateFields[] = {
    {1, "removed_fragment_ids", kUints},           Subs(2, "updated_fragments", kFragment),
    Subs(3, "new_fragments", kFragment),           {4, "fields_modified", kUints},
    {5, "compacted_sstables", kBytes, true},       {6, "fields_for_preserving_frag_bitmap", kUints},
    Enum(7, "update_mode", kUpdateModes),          Sub(8, "inserted_rows", kKeys),
    {9, "updated_fragment_offsets", kBytes, true}, {10, "updated_fragment_offset_bitmaps", kBytes, true}};
constexpr Message kUpdate{kUpdateFields};
constexpr Field kProjectFields[] = {Subs(1, "schema", kField), {2, "preserves_nullability", kBool}};
constexpr Message kProject{kProjectFields};
constexpr Field kMapEntryFields[] = {{1, "key", kText}, {2, "value", kText}};
constexpr Message kMapEntry{kMapEntryFields};
constexpr Field kUpdateMapFields[] = {Subs(1, "entries", kMapEntry), {2, "replace", kBool}};
constexpr Message kUpdateMap{kUpdateMapFields};
constexpr Field kFieldUpdateFields[] = {Always(1, "key", kInt), Sub(2, "value", kUpdateMap)};
constexpr Message kFieldUpdate{kFieldUpdateFields};
constexpr Field kConfigFields[] = {
    Map(1, "upsert_values", kTextEntry),           {2, "delete_keys", kText, true},
    Map(3, "schema_metadata", kTextEntry),         {4, "field_metadata", kBytes, true},
    Sub(6, "config_updates", kUpdateMap),          Sub(7, "table_metadata_updates", kUpdateMap),
    Sub(8, "schema_metadata_updates", kUpdateMap), Map(9, "field_metadata_updates", kFieldUpdate)};
constexpr Message kConfig{kConfigFields};
constexpr Field kReplacementFields[] = {Always(1, "fragment_id"), Sub(2, "new_file", kDataFile)};
constexpr Message kReplacement{kReplacementFields};
constexpr Field kDataReplacementFields[] = {Subs(1, "replacements", kReplacement)};
constexpr Message kDataReplacement{kDataReplacementFields};
constexpr Field kMemWalFields[] = {{1, "compacted_sstables", kBytes, true}};
constexpr Message kMemWal{kMemWalFields};
constexpr Field kCloneFields[] = {{1, "is_shallow", kBool},
                                  {2, "ref_name", kText},
                                  Always(3, "ref_version"),
                                  {4, "ref_path", kText},
                                  {5, "branch_name", kText}};
constexpr Message kClone{kCloneFields};
constexpr Field kBasesFields[] = {Subs(1, "new_bases", kBasePath)};
constexpr Message kBases{kBasesFields};
constexpr Field kOverlayFields[] = {{1, "groups", kBytes, true}};
constexpr Message kOverlay{kOverlayFields};

constexpr Field kTransactionFields[] = {Always(1, "read_version"),
                                        {2, "uuid", kText},
                                        {3, "tag", kText},
                                        Map(4, "transaction_properties", kTextEntry),
                                        Sub(100, "append", kAppend),
                                        Sub(101, "delete", kDelete),
                                        Sub(102, "overwrite", kOverwrite),
                                        Sub(103, "create_index", kCreateIndex),
                                        Sub(104, "rewrite", kRewrite),
                                        Sub(105, "merge", kMerge),
                                        Sub(106, "restore", kRestore),
                                        Sub(107, "reserve_fragments", kReserve),
                                        Sub(108, "update", kUpdate),
                                        Sub(109, "project", kProject),
                                        Sub(110, "update_config", kConfig),
                                        Sub(111, "data_replacement", kDataReplacement),
                                        Sub(112, "update_mem_wal_state", kMemWal),
                                        Sub(113, "clone", kClone),
                                        Sub(114, "update_bases", kBases),
                                        Sub(115, "data_overlay", kOverlay)};

bool SameText(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return (x >= 'A' && x <= 'Z' ? x + 32 : x) == (y >= 'A' && y <= 'Z' ? y + 32 : y);
  });
}

}  // namespace

const Message kManifest{kManifestFields}, kIndexSection{kIndexSectionFields}, kTransaction{kTransactionFields};

const Message* FindIndexDetails(std::string_view type_url) {
  const std::string_view name = type_url.substr(type_url.find_last_of("./") + 1);
  static constexpr std::pair<std::string_view, const Message*> kDetails[] = {
      {"BTreeIndexDetails", &kEmpty},        {"BitmapIndexDetails", &kEmpty},      {"LabelListIndexDetails", &kEmpty},
      {"NGramIndexDetails", &kEmpty},        {"BloomFilterIndexDetails", &kEmpty}, {"ZoneMapIndexDetails", &kZoneMap},
      {"InvertedIndexDetails", &kInverted},  {"VectorIndexDetails", &kVector},     {"JsonIndexDetails", &kJson},
      {"FragmentReuseIndexDetails", &kReuse}};
  for (const auto& [known, message] : kDetails) {
    if (SameText(name, known)) return message;
  }
  return nullptr;
}

}  // namespace pilum::wire_spec
