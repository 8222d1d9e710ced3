// What all commands share: exit codes, one-line errors, the read context of a run (memory limit, deadline, Ctrl-C), and
// small texts. No logic beyond arguments and rendering.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/base/amounts.h"
#include "pilum/base/context.h"
#include "pilum/base/row_set.h"
#include "pilum/base/status.h"
#include "pilum/base/types.h"
#include "pilum/ingest/ingest.h"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace pilum::cli {

// Documented in docs/guides/cli.md; scripts rely on them.
enum ExitCode {
  kExitOk = 0,
  kExitError = 1,
  kExitUsage = 2,
  kExitNotFound = 3,
  kExitCorrupt = 4,
  kExitUnsupported = 5,
  kExitDeadline = 6,
  kExitMemory = 7,
  kExitInterrupted = 130,
};
int ExitCodeOf(const Status& status);

// What the parsed command line asks for; run after parsing. The value is the exit code.
using Action = std::function<Result<int>()>;
void AddFileCommands(CLI::App& app, Action* action);
void AddStoreCommands(CLI::App& app, Action* action);
void AddTableCommands(CLI::App& app, Action* action);
void AddQueryCommand(CLI::App& app, Action* action);
void AddCompletionCommand(CLI::App& app, Action* action);
std::string CompletionScript(const CLI::App& app, std::string_view shell);

// Options of every command that reads.
struct RunOptions {
  std::string memory_limit;       // "2GB"; empty: none
  std::optional<double> timeout;  // seconds; 0 or none: no deadline
  bool allow_unstable = false;    // files of version 2.3
  bool no_verify = false;         // leave the checksums of files alone
};
void AddRunOptions(CLI::App& command, RunOptions* options);

// One run of a command: counts, memory cap, deadline and interrupts behind one ReadContext.
class Session {
 public:
  static Result<std::unique_ptr<Session>> Make(const RunOptions& options);
  ReadContext& ctx() { return ctx_; }
  const ReadStats& stats() const { return stats_; }
  double seconds() const;  // since Make

 private:
  Session() = default;
  ReadStats stats_;
  ReadContext ctx_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// The first Ctrl-C (or SIGTERM) requests a stop, the second ends the process. Its number once it came, else 0.
std::stop_token CatchInterrupts();
int InterruptSignal();

// Options of every command that opens foreign input.
struct InputOptions {
  std::string format = "auto";
  std::vector<std::string> nulls;
  std::string delimiter;
};
void AddInputOptions(CLI::App& command, InputOptions* options);
Result<IngestOptions> ToIngestOptions(const InputOptions& options);

// A check for options that take a count: decimal digits only, no sign (CLI11 takes -1 for the largest number).
CLI::Validator WholeNumber();
CLI::Validator Seconds();  // 0 or more

Status Print(std::string_view text);  // to standard output; kCancelled when its reader is gone

Result<uint64_t> ParseBytes(const std::string& text);                      // 64, 100KB, 2GB, 512MiB
Result<std::chrono::microseconds> ParseDuration(const std::string& text);  // 250ms, 2s, 10min, 24h, 7d

// "a,st.x,\"odd.name\"": top-level names win over paths. kNotFound lists the columns.
Result<std::vector<FieldPath>> ParseColumns(const std::string& text, const arrow::Schema& schema);
// "3", "10:20" (half open), several with commas; in the order given.
Result<std::vector<RowRange>> ParseRowRanges(const std::vector<std::string>& texts, uint64_t num_rows);

}  // namespace pilum::cli
