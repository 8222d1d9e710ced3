#include "pilum/sketch/moments.h"

#include <cmath>
#include <limits>

#include <arrow/api.h>

#include "pilum/sketch/array_numbers.h"
#include "pilum/sketch/value_hash.h"

namespace pilum {
namespace {

constexpr std::string_view kMagic = "PLMMOMEN";
constexpr uint64_t kMaxRows = uint64_t{1} << 60;
constexpr uint64_t kLongest = uint64_t{1} << 31;  // of a text or binary value
constexpr double kInfinity = std::numeric_limits<double>::infinity();

uint8_t LayoutOf(Domain domain) { return static_cast<uint8_t>(domain); }
static_assert(static_cast<int>(Domain::kInt) == 1 && static_cast<int>(Domain::kBinary) == 5, "they are in the bytes");

std::string_view NameOf(Domain domain) {
  constexpr std::string_view kNames[] = {"none", "int", "float", "decimal", "text", "binary"};
  return kNames[static_cast<size_t>(domain)];
}

void AppendValue(const Value& v, std::string* out) {
  switch (v.domain()) {
    case Domain::kInt: AppendLE<Int128>(out, v.as_int()); break;
    case Domain::kFloat: AppendLE<double>(out, v.as_float()); break;
    case Domain::kDecimal: AppendLE(out, v.as_decimal().little_endian_array()); break;
    default: AppendLE<uint32_t>(out, static_cast<uint32_t>(v.as_bytes().size())); *out += v.as_bytes();
  }
}

arrow::Decimal256 ReadDecimal(ByteCursor* in) {
  return arrow::Decimal256(arrow::BasicDecimal256::LittleEndianArray, in->Read<std::array<uint64_t, 4>>());
}

// nullopt: cut short, or not in normal form.
std::optional<Value> ReadValue(Domain domain, ByteCursor* in) {
  std::optional<Value> out;
  switch (domain) {
    case Domain::kInt: out = Value::Int(in->Read<Int128>()); break;
    case Domain::kFloat: {
      const auto v = in->Read<double>();
      out = Value::Float(v);
      if (std::bit_cast<uint64_t>(out->as_float()) != std::bit_cast<uint64_t>(v)) return std::nullopt;
      break;
    }
    case Domain::kDecimal: out = Value::Decimal(ReadDecimal(in)); break;
    default: {
      std::string bytes(in->ReadBytes(in->Read<uint32_t>()));
      out = domain == Domain::kText ? Value::Text(std::move(bytes)) : Value::Binary(std::move(bytes));
    }
  }
  if (!in->ok()) return std::nullopt;
  return out;
}

}  // namespace

std::string Moments::Params::ToString() const { return fmt::format("domain={} scale={}", NameOf(domain), scale); }

Result<Moments::Params> Moments::ParamsFor(const arrow::DataType& type) {
  if (type.id() == arrow::Type::DICTIONARY) {
    return ParamsFor(*static_cast<const arrow::DictionaryType&>(type).value_type());
  }
  if (type.id() == arrow::Type::EXTENSION) {
    return ParamsFor(*static_cast<const arrow::ExtensionType&>(type).storage_type());
  }
  if (!IsNormalizable(type)) return UsageError("Moments: values of type {} have no order", type.ToString());
  return Params{DomainOf(type),
                arrow::is_decimal(type.id()) ? static_cast<const arrow::DecimalType&>(type).scale() : 0};
}

Result<Moments> Moments::Empty(const Params& params) {
  if (params.domain == Domain::kNone || (params.domain != Domain::kDecimal && params.scale != 0)) {
    return UsageError("Moments: {} is no domain of values", params.ToString());
  }
  return Moments(params);
}

void Moments::Widen(const Value& low, const Value& high) {
  if (!min_ || low < *min_) min_ = low;
  if (!max_ || *max_ < high) max_ = high;
}

Status Moments::Update(const arrow::Array& given) {
  const uint64_t rows = static_cast<uint64_t>(given.length());
  if (count_ + nulls_ + rows > kMaxRows) return UsageError("Moments: more than 2^60 rows");
  if (given.type_id() == arrow::Type::NA) {
    nulls_ += rows;
    return Status::OK();
  }
  PILUM_ASSIGN_OR_RETURN(const Params of_type, ParamsFor(*given.type()));
  if (!(of_type == params_)) {
    return UsageError("Moments: a column of {} does not fit a sketch of {}", of_type.ToString(), params_.ToString());
  }
  Moments next = *this;  // so that a failure leaves this as it was
  switch (params_.domain) {
    case Domain::kInt: PILUM_RETURN_NOT_OK(next.UpdateInts(given)); break;
    case Domain::kFloat: PILUM_RETURN_NOT_OK(next.UpdateFloats(given)); break;
    default: PILUM_RETURN_NOT_OK(next.UpdateValues(given));
  }
  next.nulls_ += rows - (next.count_ - count_);
  *this = std::move(next);
  return Status::OK();
}

Status Moments::UpdateInts(const arrow::Array& array) {
  return VisitInts(array, [this](std::span<const int64_t> block, bool is_unsigned) {
    const auto add = [&](auto zero) {
      using T = decltype(zero);
      T low = static_cast<T>(block[0]), high = low;
      Int128 sum = 0;
      for (int64_t word : block) {
        const T v = static_cast<T>(word);
        low = std::min(low, v);
        high = std::max(high, v);
        sum += v;
      }
      int_sum_ += sum;
      Widen(Value::Int(low), Value::Int(high));
    };
    is_unsigned ? add(uint64_t{0}) : add(int64_t{0});
    count_ += block.size();
    return Status::OK();
  });
}

Status Moments::UpdateFloats(const arrow::Array& array) {
  return VisitDoubles(array, [this](std::span<const double> block) {
    double low = block[0], high = low;
    for (double v : block) {
      if (CompareFloat(v, low) < 0) low = v;
      if (CompareFloat(v, high) > 0) high = v;
      if (std::abs(v) < kInfinity) {
        float_sum_.Add(v);
      } else {
        ++(v != v ? nans_ : v > 0 ? high_infinities_ : low_infinities_);
      }
    }
    Widen(Value::Float(low), Value::Float(high));
    count_ += block.size();
  });
}

Status Moments::AddDecimal(const arrow::Decimal256& v) {
  const arrow::Decimal256 sum = decimal_sum_ + v, zero;
  const bool wrapped = (decimal_sum_ < zero) == (v < zero) && (sum < zero) != (v < zero);
  if (wrapped) return UsageError("Moments: a sum of decimals over 255 bits");
  decimal_sum_ = sum;
  return Status::OK();
}

Status Moments::UpdateValues(const arrow::Array& given) {
  PILUM_ASSIGN_OR_RETURN(const auto array, PlainArray(given));
  for (int64_t row = 0; row < array->length(); ++row) {
    PILUM_ASSIGN_OR_RETURN(const auto value, ValueAt(*array, row));
    if (!value) continue;
    if (value->as_bytes().size() > kLongest) return UsageError("Moments: a value over 2 GiB");
    if (params_.domain == Domain::kDecimal) PILUM_RETURN_NOT_OK(AddDecimal(value->as_decimal()));
    Widen(*value, *value);
    ++count_;
  }
  return Status::OK();
}

Status Moments::Merge(const Moments& other) {
  PILUM_RETURN_NOT_OK(CheckCompatible(*this, other));
  if (count_ + nulls_ + other.count_ + other.nulls_ > kMaxRows) return UsageError("Moments: more than 2^60 rows");
  PILUM_RETURN_NOT_OK(AddDecimal(other.decimal_sum_));
  const std::optional<Value> low = other.min_, high = other.max_;
  if (low) Widen(*low, *high);
  int_sum_ += other.int_sum_;  // at most 2^60 words of 64 bits
  float_sum_.Add(ExactSum(other.float_sum_));
  low_infinities_ += other.low_infinities_;
  high_infinities_ += other.high_infinities_;
  nans_ += other.nans_;
  count_ += other.count_;
  nulls_ += other.nulls_;
  return Status::OK();
}

std::optional<Value> Moments::sum() const {
  if (count_ == 0) return std::nullopt;
  switch (params_.domain) {
    case Domain::kInt: return Value::Int(int_sum_);
    case Domain::kDecimal: return Value::Decimal(decimal_sum_);
    case Domain::kFloat:
      if (nans_ > 0 || (low_infinities_ > 0 && high_infinities_ > 0)) return Value::Float(std::nan(""));
      if (low_infinities_ + high_infinities_ > 0) return Value::Float(high_infinities_ > 0 ? kInfinity : -kInfinity);
      return Value::Float(float_sum_.Rounded());
    default: return std::nullopt;
  }
}

std::optional<double> Moments::mean() const {
  const std::optional<Value> s = sum();
  if (!s) return std::nullopt;
  const double n = static_cast<double>(count_);
  switch (params_.domain) {
    case Domain::kInt: return static_cast<double>(s->as_int()) / n;
    case Domain::kDecimal: return s->as_decimal().ToDouble(params_.scale) / n;
    default: return s->as_float() / n;
  }
}

std::string Moments::ToBytes() const {
  std::string out;
  AppendHeader(kMagic,
               {.hash = SketchHeader::kNoHash,
                .layout = LayoutOf(params_.domain),
                .size = static_cast<uint32_t>(params_.scale),
                .extra = count_},
               &out);
  AppendLE<uint64_t>(&out, nulls_);
  if (count_ == 0) return out;
  AppendValue(*min_, &out);
  AppendValue(*max_, &out);
  switch (params_.domain) {
    case Domain::kInt: AppendLE<Int128>(&out, int_sum_); break;
    case Domain::kDecimal: AppendValue(Value::Decimal(decimal_sum_), &out); break;
    case Domain::kFloat:
      for (uint64_t n : {low_infinities_, high_infinities_, nans_}) AppendLE<uint64_t>(&out, n);
      float_sum_.AppendTo(&out);
      break;
    default: break;
  }
  return out;
}

Result<Moments> Moments::FromBytes(std::string_view bytes, std::string_view source) {
  ByteCursor in(bytes);
  PILUM_ASSIGN_OR_RETURN(const SketchHeader h, ReadHeader(kMagic, SketchHeader::kNoHash, source, &in));
  const auto corrupt = [&](std::string what) { return Corrupt(source, "Moments", what); };
  const Params params{static_cast<Domain>(h.layout), static_cast<int32_t>(h.size)};
  if (h.layout < LayoutOf(Domain::kInt) || h.layout > LayoutOf(Domain::kBinary) || h.seed != 0 ||
      (params.domain != Domain::kDecimal && h.size != 0)) {
    return corrupt(fmt::format("layout {}, scale {}, seed {}", h.layout, params.scale, h.seed));
  }
  Moments out(params);
  out.count_ = h.extra;
  out.nulls_ = in.Read<uint64_t>();
  if (!in.ok() || out.count_ > kMaxRows || out.nulls_ > kMaxRows || out.count_ + out.nulls_ > kMaxRows) {
    return corrupt(fmt::format("{} values and {} nulls", out.count_, out.nulls_));
  }
  if (out.count_ > 0) {
    out.min_ = ReadValue(params.domain, &in);
    out.max_ = ReadValue(params.domain, &in);
    if (!out.min_ || !out.max_ || *out.max_ < *out.min_) return corrupt("no minimum, or above the maximum");
    if (params.domain == Domain::kInt) {
      constexpr Int128 kLow = std::numeric_limits<int64_t>::min(), kHigh = std::numeric_limits<uint64_t>::max();
      out.int_sum_ = in.Read<Int128>();
      const Int128 n = static_cast<Int128>(out.count_), low = out.min_->as_int(), high = out.max_->as_int();
      if (low < kLow || high > kHigh || out.int_sum_ < low * n || out.int_sum_ > high * n) {
        return corrupt("a sum that its bounds do not allow");
      }
    } else if (params.domain == Domain::kDecimal) {
      out.decimal_sum_ = ReadDecimal(&in);
    } else if (params.domain == Domain::kFloat) {
      for (uint64_t* n : {&out.low_infinities_, &out.high_infinities_, &out.nans_}) {
        *n = in.Read<uint64_t>();
        if (*n > out.count_) return corrupt(fmt::format("{} infinities or NaN of {} values", *n, out.count_));
      }
      const auto sum = ExactSum::Read(&in);
      if (!sum || out.low_infinities_ + out.high_infinities_ + out.nans_ > out.count_) {
        return corrupt("a sum that is not one");
      }
      out.float_sum_ = *sum;
    }
  }
  if (!in.ok() || in.remaining() != 0) return corrupt(fmt::format("{} bytes left over", in.remaining()));
  return out;
}

}  // namespace pilum
