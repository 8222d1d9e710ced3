#include "pilum/index/key_builder.h"

#include <algorithm>
#include <bit>
#include <unordered_set>

#include <arrow/array.h>
#include <arrow/type.h>

#include "pilum/base/bytes.h"
#include "pilum/index/value_list.h"
#include "pilum/sketch/fuse.h"

namespace pilum {
namespace {

constexpr uint64_t kWatched = 1024;          // values whose length is looked at
constexpr uint64_t kCheckEvery = 64 * 1024;  // values between two looks at how many differ

bool IsKeyType(const arrow::DataType& type) {
  using arrow::Type;
  return arrow::is_integer(type.id()) || type.id() == Type::STRING || type.id() == Type::LARGE_STRING ||
         type.id() == Type::STRING_VIEW || type.id() == Type::FIXED_SIZE_BINARY;
}

}  // namespace

std::unique_ptr<KeyBuilder> KeyBuilder::Make(const arrow::DataType& type, bool asked) {
  if (type.id() == arrow::Type::EXTENSION)
    return Make(*static_cast<const arrow::ExtensionType&>(type).storage_type(), asked);
  if (asked ? ValueShape::Of(type).domain == Domain::kNone : !IsKeyType(type)) return nullptr;
  return std::unique_ptr<KeyBuilder>(new KeyBuilder(asked));
}

void KeyBuilder::WatchLength(const arrow::Array& given) {
  if (given.type_id() == arrow::Type::EXTENSION)
    return WatchLength(*static_cast<const arrow::ExtensionArray&>(given).storage());
  auto watch = [&](const auto& array) {
    for (int64_t i = 0; i < array.length() && watched_ < kWatched; ++i) {
      if (array.IsNull(i)) continue;
      watched_bytes_ += array.GetView(i).size();
      ++watched_;
    }
  };
  switch (given.type_id()) {
    case arrow::Type::STRING: watch(static_cast<const arrow::StringArray&>(given)); break;
    case arrow::Type::LARGE_STRING: watch(static_cast<const arrow::LargeStringArray&>(given)); break;
    case arrow::Type::STRING_VIEW: watch(static_cast<const arrow::StringViewArray&>(given)); break;
    default: watched_ = kWatched; watched_bytes_ = 0;
  }
  gave_up_ |= watched_ == kWatched && watched_bytes_ > kWatched * kMaxAverageBytes;
}

// Do fewer than a quarter of the values differ? By a sample of the hashes, which is one of the values.
bool KeyBuilder::RepeatsItself() const {
  std::unordered_set<uint64_t> sample;
  for (const Entry& e : entries_) {
    if (e.hash % 64 == 0) sample.insert(e.hash);
  }
  return sample.size() * 64 * 4 < entries_.size();
}

void KeyBuilder::Append(const arrow::Array& array) {
  first_ = rows_;
  rows_ += static_cast<uint64_t>(array.length());
  if (gave_up_) return;
  if (!asked_ && watched_ < kWatched) WatchLength(array);
  if (rows_ > kMaxRows) gave_up_ = true;
  if (gave_up_) std::vector<Entry>().swap(entries_);
}

void KeyBuilder::AddHashes(const HashBlock& block) {
  if (gave_up_) return;
  for (size_t i = 0; i < block.hashes.size() && !gave_up_; ++i) {
    entries_.push_back({block.hashes[i], static_cast<uint32_t>(first_ + static_cast<uint64_t>(block.row(i)))});
    if (!asked_ && entries_.size() % kCheckEvery == 0 && std::has_single_bit(entries_.size() / kCheckEvery))
      gave_up_ = RepeatsItself();
  }
  if (gave_up_) std::vector<Entry>().swap(entries_);
}

SidecarWriter::Section KeyBuilder::Finish(const FieldPath& path, uint64_t num_rows) {
  std::sort(entries_.begin(), entries_.end());
  BlockSection section;
  std::string root;
  AppendLE<uint64_t>(&root, num_rows);
  AppendLE<uint64_t>(&root, entries_.size());
  std::string block;
  for (size_t at = 0; at < entries_.size(); at += kBlockEntries) {
    const size_t n = std::min<size_t>(kBlockEntries, entries_.size() - at);
    block.clear();
    for (size_t i = at; i < at + n; ++i) AppendLE<uint64_t>(&block, entries_[i].hash);
    for (size_t i = at; i < at + n; ++i) AppendLE<uint32_t>(&block, entries_[i].row);
    section.AddBlock(block);
    AppendLE<uint64_t>(&root, entries_[at].hash);
  }
  return SidecarWriter::PackBlocks({path}, SectionFamily::kKey, section, root);
}

Result<std::string> KeyBuilder::FilterBytes(uint32_t bits) const {
  PILUM_ASSIGN_OR_RETURN(FuseFilter filter, FuseFilter::Empty({bits}));
  for (const Entry& e : entries_) PILUM_RETURN_NOT_OK(filter.Insert(e.hash));
  PILUM_RETURN_NOT_OK(filter.Seal());
  return filter.ToBytes();
}

}  // namespace pilum
