#include "pilum/base/status.h"

#include "pilum/base/types.h"

namespace pilum {
namespace {

class KindDetail : public arrow::StatusDetail {
 public:
  explicit KindDetail(ErrorKind kind) : kind_(kind) {}
  const char* type_id() const override { return kTypeId; }
  std::string ToString() const override { return ""; }
  ErrorKind kind() const { return kind_; }
  static constexpr const char* kTypeId = "pilum::ErrorKind";

 private:
  ErrorKind kind_;
};

arrow::StatusCode CodeOf(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kCorrupt: return arrow::StatusCode::SerializationError;
    case ErrorKind::kUnsupported: return arrow::StatusCode::NotImplemented;
    case ErrorKind::kNotFound: return arrow::StatusCode::KeyError;
    case ErrorKind::kDeadline:
    case ErrorKind::kCancelled: return arrow::StatusCode::Cancelled;
    case ErrorKind::kMemory: return arrow::StatusCode::OutOfMemory;
    default: return arrow::StatusCode::Invalid;
  }
}

}  // namespace

Status MakeError(ErrorKind kind, std::string message) {
  return Status(CodeOf(kind), std::move(message), std::make_shared<KindDetail>(kind));
}

ErrorKind KindOf(const Status& status) {
  const auto& detail = status.detail();
  if (detail && std::string_view(detail->type_id()) == KindDetail::kTypeId) {
    return static_cast<const KindDetail&>(*detail).kind();
  }
  if (status.IsCancelled()) return ErrorKind::kCancelled;
  if (status.IsOutOfMemory()) return ErrorKind::kMemory;
  return ErrorKind::kOther;
}

Status Corrupt(std::string_view source, std::string_view place, std::string_view what) {
  return MakeError(ErrorKind::kCorrupt, place.empty() ? fmt::format("{}: {}", source, what)
                                                      : fmt::format("{}: {}: {}", source, place, what));
}

Status WithContext(std::string_view context, const Status& status) {
  if (status.ok()) return status;
  return status.WithMessage(fmt::format("{}: {}", context, status.message()));
}

std::string FieldPath::ToString() const { return fmt::format("{}", fmt::join(steps, ".")); }

}  // namespace pilum
