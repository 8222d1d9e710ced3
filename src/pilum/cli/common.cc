#include "pilum/cli/common.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <thread>

#include <CLI/CLI.hpp>
#include <arrow/memory_pool.h>
#include <arrow/type.h>

namespace pilum::cli {

int ExitCodeOf(const Status& status) {
  if (status.ok()) return kExitOk;
  switch (KindOf(status)) {
    case ErrorKind::kQuery:
    case ErrorKind::kUsage: return kExitUsage;
    case ErrorKind::kNotFound: return kExitNotFound;
    case ErrorKind::kCorrupt: return kExitCorrupt;
    case ErrorKind::kUnsupported: return kExitUnsupported;
    case ErrorKind::kDeadline: return kExitDeadline;
    case ErrorKind::kMemory: return kExitMemory;
    case ErrorKind::kCancelled: return InterruptSignal() ? 128 + InterruptSignal() : kExitOk;  // or stdout was closed
    default: return kExitError;
  }
}

void AddRunOptions(CLI::App& command, RunOptions* options) {
  command
      .add_option("--memory-limit", options->memory_limit,
                  "Most memory for rows, e.g. 512MB or 2GB (default: no limit)")
      ->type_name("SIZE");
  command.add_flag("--allow-unstable", options->allow_unstable,
                   "Read Lance files of version 2.3 too, which may still change");
  command.add_flag("--no-verify", options->no_verify, "Do not hold files against the checksums in them");
}

// --- interrupts

namespace {

std::atomic<int> g_signal{0};
int g_wake[2] = {-1, -1};

void OnSignal(int signal) {
  if (g_signal.exchange(signal) != 0) ::_exit(128 + signal);
  int saved = errno;
  char byte = 1;
  (void)!::write(g_wake[1], &byte, 1);
  errno = saved;
}

}  // namespace

// request_stop runs callbacks, which a signal handler must not: a thread waits for the handler's byte and asks.
std::stop_token CatchInterrupts() {
  static auto* source = new std::stop_source;  // never freed: the thread may outlive main
  static const bool caught = [] {
    if (::pipe2(g_wake, O_CLOEXEC) != 0) return false;
    std::thread([] {
      char byte;
      while (::read(g_wake[0], &byte, 1) < 0 && errno == EINTR) {
      }
      source->request_stop();
    }).detach();
    struct sigaction act = {};
    act.sa_handler = OnSignal;
    for (int signal : {SIGINT, SIGTERM}) {
      struct sigaction before = {};
      if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN)
        continue;  // nohup, a shell's background
      ::sigaction(signal, &act, nullptr);
    }
    return true;
  }();
  (void)caught;
  return source->get_token();
}

int InterruptSignal() { return g_signal.load(); }

// --- session

Result<std::unique_ptr<Session>> Session::Make(const RunOptions& options) {
  std::unique_ptr<Session> s(new Session);
  s->ctx_.stats = &s->stats_;
  s->ctx_.stop = CatchInterrupts();
  s->ctx_.threads = DefaultThreads();
  s->ctx_.allow_unstable = options.allow_unstable;
  if (options.no_verify) s->ctx_.verify = Verify::kOff;
  if (!options.memory_limit.empty()) {
    PILUM_ASSIGN_OR_RETURN(uint64_t limit, ParseBytes(options.memory_limit));
    // Never freed: Arrow's threads that read ahead may hold its buffers after a command has failed.
    s->ctx_.pool = new arrow::CappedMemoryPool(arrow::default_memory_pool(), static_cast<int64_t>(limit));
  }
  if (options.timeout && *options.timeout > 0) {
    if (*options.timeout > 1e9)
      return UsageError("--timeout {}: that is over 30 years; 0 means no deadline", *options.timeout);
    s->ctx_.deadline = s->start_ + std::chrono::microseconds(static_cast<int64_t>(*options.timeout * 1e6));
  }
  return s;
}

double Session::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

// --- input options

void AddInputOptions(CLI::App& command, InputOptions* options) {
  command
      .add_option("--input-format", options->format,
                  "auto, parquet, csv, jsonl, arrow or lance (default: by content, then name)")
      ->type_name("FORMAT");
  command
      .add_option("--null", options->nulls,
                  "CSV: an unquoted field text that means null; give it again for more, '' for empty "
                  "(default: empty, NA, N/A, NULL, null)")
      ->type_name("TEXT")
      ->take_all()
      ->allow_extra_args(false);
  command
      .add_option("--delimiter", options->delimiter,
                  "CSV: the field separator, one character or 'tab' (default: comma; tab for .tsv)")
      ->type_name("CHAR");
}

Result<IngestOptions> ToIngestOptions(const InputOptions& options) {
  IngestOptions out;
  static const std::map<std::string, InputFormat> kFormats = {
      {"auto", InputFormat::kAuto},       {"parquet", InputFormat::kParquet}, {"csv", InputFormat::kCsv},
      {"jsonl", InputFormat::kJsonLines}, {"arrow", InputFormat::kArrow},     {"lance", InputFormat::kLance}};
  auto it = kFormats.find(options.format);
  if (it == kFormats.end()) {
    return UsageError("--input-format {}: not one of auto, parquet, csv, jsonl, arrow, lance", options.format);
  }
  out.format = it->second;
  if (!options.nulls.empty()) out.null_values = options.nulls;
  if (options.delimiter == "tab" || options.delimiter == "\\t") {
    out.delimiter = '\t';
  } else if (options.delimiter.size() == 1 && options.delimiter[0] != '"' && options.delimiter[0] != '\n') {
    out.delimiter = options.delimiter[0];
  } else if (!options.delimiter.empty()) {
    return UsageError("--delimiter {}: not one character (or 'tab')", options.delimiter);
  }
  return out;
}

CLI::Validator WholeNumber() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        uint64_t n = 0;
        auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
        const bool good = error == std::errc() && end == text.data() + text.size();
        return good ? "" : fmt::format("'{}' is not a whole number from 0 on", text);
      },
      "");
}

CLI::Validator Seconds() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        double n = -1;
        auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
        const bool good = error == std::errc() && end == text.data() + text.size() && n >= 0;
        return good ? "" : fmt::format("'{}' is not a number of seconds, 0 or more", text);
      },
      "");
}

// --- texts

Status Print(std::string_view text) {
  while (!text.empty()) {
    ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EPIPE) return MakeError(ErrorKind::kCancelled, "standard output was closed");
    if (n < 0) return Status::IOError("standard output: ", std::strerror(errno));
    text.remove_prefix(static_cast<size_t>(n));
  }
  return Status::OK();
}

Result<uint64_t> ParseBytes(const std::string& text) {
  double value = 0;
  auto [rest, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string unit(rest, text.data() + text.size());
  unit.erase(0, unit.find_first_not_of(' '));
  for (char& c : unit) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  static const std::map<std::string, double> kUnits = {{"", 1},
                                                       {"b", 1},
                                                       {"k", 1e3},
                                                       {"kb", 1e3},
                                                       {"m", 1e6},
                                                       {"mb", 1e6},
                                                       {"g", 1e9},
                                                       {"gb", 1e9},
                                                       {"t", 1e12},
                                                       {"tb", 1e12},
                                                       {"kib", 1024.0},
                                                       {"mib", 1048576.0},
                                                       {"gib", 1073741824.0},
                                                       {"tib", 1099511627776.0}};
  auto it = kUnits.find(unit);
  if (ec != std::errc() || it == kUnits.end() || !(value >= 1) || value * it->second > 9e18) {
    return UsageError("'{}' is not a size; write e.g. 100MB, 2GB or 512MiB", text);
  }
  return static_cast<uint64_t>(value * it->second);
}

Result<std::chrono::microseconds> ParseDuration(const std::string& text) {
  double value = 0;
  const auto [rest, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string unit(rest, text.data() + text.size());
  static const std::map<std::string, double> kSeconds = {{"ms", 1e-3}, {"s", 1},       {"min", 60},
                                                         {"h", 3600},  {"d", 86400.0}, {"w", 604800.0}};
  const auto it = kSeconds.find(unit);
  if (ec != std::errc() || it == kSeconds.end() || !(value >= 0) || value * it->second > 1e11) {
    return UsageError("'{}' is not a time; write e.g. 2s, 10min, 24h or 7d", text);
  }
  return std::chrono::microseconds(static_cast<int64_t>(value * it->second * 1e6));
}

// --- columns and rows

namespace {

struct NamePart {
  std::string name;
  bool quoted = false;
};

// a.b,"c.d" -> [[a, b], ["c.d"]]
Result<std::vector<std::vector<NamePart>>> SplitNames(const std::string& text) {
  std::vector<std::vector<NamePart>> names(1, std::vector<NamePart>(1));
  for (size_t i = 0; i < text.size(); ++i) {
    NamePart& part = names.back().back();
    if (text[i] == '"') {
      part.quoted = true;
      size_t end = i + 1;
      for (; end < text.size(); ++end) {
        if (text[end] != '"')
          part.name.push_back(text[end]);
        else if (end + 1 < text.size() && text[end + 1] == '"')
          part.name.push_back(text[end++]);
        else
          break;
      }
      if (end >= text.size()) return UsageError("--columns {}: a quote is left open", text);
      i = end;
    } else if (text[i] == ',') {
      names.emplace_back(1);
    } else if (text[i] == '.') {
      names.back().emplace_back();
    } else {
      part.name.push_back(text[i]);
    }
  }
  return names;
}

}  // namespace

Result<std::vector<FieldPath>> ParseColumns(const std::string& text, const arrow::Schema& schema) {
  PILUM_ASSIGN_OR_RETURN(auto names, SplitNames(text));
  std::vector<FieldPath> out;
  for (const auto& parts : names) {
    FieldPath path;
    std::string whole;
    for (const auto& part : parts) {
      path.steps.push_back(part.name);
      whole += (whole.empty() ? "" : ".") + part.name;
    }
    if (parts.size() > 1 && schema.GetFieldIndex(whole) >= 0) path.steps = {whole};
    if (schema.GetFieldIndex(path.steps[0]) < 0 && schema.GetAllFieldIndices(path.steps[0]).empty()) {
      return NotFoundError("no column '{}'; there are: {}", whole, fmt::join(schema.field_names(), ", "));
    }
    out.push_back(std::move(path));
  }
  return out;
}

Result<std::vector<RowRange>> ParseRowRanges(const std::vector<std::string>& texts, uint64_t num_rows) {
  std::vector<RowRange> out;
  auto number = [](std::string_view s, uint64_t* v) {
    auto [rest, ec] = std::from_chars(s.data(), s.data() + s.size(), *v);
    return !s.empty() && ec == std::errc() && rest == s.data() + s.size();
  };
  for (const std::string& text : texts) {
    for (size_t at = 0; at <= text.size();) {
      size_t comma = std::min(text.find(',', at), text.size());
      std::string_view piece = std::string_view(text).substr(at, comma - at);
      at = comma + 1;
      RowRange r;
      size_t colon = piece.find(':');
      bool ok = colon == std::string_view::npos ? number(piece, &r.begin)
                                                : (colon == 0 || number(piece.substr(0, colon), &r.begin));
      if (colon == std::string_view::npos)
        r.end = r.begin + 1;
      else if (colon + 1 == piece.size())
        r.end = num_rows;
      else
        ok = ok && number(piece.substr(colon + 1), &r.end);
      if (!ok || r.end < r.begin) return UsageError("'{}' is not a row (7) or a range of rows (10:20)", piece);
      if (r.end > num_rows) {
        return UsageError("row {} is past the end: the file has {}",
                          colon == std::string_view::npos ? r.begin : r.end - 1, Plural(num_rows, "row"));
      }
      out.push_back(r);
    }
  }
  return out;
}

}  // namespace pilum::cli
