// pilum: parses the command line, runs one command, turns its status into one line and an exit code.
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>

#include <CLI/CLI.hpp>
#include <arrow/config.h>
#include <zstd.h>

#include "pilum/cli/common.h"
#include "pilum/io/memory_names.h"

namespace pilum::cli {
namespace {

// The widest instructions that this machine gives the kernels.
std::string CpuKernels() {
  std::string s;
  if (__builtin_cpu_supports("avx2")) s += " avx2";
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    s += " avx512";
  if (__builtin_cpu_supports("avx512vbmi2")) s += " avx512vbmi2";
  return s.empty() ? " portable" : s;
}

std::string VersionText() {
  return fmt::format(
      "pilum {}\narrow {}\nzstd {}\ncpu kernels:{}\nlance files: read 2.0, 2.1, 2.2; write 2.0, 2.1, 2.2",
      PILUM_VERSION, arrow::GetBuildInfo().version_string, ZSTD_versionString(), CpuKernels());
}

std::string OneLine(std::string text) {
  std::string out;
  for (char c : text) {
    bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    if (!control)
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  return out;
}

int Fail(const Status& status) {
  int code = ExitCodeOf(status);
  if (KindOf(status) == ErrorKind::kCancelled) {
    if (InterruptSignal()) std::fputs("pilum: stopped\n", stderr);
    return code;  // a closed standard output says nothing
  }
  std::string text = OneLine(status.message());
  if (KindOf(status) == ErrorKind::kMemory) text += "; raise --memory-limit or ask for less";
  fmt::print(stderr, "pilum: {}\n", text);
  return code;
}

// The deepest subcommand that the words named, for "see pilum file info --help".
std::string Named(const CLI::App& app) {
  std::string path = app.get_name();
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    path += " " + at->get_name();
  }
  return path;
}

// "no command 'fil' …" where a word stands in a command's place and is none; else empty.
std::string UnknownCommand(const CLI::App& app, int argc, char** argv) {
  const CLI::App* at = &app;
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
    std::vector<std::string> names;
    const CLI::App* found = nullptr;
    for (const CLI::App* sub : at->get_subcommands([](const CLI::App*) { return true; })) {
      names.push_back(sub->get_name());
      if (sub->get_name() == argv[i]) found = sub;
    }
    if (names.empty()) return "";
    if (!found)
      return fmt::format("no command '{}' in {}; there are {}", argv[i], at->get_name(), fmt::join(names, ", "));
    at = found;
  }
  return "";
}

int Main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);  // a write then says EPIPE, and we end quietly
  RefuseMemoryStores();
  CLI::App app("Pilum: reads, writes and queries Lance files and part stores, reads Lance tables", "pilum");
  app.set_version_flag("--version", VersionText);
  app.require_subcommand(1);
  app.footer(
      "Example:\n  pilum query lake/flights \"SELECT * FROM t WHERE dep_delay > 600\"\n\n"
      "PILUM_THREADS sets the threads of a read. Exit codes: 0 ok, 1 error or faults found, 2 usage or query, 3 not "
      "found,\n"
      "4 corrupt, 5 unsupported, 6 deadline, 7 memory limit, 130 Ctrl-C.");
  Action action;
  AddFileCommands(app, &action);
  AddStoreCommands(app, &action);
  AddTableCommands(app, &action);
  AddQueryCommand(app, &action);
  AddCompletionCommand(app, &action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForVersion& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    std::string unknown = UnknownCommand(app, argc, argv);
    fmt::print(stderr, "pilum: {}; see {} --help\n", unknown.empty() ? OneLine(e.what()) : unknown, Named(app));
    return kExitUsage;
  }
  Result<int> code = action();
  return code.ok() ? *code : Fail(code.status());
}

}  // namespace
}  // namespace pilum::cli

// No destructors of statics: Arrow's libraries alone spend over a millisecond on tidying what the kernel frees anyway.
int main(int argc, char** argv) {
  const int code = pilum::cli::Main(argc, argv);
  std::cout.flush();
  std::fflush(nullptr);
  std::_Exit(code);
}
