// Inside the page writer: the pieces between an Arrow array and the buffers of a page. Only encoding/write and
// encoding/v2_0/write_* include this.
//   LevelWalk    one slice of a top-level array -> events (repetition, raw definition code) and runs of leaf positions
//   ValueStore   the visible slots' values of the rows not yet in a page, normalised: what lies under a null is zero
//   PageSlice    the front rows of both, of which one page is made
//   EncodePage   levels, statistics, choice, layout
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/type.h>

#include "pilum/base/bytes.h"
#include "pilum/encoding/page_writer.h"
#include "pilum/encoding/write/byte_table.h"
#include "pilum/encoding/write/fsst_encode.h"
#include "pilum/encoding/write/vec.h"

namespace pilum::write {

inline constexpr char kNotUtf8[] = "text that is not UTF-8; convert it, or write the column as binary";

inline void Append(Bytes* out, const void* p, size_t n) { out->append(static_cast<const uint8_t*>(p), n); }
inline void PadTo(Bytes* out, size_t multiple, uint8_t fill, size_t start = 0) {
  while ((out->size() - start) % multiple != 0) out->push_back(fill);
}
template <typename T>
void AppendInt(Bytes* out, T v) {
  Append(out, &v, sizeof(T));
}
BufferPtr ToBuffer(Bytes bytes);

const arrow::DataType& StorageOf(const arrow::DataType& type);  // extension types unwrapped

// ---- levels ----------------------------------------------------------------------------------------------------

// Raw definition codes: every layer that could be null or empty has its own numbers, innermost first; 0 is a valid
// leaf. A page renumbers those that occur.
struct CodeLayer {
  bool is_list = false;
  bool always = false;  // its null level is kept in every page
  uint8_t null_code = 0;
  uint8_t empty_code = 0;  // lists
};
struct LevelPlan {
  std::vector<CodeLayer> layers;  // innermost first; layer 0 is the leaf's own
  int max_rep = 0;
  int num_codes = 1;
  static Result<LevelPlan> Make(const LeafColumn& column);
};

// Leaf slots [pos, pos + len) of the leaf array (its own offset not added), belonging to events [event, event + len).
struct Run {
  int64_t event, pos, len;
};

struct LevelWalk {
  Vec<uint8_t> rep, def;  // one an event; rep is empty when max_rep == 0
  std::vector<Run> runs;  // the visible slots, in event order
  std::shared_ptr<arrow::ArrayData> leaf;
  bool any_null = false;  // some def != 0
  // Rows [begin, begin + n) of `top`, an array of the column's top-level field.
  Status Walk(const LeafColumn& column, const LevelPlan& plan, const std::shared_ptr<arrow::ArrayData>& top,
              int64_t begin, int64_t n);

 private:
  Status StructLayer(const ShapeLayer& layer, const CodeLayer& codes);
  template <typename Offset>
  Status ListLayer(const ShapeLayer& layer, const CodeLayer& codes, uint8_t inner_rep);
  void FixedListLayer(const CodeLayer& codes, int64_t dimension);
  void MarkNulls(const arrow::ArrayData& data, uint8_t code);
  Status LeafLayer(const LeafColumn& column, const CodeLayer& codes);
};

// Levels of one page ready for packing: codes of one stream with the page's renumbering.
struct LevelStream {
  const uint8_t* codes = nullptr;  // one an event
  uint64_t count = 0;
  std::array<uint8_t, 256> map{};  // raw -> level
  bool present = false;
  int max_level = 0;  // largest level that occurs
  // How its chunks are stored, decided once a page: flat 16, or out-of-line bit packing (whose tail rule makes it never
  // larger than inline packing).
  CodecDesc codec;
  int width = 0;
  bool runs = false;  // 2.2: block form of rle
  bool zstd = false;  // around that, as `codec` says
  // `runs_from`: runs are taken where the packed form is so many times as large, or more; 0: never.
  void ChooseCodec(double runs_from);
  // zstd on top where chunks of `chunk` levels shrink by it.
  Status TryGeneral(uint64_t chunk);
  // Levels [begin, end) in the chosen form.
  Status Append(uint64_t begin, uint64_t end, Bytes* out) const;

 private:
  void AppendPlain(uint64_t begin, uint64_t end, Bytes* out) const;
  void AppendRuns(uint64_t begin, uint64_t end, Bytes* out) const;
};

// ---- values ----------------------------------------------------------------------------------------------------

enum class ValueKind { kNone, kFixed, kBool, kVariable, kFixedSizeList, kDictionary };

// How the leaf's values look: from the type alone.
struct LeafKind {
  ValueKind kind = ValueKind::kFixed;
  uint64_t width = 0;   // kFixed: bytes a slot. kFixedSizeList: bytes a slot's items take in `bytes`
  bool large = false;   // variable with 64-bit offsets
  bool packed = false;  // fixed or variable packed struct
  bool blob = false;
  std::vector<uint64_t> field_bits;             // packed, fixed
  std::vector<CodecDesc::VarField> var_fields;  // packed, variable
  std::vector<CodecDesc> var_codecs;
  std::vector<int64_t> dims;                    // FSL, outermost first
  bool bool_items = false;                      // FSL of bool: one byte an item in `bytes`
  bool null_items = false;                      // FSL of null: no bytes, and no item is valid
  std::shared_ptr<arrow::DataType> dict_value;  // dictionary
  uint64_t key_bits = 0, max_keys = 0;
  static Result<LeafKind> Of(const LeafColumn& column);
  int64_t items_per_slot() const;  // product of dims
};

// kUnsupported for values of no bytes that files of the version do not hold (pylance writes such and cannot read them).
Status CheckHasBytes(const LeafColumn& column, const LeafKind& kind, FileVersion version);

// Normalised values of slots. Which members are used follows LeafKind.
struct ValueStore {
  LeafKind kind;
  uint64_t slots = 0;
  Bytes bytes;                    // fixed, FSL: slots x width; bool: one byte a slot; variable: data
  Vec<uint64_t> ends;             // variable: end of each slot's bytes
  std::vector<Bytes> item_valid;  // FSL: per layer below the rows (last: the items), one byte each; empty: all valid
  Vec<int32_t> keys;              // dictionary: number in `table`
  ByteTable table;
  // Cache of the last dictionary seen: its entry -> table number (-1 not seen yet)
  std::shared_ptr<arrow::ArrayData> last_dictionary;
  std::vector<int32_t> last_map;

  std::string_view Variable(uint64_t slot) const {
    uint64_t begin = slot ? ends[slot - 1] : 0;
    return {reinterpret_cast<const char*>(bytes.data()) + begin, ends[slot] - begin};
  }

  uint64_t VariableBytes(uint64_t first, uint64_t n) const {  // of n slots
    return n ? ends[first + n - 1] - (first ? ends[first - 1] : 0) : 0;
  }

  Status AppendRuns(const LevelWalk& walk, const LeafColumn& column);
  void DropFront(uint64_t n);
  // Arrow-like bytes of the first n slots.
  uint64_t BytesOfFront(uint64_t n) const;
  uint64_t memory() const;
};

// ---- pages -----------------------------------------------------------------------------------------------------

// Rows at the front of what a column has buffered.
struct PageSlice {
  const uint8_t* rep = nullptr;  // null when max_rep == 0
  const uint8_t* def = nullptr;
  uint64_t events = 0, rows = 0;  // rows: counted as PageInfo.length does
  uint64_t first_slot = 0, slots = 0;
  const ValueStore* values = nullptr;
};

// The table of symbols that a column used last, and how well it did when it was made: the next page tries it first.
struct SymbolMemory {
  std::shared_ptr<const FsstEncoder> encoder;
  double ratio = 1;
};

// What stays the same over the pages of a column, and what one page leaves to the next.
struct ColumnSetup {
  const LeafColumn* column = nullptr;
  EncodingHints hints;
  LevelPlan plan;
  FileVersion version = FileVersion::kV2_2;
  WriteProfile profile = WriteProfile::kBalanced;
  SymbolMemory symbols;
};

// What every layout needs to know of the page, worked out once.
struct PageContext {
  const LeafColumn* column = nullptr;
  const EncodingHints* hints = nullptr;
  const LevelPlan* plan = nullptr;
  FileVersion version = FileVersion::kV2_2;
  WriteProfile profile = WriteProfile::kBalanced;
  SymbolMemory* symbols = nullptr;
  PageSlice slice;
  std::vector<RepDefLayer> layers;
  LevelStream rep, def;
  uint64_t num_valid = 0;          // events with def == 0
  std::vector<uint8_t> null_slot;  // one a slot: 1 where def != 0; empty when no slot is null
  std::optional<CodecDesc> wrap;   // what has been done to each variable value: around kVariable
  const LeafKind& kind() const { return slice.values->kind; }
  bool large_chunks() const { return version != FileVersion::kV2_1; }
  bool small() const { return profile == WriteProfile::kSmall; }
  // What one chunk may take: what a 2.1 chunk word can say, kept in 2.2 unless more is asked for.
  uint64_t chunk_room() const;
  void SlotLevels();              // fills null_slot
  uint8_t FirstListCode() const;  // events with a code from here on have no slot; 255 without lists
};
// A page's variable values, each encoded by itself, and the codec that undoes it (its child to be filled in).
struct EncodedValues {
  ValueStore store;  // slot 0 is the page's first
  CodecDesc wrap;
};
// The page with these values in place of its own; `values` must outlive it.
PageContext WithValues(PageContext page, const EncodedValues& values);
CodecDesc Wrapped(const PageContext& page, CodecDesc values);
PageContext MakeContext(ColumnSetup* setup, const PageSlice& slice);

// A page's dictionary: distinct values and one key a slot (0 at nulls).
struct PageDictionary {
  ByteTable items;
  Vec<int32_t> keys;
};
// nullopt: more than `cap` distinct values, or of `max_bytes` bytes.
std::optional<PageDictionary> BuildDictionary(const PageContext& page, uint64_t cap, uint64_t max_bytes);
// Block form of the dictionary's items, and its description.
Result<BufferPtr> DictionaryBlock(const PageContext& page, const ByteTable& items, CodecDesc* desc);

// Values of one page cut into chunks. Encode appends the buffers of slots [begin, begin + n) and records their sizes.
class ChunkEncoder {
 public:
  virtual ~ChunkEncoder() = default;
  virtual uint64_t Preferred(uint64_t begin) const = 0;  // power of two (or all the rest) from `begin`
  virtual Status Encode(uint64_t begin, uint64_t n, Bytes* out, std::vector<uint64_t>* sizes) const = 0;
  virtual uint64_t head_bytes(uint64_t /*n*/) const { return 0; }  // of a chunk of n: bytes unlike those behind them
  CodecDesc codec;
  uint64_t num_buffers = 1;
};
// Chunks for general compression of the `small` profile are larger: up to so many values and bytes.
enum class ChunkSize { kUsual, kLarge };
std::unique_ptr<ChunkEncoder> MakeFlatChunks(const PageContext& page, ChunkSize size = ChunkSize::kUsual);
std::unique_ptr<ChunkEncoder> MakeBitpackedChunks(const PageContext& page);
// Dictionary keys, which must outlive it; codec: flat, inline bit packing, rle or byte stream split.
std::unique_ptr<ChunkEncoder> MakeIntegerChunks(const Bytes& values, uint64_t width_bytes, CodecKind codec,
                                                ChunkSize size = ChunkSize::kUsual);
std::unique_ptr<ChunkEncoder> MakeRunChunks(const uint8_t* values, uint64_t width_bytes, uint64_t slots);
// Byte stream split, 4 or 8 bytes wide.
std::unique_ptr<ChunkEncoder> MakeSplitChunks(const uint8_t* values, uint64_t width_bytes, uint64_t slots,
                                              ChunkSize size = ChunkSize::kUsual);
// Runs that MakeRunChunks writes, or `give_up` where there are as many or more.
uint64_t RunsOf(const uint8_t* values, uint64_t width_bytes, uint64_t n, uint64_t give_up);
std::unique_ptr<ChunkEncoder> MakeVariableChunks(const PageContext& page, ChunkSize size = ChunkSize::kUsual);
std::unique_ptr<ChunkEncoder> MakeFixedSizeListChunks(const PageContext& page);

// ---- general compression (general.cc) --------------------------------------------------------------------------

struct GeneralScheme {
  Compression scheme = Compression::kZstd;
  std::optional<int> level;
  bool quick = false;  // zstd: see general.cc
  bool split = false;  // zstd: offsets and bytes in blocks of their own
};
CodecDesc GeneralCodec(const GeneralScheme& scheme, CodecDesc values);
// The bytes behind their size.
Status AppendCompressed(const GeneralScheme& scheme, const uint8_t* in, size_t n, Bytes* out, size_t head = 0);
// The first buffer of each of `inner`'s chunks compressed; `inner` must outlive it.
std::unique_ptr<ChunkEncoder> MakeGeneralChunks(const ChunkEncoder& inner, const GeneralScheme& scheme);
// Each value compressed by itself.
Result<EncodedValues> CompressValues(const PageContext& page, const GeneralScheme& scheme);

// A way to store a page's values in large compressed chunks.
struct CompressedWay {
  PageContext* page;
  std::unique_ptr<ChunkEncoder> chunks;
  int level;
  std::string_view name;
};
// The one that does best on a sample, in full, in place of `out` if it is smaller.
Status TryLargeChunks(std::vector<CompressedWay> ways, const PageDictionary* dictionary, Choice* choice,
                      EncodedPage* out);
// Replaces `best` where the other is smaller, and says so in `choice`.
void Contend(EncodedPage other, std::string_view name, EncodedPage* best, Choice* choice);

// ---- symbols (fsst_values.cc) ----------------------------------------------------------------------------------

// The table for the page's values: the column's last one, or where that does clearly worse than it did, a new one. And
// what the values would take with it, offsets and table included.
std::shared_ptr<const FsstEncoder> SymbolsFor(const PageContext& page, uint64_t* estimate);
EncodedValues FsstValues(const PageContext& page, const FsstEncoder& encoder);

bool HasItemNulls(const PageContext& page, size_t layer);
CodecDesc FixedSizeListCodec(const PageContext& page);

// Does the page fit the mini-block grammar (chunks of 32 KiB, at most 65,535 levels, two values or more)?
enum class ChunkFit { kFits, kTooWide, kTooManyLevels };
Result<ChunkFit> MiniBlockPage(PageContext* page, const ChunkEncoder& chunks, const PageDictionary* dictionary,
                               EncodedPage* out);
// `example`: a valid slot, where there is one.
PageStats StatsOf(const PageContext& page, uint64_t* example);
// Sizes of `n` values of 1, 2, 4 or 8 bytes, bit-packed and in runs.
void MeasureFixed(const uint8_t* values, uint64_t width, uint64_t n, PageStats* st);

EncodedPage FullZipPage(const PageContext& page);
EncodedPage BlobPage(const PageContext& page);
EncodedPage NullPage(const PageContext& page);
EncodedPage ConstantPage(const PageContext& page, uint64_t example_slot);

// Encodes the slice, cutting it at row bounds where one page cannot hold it.
Status EncodeSlice(ColumnSetup* setup, const PageSlice& slice, std::vector<EncodedPage>* out);

// ---- kernels ---------------------------------------------------------------------------------------------------

// FastLanes: 1,024 values of T at `width` bits; out gets 1024 * width / (8 * sizeof(T)) words.
template <typename T>
void BitpackBlock(const T* in, int width, T* out);
// Bits of the largest of n values.
template <typename T>
int BitWidthOf(const T* in, uint64_t n);
// Appends an inline bit-packed chunk (header word and 1,024 slots), n <= 1024.
void AppendInlineBitpacked(const uint8_t* values, uint64_t width_bytes, uint64_t n, Bytes* out);
// Sum over blocks of 1,024 of an inline bit-packed chunk's bytes.
uint64_t InlineBitpackedBytes(const uint8_t* values, uint64_t width_bytes, uint64_t n);
// n bytes of 0 or 1 -> bits, first lowest, appended from a fresh byte.
void AppendBits(const uint8_t* flags, uint64_t n, Bytes* out);

}  // namespace pilum::write
