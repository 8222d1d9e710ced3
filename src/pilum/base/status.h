// Errors. arrow::Status everywhere, with one detail of ours that says which kind of failure it is, so that the CLI can
// choose an exit code and Python an exception class without reading texts.
// A message names the source (file), the place (offset, page, column, row), what is wrong and what to do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <arrow/result.h>
#include <arrow/status.h>
#include <fmt/format.h>

namespace pilum {

using arrow::Result;
using arrow::Status;

enum class ErrorKind {
  kOther,        // an arrow::Status without our detail
  kCorrupt,      // bytes from outside break their format
  kUnsupported,  // a version, type or feature this Pilum does not handle
  kQuery,        // the query text or a parameter is wrong (carries a position in the text where there is one)
  kUsage,        // an argument is wrong
  kNotFound,     // a file, dataset or column is not there
  kDeadline,     // the deadline passed
  kCancelled,    // the caller stopped it (Ctrl-C)
  kMemory,       // over the memory limit
  kRetry,        // somebody else committed first; the same again, on what is there now, may succeed
  kConflict,     // what somebody else committed leaves no sense in this; doing it again would do something else
};

Status MakeError(ErrorKind kind, std::string message);
ErrorKind KindOf(const Status& status);

// `source`: a path or URI. `place`: e.g. "offset 120", "column 'a' page 3 chunk 7". May be empty.
Status Corrupt(std::string_view source, std::string_view place, std::string_view what);

template <typename... A>
Status Unsupported(fmt::format_string<A...> f, A&&... a) {
  return MakeError(ErrorKind::kUnsupported, fmt::format(f, std::forward<A>(a)...));
}
template <typename... A>
Status UsageError(fmt::format_string<A...> f, A&&... a) {
  return MakeError(ErrorKind::kUsage, fmt::format(f, std::forward<A>(a)...));
}
template <typename... A>
Status QueryError(fmt::format_string<A...> f, A&&... a) {
  return MakeError(ErrorKind::kQuery, fmt::format(f, std::forward<A>(a)...));
}
template <typename... A>
Status NotFoundError(fmt::format_string<A...> f, A&&... a) {
  return MakeError(ErrorKind::kNotFound, fmt::format(f, std::forward<A>(a)...));
}

// The same status with "context: " put before its message; kind and code stay.
Status WithContext(std::string_view context, const Status& status);

}  // namespace pilum

#define PILUM_RETURN_NOT_OK ARROW_RETURN_NOT_OK
#define PILUM_ASSIGN_OR_RETURN ARROW_ASSIGN_OR_RAISE
