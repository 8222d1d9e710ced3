#include "pilum/change/inserted_keys.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <xxhash.h>

#include "pilum/query/evaluate.h"

namespace pilum {
namespace {

// One size for all, so that any two can be held against each other.
constexpr uint64_t kItems = 8192;
constexpr double kProbability = 0.00057;
constexpr size_t kBlocks = 1024;

// A split block Bloom filter, as Parquet has it: blocks of eight words, a bit in each.
class BlockFilter {
 public:
  void Add(std::string_view bytes) {
    static constexpr std::array<uint32_t, 8> kSalt = {0x47b6137bU, 0x44974d91U, 0x8824ad5bU, 0xa2b7289dU,
                                                      0x705495c7U, 0x2df1424bU, 0x9efc4947U, 0x5c6bfb31U};
    const uint64_t hash = XXH64(bytes.data(), bytes.size(), 0);
    auto& block = blocks_[static_cast<size_t>(((hash >> 32) * kBlocks) >> 32)];
    for (size_t i = 0; i < kSalt.size(); ++i) {
      block[i] |= uint32_t{1} << ((static_cast<uint32_t>(hash) * kSalt[i]) >> 27);
    }
  }
  std::string Bytes() const {
    std::string out(kBlocks * 32, '\0');
    std::memcpy(out.data(), blocks_.data(), out.size());
    return out;
  }

 private:
  std::vector<std::array<uint32_t, 8>> blocks_ = std::vector<std::array<uint32_t, 8>>(kBlocks);
};

template <typename T>
void AppendNumber(T value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// As pylance makes bytes of a value; false: it makes none of this type.
bool AppendValue(const arrow::Array& array, int64_t i, std::string* out) {
  switch (array.type_id()) {
    case arrow::Type::INT32:
      AppendNumber(int64_t{static_cast<const arrow::Int32Array&>(array).Value(i)}, out);
      return true;
    case arrow::Type::UINT32:
      AppendNumber(uint64_t{static_cast<const arrow::UInt32Array&>(array).Value(i)}, out);
      return true;
    case arrow::Type::INT64: AppendNumber(static_cast<const arrow::Int64Array&>(array).Value(i), out); return true;
    case arrow::Type::UINT64: AppendNumber(static_cast<const arrow::UInt64Array&>(array).Value(i), out); return true;
    case arrow::Type::STRING:
    case arrow::Type::BINARY: out->append(static_cast<const arrow::BinaryArray&>(array).GetView(i)); return true;
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      out->append(static_cast<const arrow::LargeBinaryArray&>(array).GetView(i));
      return true;
    default: return false;
  }
}

std::string FilesOf(const wire::DataFragment& f) {
  std::string out = std::to_string(f.id());
  for (const auto& file : f.files()) out += "/" + SerializeWire(file);
  return out;
}

}  // namespace

std::vector<int32_t> PrimaryKeyOf(const wire::Manifest& manifest) {
  std::vector<std::pair<uint32_t, int32_t>> fields;
  for (const auto& f : manifest.fields()) {
    if (f.unenforced_primary_key() || f.unenforced_primary_key_position() > 0) {
      fields.emplace_back(f.unenforced_primary_key_position(), f.id());
    }
  }
  // Those without a place come last, as the schema has them.
  std::stable_sort(fields.begin(), fields.end(),
                   [](const auto& a, const auto& b) { return a.first - 1 < b.first - 1; });
  std::vector<int32_t> out;
  for (const auto& [position, id] : fields) out.push_back(id);
  return out;
}

Status SetInsertedKeys(const std::vector<int32_t>& field_ids, const std::vector<std::string>& on,
                       const MergeSource& source, const MergePlan& plan, ReadContext& ctx,
                       wire::Transaction::Update* op) {
  BlockFilter filter;
  const auto take = [&](size_t, const arrow::RecordBatch& batch) {
    std::string bytes;
    for (int64_t i = 0; i < batch.num_rows(); ++i) {
      bytes.clear();
      bool whole = true;
      for (const auto& column : batch.columns()) {
        whole = whole && column->IsValid(i) && AppendValue(*column, i, &bytes);
        if (batch.num_columns() > 1) bytes.push_back('\0');
      }
      if (whole) filter.Add(bytes);
    }
    return Status::OK();
  };
  PILUM_RETURN_NOT_OK(source.Take(on, plan.inserts, ctx, take));
  auto* keys = op->mutable_inserted_rows();
  for (const int32_t id : field_ids) keys->add_field_ids(id);
  auto* bloom = keys->mutable_bloom();
  bloom->set_bitmap(filter.Bytes());
  bloom->set_num_bits(kBlocks * 256);
  bloom->set_number_of_items(kItems);
  bloom->set_probability(kProbability);
  return Status::OK();
}

InsertedKeysCheck::InsertedKeysCheck(const ChangeBase& base, const std::vector<std::string>& on, const MergeKeys& keys,
                                     const MergePlan& plan)
    : base_(base), on_(on), keys_(keys), plan_(plan) {
  for (const auto& f : base.stored->manifest.fragments()) known_.insert(FilesOf(f));
}

Status InsertedKeysCheck::Check(const StoredVersion& newest, ReadContext& ctx) {
  std::vector<uint64_t> fresh;
  for (const auto& f : newest.manifest.fragments()) {
    if (!known_.contains(FilesOf(f))) fresh.push_back(f.id());
  }
  if (fresh.empty() || keys_.num_keys() == 0) return Status::OK();
  PILUM_ASSIGN_OR_RETURN(auto table, base_.table->Reopen(newest.version(), ctx));
  const auto found = [&](uint32_t key, uint64_t) -> Status {
    if (plan_.matched[key]) return Status::OK();
    return MakeError(
        ErrorKind::kRetry,
        fmt::format("others inserted rows with the same {}, which are to be inserted here", fmt::join(on_, ", ")));
  };
  PILUM_RETURN_NOT_OK(FindKeys(*table, fresh, on_, keys_, ctx, found));
  for (const auto& f : newest.manifest.fragments()) known_.insert(FilesOf(f));
  return Status::OK();
}

}  // namespace pilum
