#include "pilum/index/inverted_builder.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include <arrow/array.h>
#include <arrow/type.h>
#include <arrow/util/float16.h>

#include "pilum/sketch/value_hash.h"

namespace pilum {
namespace {

// Do so many values, met in so many rows, say already that there will be too many? Where 100,000 take turns, 16,384 of them
// are met in no fewer than 17,900 rows.
bool HardlyRepeats(uint64_t distinct, uint64_t rows) {
  constexpr uint64_t kFewValues = 16 * 1024;
  return distinct > kFewValues && distinct * 16 > rows * 15;
}

// Which row a slot is of: its own, or (elements of a list, an entry of a dictionary) a given one.
struct FromRow {
  uint64_t first;
  uint64_t operator()(int64_t i) const { return first + static_cast<uint64_t>(i); }
};
struct OneRow {
  uint64_t row;
  uint64_t operator()(int64_t) const { return row; }
};

uint64_t Mix(uint64_t v) {
  v *= 0x9E3779B97F4A7C15ull;
  return v ^ (v >> 29);
}

}  // namespace

std::unique_ptr<InvertedBuilder> InvertedBuilder::Make(const arrow::DataType& type, bool asked) {
  const ValueShape shape = ValueShape::Of(type);
  if (shape.domain == Domain::kNone) return nullptr;
  return std::unique_ptr<InvertedBuilder>(new InvertedBuilder(shape, asked));
}

std::unique_ptr<InvertedBuilder> InvertedBuilder::OfWords(uint64_t max_distinct) {
  std::unique_ptr<InvertedBuilder> out(new InvertedBuilder({Domain::kInt, false, 0}, true));
  out->max_distinct_ = max_distinct;
  return out;
}

std::unique_ptr<InvertedBuilder> InvertedBuilder::OfBytes(Domain domain, uint64_t max_distinct, uint64_t max_bytes) {
  std::unique_ptr<InvertedBuilder> out(new InvertedBuilder({domain, false, 0}, true));
  out->max_distinct_ = max_distinct;
  out->max_dictionary_bytes_ = max_bytes;
  return out;
}

void InvertedBuilder::GiveUp(std::string why) {
  gave_up_ = true;
  why_ = std::move(why);
  entries_ = {};
  words_ = {};
  values_ = {};
  slots_ = {};
  codes_ = {};
  dictionary_ = nullptr;
}

void InvertedBuilder::CheckLimits() {
  if (entries_.size() > max_distinct_)
    GiveUp(fmt::format("more than {} distinct values", max_distinct_));
  else if (dictionary_bytes_ > max_dictionary_bytes_)
    GiveUp(fmt::format("its distinct values take more than {} MiB", max_dictionary_bytes_ >> 20));
}

// The entry of a value: `same` compares an entry with it, `insert` appends it.
template <typename Same, typename Insert>
uint32_t InvertedBuilder::IdOf(uint64_t hash, const Same& same, const Insert& insert) {
  if (slots_.empty()) slots_.resize(64, 0);
  uint64_t mask = slots_.size() - 1, at = hash & mask;
  for (; slots_[at] != 0; at = (at + 1) & mask) {
    const uint32_t id = slots_[at] - 1;
    if (entries_[id].hash == hash && same(id)) return id;
  }
  const auto id = static_cast<uint32_t>(entries_.size());
  insert();
  entries_.push_back({hash, {}});
  slots_[at] = id + 1;
  if (entries_.size() * 2 > slots_.size()) {
    slots_.assign(slots_.size() * 2, 0);
    mask = slots_.size() - 1;
    for (uint32_t i = 0; i < entries_.size(); ++i) {
      for (at = entries_[i].hash & mask; slots_[at] != 0;) at = (at + 1) & mask;
      slots_[at] = i + 1;
    }
  }
  return id;
}

void InvertedBuilder::AddWord(uint64_t word, uint64_t row) {
  if (entries_.empty() || words_[last_] != word) {
    const size_t before = entries_.size();
    last_ = IdOf(
        Mix(word), [&](uint32_t id) { return words_[id] == word; }, [&] { words_.push_back(word); });
    if (entries_.size() > before) {
      if (!asked_ && HardlyRepeats(before, row + 1)) return GiveUp("nearly all of its values are distinct");
      CheckLimits();
      if (gave_up_) return;
    }
  }
  entries_[last_].rows.Add(row);
}

void InvertedBuilder::AddValue(std::string_view bytes, uint64_t row) {
  if (entries_.empty() || values_[last_] != bytes) {
    if (bytes.size() > kMaxValueBytes) return GiveUp("a value over 1,024 bytes");
    const size_t before = entries_.size();
    last_ = IdOf(
        HashBinary(bytes), [&](uint32_t id) { return values_[id] == bytes; }, [&] { values_.emplace_back(bytes); });
    if (entries_.size() > before) {
      dictionary_bytes_ += bytes.size() + 8;
      if (!asked_ && HardlyRepeats(before, row + 1)) return GiveUp("nearly all of its values are distinct");
      CheckLimits();
      if (gave_up_) return;
    }
  }
  entries_[last_].rows.Add(row);
}

template <typename ArrayType, typename RowOf>
void InvertedBuilder::AddWords(const arrow::Array& given, int64_t begin, int64_t end, const RowOf& row_of) {
  const auto& array = static_cast<const ArrayType&>(given);
  for (int64_t i = begin; i < end && !gave_up_; ++i) {
    if (array.IsNull(i)) continue;
    uint64_t word;
    if constexpr (std::is_same_v<ArrayType, arrow::HalfFloatArray>) {
      word =
          std::bit_cast<uint64_t>(Value::Float(arrow::util::Float16::FromBits(array.Value(i)).ToDouble()).as_float());
    } else if constexpr (std::is_same_v<ArrayType, arrow::FloatArray> ||
                         std::is_same_v<ArrayType, arrow::DoubleArray>) {
      const double v = array.Value(i);
      word = std::bit_cast<uint64_t>(std::isnan(v) ? Value::Float(v).as_float() : v + 0.0);  // + 0.0: -0.0 is 0.0
    } else {
      word = static_cast<uint64_t>(array.Value(i));  // widened by its own sign
    }
    AddWord(word, row_of(i));
  }
}

template <typename ArrayType, typename RowOf>
void InvertedBuilder::AddBytes(const arrow::Array& given, int64_t begin, int64_t end, const RowOf& row_of) {
  const auto& array = static_cast<const ArrayType&>(given);
  for (int64_t i = begin; i < end && !gave_up_; ++i) {
    if (!array.IsNull(i)) AddValue(array.GetView(i), row_of(i));
  }
}

template <typename ArrayType, typename DecimalType, typename RowOf>
void InvertedBuilder::AddDecimals(const arrow::Array& given, int64_t begin, int64_t end, const RowOf& row_of) {
  const auto& array = static_cast<const ArrayType&>(given);
  for (int64_t i = begin; i < end && !gave_up_; ++i) {
    if (array.IsNull(i)) continue;
    const DecimalType v(array.GetValue(i));
    arrow::Decimal256 wide;
    if constexpr (std::is_same_v<DecimalType, arrow::Decimal256>) {
      wide = v;
    } else if constexpr (std::is_same_v<DecimalType, arrow::Decimal128>) {
      wide = arrow::Decimal256(v);
    } else {
      wide = arrow::Decimal256(arrow::Decimal128(static_cast<int64_t>(v.value())));
    }
    const auto bytes = wide.ToBytes();
    AddValue({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, row_of(i));
  }
}

template <typename RowOf>
Status InvertedBuilder::AddCodes(const arrow::Array& given, int64_t begin, int64_t end, const RowOf& row_of) {
  const auto& array = static_cast<const arrow::DictionaryArray&>(given);
  const std::shared_ptr<arrow::Array>& dictionary = array.dictionary();
  if (dictionary->type_id() == arrow::Type::DICTIONARY) return GiveUp("a dictionary of dictionaries"), Status::OK();
  if (dictionary != dictionary_) {
    dictionary_ = dictionary;
    codes_.assign(static_cast<size_t>(dictionary->length()), 0);
  }
  for (int64_t i = begin; i < end && !gave_up_; ++i) {
    if (array.IsNull(i)) continue;
    const int64_t code = array.GetValueIndex(i);
    if (code < 0 || code >= dictionary->length())
      return Status::Invalid("dictionary index ", code, " of ", dictionary->length(), " entries");
    if (dictionary->IsNull(code)) continue;
    const uint64_t row = row_of(i);
    if (codes_[static_cast<size_t>(code)] == 0) {
      const auto value = dictionary;  // giving up lets go of it
      PILUM_RETURN_NOT_OK(AddSlots(*value, code, code + 1, OneRow{row}));
      if (!gave_up_) codes_[static_cast<size_t>(code)] = last_ + 1;
    } else {
      last_ = codes_[static_cast<size_t>(code)] - 1;
      entries_[last_].rows.Add(row);
    }
  }
  return Status::OK();
}

template <typename RowOf>
Status InvertedBuilder::AddSlots(const arrow::Array& array, int64_t begin, int64_t end, const RowOf& row_of) {
  using arrow::Type;
  auto words = [&]<typename A>(A*) { return AddWords<A>(array, begin, end, row_of), Status::OK(); };
  auto bytes = [&]<typename A>(A*) { return AddBytes<A>(array, begin, end, row_of), Status::OK(); };
  auto decimals = [&]<typename A, typename D>(A*, D*) {
    return AddDecimals<A, D>(array, begin, end, row_of), Status::OK();
  };
#define PILUM_OF(f, ...) return f(__VA_ARGS__)
#define PILUM_AT(T) static_cast<arrow::T*>(nullptr)
  switch (array.type_id()) {
    case Type::NA: return Status::OK();
    case Type::EXTENSION:
      return AddSlots(*static_cast<const arrow::ExtensionArray&>(array).storage(), begin, end, row_of);
    case Type::DICTIONARY: return AddCodes(array, begin, end, row_of);
    case Type::BOOL: PILUM_OF(words, PILUM_AT(BooleanArray));
    case Type::INT8: PILUM_OF(words, PILUM_AT(Int8Array));
    case Type::INT16: PILUM_OF(words, PILUM_AT(Int16Array));
    case Type::INT32: PILUM_OF(words, PILUM_AT(Int32Array));
    case Type::INT64: PILUM_OF(words, PILUM_AT(Int64Array));
    case Type::UINT8: PILUM_OF(words, PILUM_AT(UInt8Array));
    case Type::UINT16: PILUM_OF(words, PILUM_AT(UInt16Array));
    case Type::UINT32: PILUM_OF(words, PILUM_AT(UInt32Array));
    case Type::UINT64: PILUM_OF(words, PILUM_AT(UInt64Array));
    case Type::DATE32: PILUM_OF(words, PILUM_AT(Date32Array));
    case Type::DATE64: PILUM_OF(words, PILUM_AT(Date64Array));
    case Type::TIME32: PILUM_OF(words, PILUM_AT(Time32Array));
    case Type::TIME64: PILUM_OF(words, PILUM_AT(Time64Array));
    case Type::TIMESTAMP: PILUM_OF(words, PILUM_AT(TimestampArray));
    case Type::DURATION: PILUM_OF(words, PILUM_AT(DurationArray));
    case Type::HALF_FLOAT: PILUM_OF(words, PILUM_AT(HalfFloatArray));
    case Type::FLOAT: PILUM_OF(words, PILUM_AT(FloatArray));
    case Type::DOUBLE: PILUM_OF(words, PILUM_AT(DoubleArray));
    case Type::DECIMAL32: PILUM_OF(decimals, PILUM_AT(Decimal32Array), PILUM_AT(Decimal32));
    case Type::DECIMAL64: PILUM_OF(decimals, PILUM_AT(Decimal64Array), PILUM_AT(Decimal64));
    case Type::DECIMAL128: PILUM_OF(decimals, PILUM_AT(Decimal128Array), PILUM_AT(Decimal128));
    case Type::DECIMAL256: PILUM_OF(decimals, PILUM_AT(Decimal256Array), PILUM_AT(Decimal256));
    case Type::STRING: PILUM_OF(bytes, PILUM_AT(StringArray));
    case Type::LARGE_STRING: PILUM_OF(bytes, PILUM_AT(LargeStringArray));
    case Type::STRING_VIEW: PILUM_OF(bytes, PILUM_AT(StringViewArray));
    case Type::BINARY: PILUM_OF(bytes, PILUM_AT(BinaryArray));
    case Type::LARGE_BINARY: PILUM_OF(bytes, PILUM_AT(LargeBinaryArray));
    case Type::BINARY_VIEW: PILUM_OF(bytes, PILUM_AT(BinaryViewArray));
    case Type::FIXED_SIZE_BINARY: PILUM_OF(bytes, PILUM_AT(FixedSizeBinaryArray));
    default: return Status::TypeError("values of type ", array.type()->ToString(), " have no order");
  }
#undef PILUM_OF
#undef PILUM_AT
}

Status InvertedBuilder::Append(const arrow::Array& array) {
  const uint64_t first = rows_;
  rows_ += static_cast<uint64_t>(array.length());
  if (gave_up_) return Status::OK();
  return AddSlots(array, 0, array.length(), FromRow{first});
}

template <typename ListType>
Status InvertedBuilder::AddItems(const arrow::Array& given) {
  const auto& array = static_cast<const ListType&>(given);
  for (int64_t i = 0; i < array.length() && !gave_up_; ++i) {
    if (array.IsNull(i)) continue;
    const uint64_t row = rows_ + static_cast<uint64_t>(i);
    const int64_t begin = array.value_offset(i);
    PILUM_RETURN_NOT_OK(AddSlots(*array.values(), begin, begin + array.value_length(i), OneRow{row}));
  }
  return Status::OK();
}

Status InvertedBuilder::AppendLists(const arrow::Array& array) {
  using arrow::Type;
  if (array.type_id() == Type::EXTENSION)
    return AppendLists(*static_cast<const arrow::ExtensionArray&>(array).storage());
  if (!gave_up_) {
    Status st;
    switch (array.type_id()) {
      case Type::LIST: st = AddItems<arrow::ListArray>(array); break;
      case Type::LARGE_LIST: st = AddItems<arrow::LargeListArray>(array); break;
      case Type::FIXED_SIZE_LIST: st = AddItems<arrow::FixedSizeListArray>(array); break;
      default: return Status::TypeError("not lists: ", array.type()->ToString());
    }
    PILUM_RETURN_NOT_OK(st);
  }
  rows_ += static_cast<uint64_t>(array.length());
  return Status::OK();
}

bool InvertedBuilder::Below(uint32_t a, uint32_t b) const {
  switch (shape_.domain) {
    case Domain::kInt:
      return shape_.is_unsigned ? words_[a] < words_[b]
                                : static_cast<int64_t>(words_[a]) < static_cast<int64_t>(words_[b]);
    case Domain::kFloat: return CompareFloat(std::bit_cast<double>(words_[a]), std::bit_cast<double>(words_[b])) < 0;
    case Domain::kDecimal: return shape_.OfBytes(values_[a]) < shape_.OfBytes(values_[b]);
    default: return values_[a] < values_[b];
  }
}

std::vector<uint32_t> InvertedBuilder::Sorted() const {
  std::vector<uint32_t> order(entries_.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return Below(a, b); });
  return order;
}

std::vector<uint64_t> InvertedBuilder::Hashes() const {
  std::vector<uint64_t> out;
  out.reserve(entries_.size());
  for (uint32_t id = 0; id < entries_.size(); ++id) {
    out.push_back(HashValue(ValueOf(id), shape_.scale));
  }
  return out;
}

SidecarWriter::Section InvertedBuilder::Finish(const FieldPath& path, SectionFamily family) {
  BlockSection section;
  ValueListWriter firsts, values;
  std::string heads, postings, counts;
  uint32_t in_block = 0;
  uint64_t block_rows = 0, block_runs = 0;
  auto close = [&] {
    if (in_block == 0) return;
    std::string block;
    AppendLE<uint32_t>(&block, in_block);
    block += values.bytes();
    block += counts;
    block += postings;
    section.AddBlock(block);
    AppendLE<uint32_t>(&heads, in_block);
    AppendLE<uint64_t>(&heads, block_rows);
    AppendLE<uint64_t>(&heads, block_runs);
    values.Clear();
    counts.clear();
    postings.clear();
    in_block = 0;
    block_rows = block_runs = 0;
  };
  auto add_to = [&](ValueListWriter* list, uint32_t id) {
    shape_.is_word() ? list->AddWord(words_[id]) : list->AddBytes(shape_, values_[id]);
  };
  for (const uint32_t id : Sorted()) {
    PostingsBuilder& rows = entries_[id].rows;
    const std::string& bytes = rows.Finish();
    // A large posting is a block of its own, so that nobody reads it for its neighbours.
    if (in_block > 0 && values.size() + postings.size() + bytes.size() > kBlockBytes) close();
    if (in_block == 0) add_to(&firsts, id);
    add_to(&values, id);
    const bool kept = IsKept(rows);
    AppendLE<uint32_t>(&counts, kept ? static_cast<uint32_t>(bytes.size()) : ~uint32_t{0});
    AppendLE<uint32_t>(&counts, static_cast<uint32_t>(std::min<uint64_t>(rows.rows(), ~uint32_t{0})));
    if (kept) postings += bytes;
    ++in_block;
    block_rows += rows.rows();
    block_runs += rows.runs();
  }
  close();
  std::string root;
  AppendLE<uint64_t>(&root, rows_);
  AppendLE<uint8_t>(&root, static_cast<uint8_t>(shape_.domain));
  AppendLE<uint8_t>(&root, shape_.is_unsigned);
  AppendLE<int16_t>(&root, static_cast<int16_t>(shape_.scale));
  AppendLE<uint32_t>(&root, 0);
  root += heads;
  root += firsts.bytes();
  return SidecarWriter::PackBlocks({path}, family, section, root);
}

}  // namespace pilum
