// pilum completion bash|zsh|fish: scripts made from the command tree itself, so that they cannot fall behind it.
#include <CLI/CLI.hpp>

#include "pilum/cli/common.h"

namespace pilum::cli {
namespace {

struct Word {
  std::string text, what;
};
struct Node {
  std::string path;         // "file info"; empty at the top
  std::vector<Word> words;  // subcommands, then options
};

std::string FirstLine(std::string s) {
  s = s.substr(0, s.find('\n'));
  size_t cut = s.find(" (");
  if (cut != std::string::npos && s.size() > 60) s.resize(cut);
  return s;
}

void Walk(const CLI::App& app, const std::string& path, std::vector<Node>* out) {
  Node node{path, {}};
  for (const CLI::App* sub : app.get_subcommands({}))
    node.words.push_back({sub->get_name(), FirstLine(sub->get_description())});
  for (const CLI::Option* opt : app.get_options()) {
    for (const std::string& name : opt->get_lnames())
      node.words.push_back({"--" + name, FirstLine(opt->get_description())});
  }
  out->push_back(node);
  for (const CLI::App* sub : app.get_subcommands({}))
    Walk(*sub, path.empty() ? sub->get_name() : path + " " + sub->get_name(), out);
}

// What follows an option that takes one of few values.
struct Choice {
  std::string path, option, values;  // of that command; path empty: of any
};
const std::vector<Choice> kChoices = {{"", "--format", "table csv jsonl arrow parquet lance"},
                                      {"", "--input-format", "auto parquet csv jsonl arrow lance"},
                                      {"file convert", "--version", "2.0 2.1 2.2"},
                                      {"store put", "--version", "2.1 2.2"},
                                      {"", "--profile", "fast balanced small"},
                                      {"", "--stats", "json"}};

// A pattern of the shells' `case "$path $before"`.
std::string PatternOf(const Choice& c) {
  return c.path.empty() ? fmt::format("*\" {}\"", c.option) : fmt::format("\"{} {}\"", c.path, c.option);
}

std::string WordList(const Node& node) {
  std::string s;
  for (const Word& w : node.words) s += (s.empty() ? "" : " ") + w.text;
  return s;
}

// The same walk over the words typed so far, for bash and zsh: `path` is the deepest command among them.
std::string PathLoop(const std::vector<Node>& nodes, std::string_view words) {
  std::string cases;
  for (const Node& n : nodes) {
    if (!n.path.empty()) cases += (cases.empty() ? "" : "|") + fmt::format("\"{}\"", n.path);
  }
  return fmt::format(
      "  local path=\"\" word next\n  for word in {}; do\n    next=\"${{path:+$path }}$word\"\n"
      "    case \"$next\" in {}) path=\"$next\" ;; esac\n  done\n",
      words, cases);
}

std::string Bash(const std::vector<Node>& nodes) {
  std::string s = "# bash completion of pilum: source <(pilum completion bash)\n_pilum() {\n";
  s += "  local cur=\"${COMP_WORDS[COMP_CWORD]}\" prev=\"${COMP_WORDS[COMP_CWORD-1]}\"\n";
  s += PathLoop(nodes, "\"${COMP_WORDS[@]:1:COMP_CWORD-1}\"");
  s += "  case \"$path $prev\" in\n";
  for (const Choice& c : kChoices) {
    s += fmt::format("    {}) COMPREPLY=($(compgen -W \"{}\" -- \"$cur\")); return ;;\n", PatternOf(c), c.values);
  }
  s += "  esac\n  local words=\"\"\n  case \"$path\" in\n";
  for (const Node& n : nodes) s += fmt::format("    \"{}\") words=\"{}\" ;;\n", n.path, WordList(n));
  s += "  esac\n  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\n";
  return s + "complete -o default -o bashdefault -F _pilum pilum\n";
}

std::string ZshQuoted(std::string text) {
  for (size_t i = 0; (i = text.find('\'', i)) != std::string::npos; i += 4) text.replace(i, 1, "'\\''");
  return text;
}

std::string Zsh(const std::vector<Node>& nodes) {
  std::string s =
      "#compdef pilum\n# zsh completion of pilum: source <(pilum completion zsh), or save as _pilum in a folder of "
      "$fpath\n_pilum() {\n";
  s += PathLoop(nodes, "${words[2,CURRENT-1]}");
  s += "  case \"$path ${words[CURRENT-1]}\" in\n";
  for (const Choice& c : kChoices) s += fmt::format("    {}) compadd -- {}; return ;;\n", PatternOf(c), c.values);
  s += "  esac\n  local -a found\n  case \"$path\" in\n";
  for (const Node& n : nodes) {
    s += fmt::format("    \"{}\") found=(", n.path);
    for (const Word& w : n.words) {
      std::string what = w.what;
      for (size_t i = 0; (i = what.find(':', i)) != std::string::npos; i += 2) what.replace(i, 1, "\\:");
      s += fmt::format("'{}:{}' ", w.text, ZshQuoted(what));
    }
    s += ") ;;\n";
  }
  s += "  esac\n  _describe -o pilum found\n  _files\n}\n";
  return s + "if [ \"$funcstack[1]\" = \"_pilum\" ]; then _pilum; else compdef _pilum pilum; fi\n";
}

std::string FishQuoted(const std::string& text) {
  std::string s;
  for (char c : text) {
    if (c == '\'' || c == '\\') s += '\\';
    s += c;
  }
  return "'" + s + "'";
}

std::string Fish(const std::vector<Node>& nodes) {
  std::string s =
      "# fish completion of pilum: pilum completion fish | source\n"
      "function __pilum_at\n  set -l path\n  for word in (commandline -opc)[2..-1]\n"
      "    set -l next (string trim \"$path $word\")\n    switch $next\n      case";
  for (const Node& n : nodes) {
    if (!n.path.empty()) s += " " + FishQuoted(n.path);
  }
  s += "\n        set path $next\n    end\n  end\n  test \"$path\" = \"$argv\"\nend\n";
  for (const Node& n : nodes) {
    std::string at =
        fmt::format("complete -c pilum -n {}", FishQuoted("__pilum_at " + (n.path.empty() ? "''" : n.path)));
    for (const Word& w : n.words) {
      bool option = w.text.starts_with("--");
      std::string values;
      for (const Choice& c : kChoices) {
        if (c.option != w.text || n.path.empty() || (!c.path.empty() && c.path != n.path)) continue;
        values = " -x -a " + FishQuoted(c.values);
      }
      s += fmt::format("{} {} {}{} -d {}\n", at, option ? "-l" : "-f -a", option ? w.text.substr(2) : w.text, values,
                       FishQuoted(w.what));
    }
  }
  return s;
}

}  // namespace

std::string CompletionScript(const CLI::App& app, std::string_view shell) {
  std::vector<Node> nodes;
  Walk(app, "", &nodes);
  if (shell == "bash") return Bash(nodes);
  if (shell == "zsh") return Zsh(nodes);
  return Fish(nodes);
}

void AddCompletionCommand(CLI::App& app, Action* action) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "A completion script for your shell");
  command->footer("Example:\n  source <(pilum completion bash)");
  command->add_option("shell", *shell, "bash, zsh or fish")->required()->type_name("SHELL");
  command->callback([&app, shell, action] {
    *action = [&app, shell]() -> Result<int> {
      if (*shell != "bash" && *shell != "zsh" && *shell != "fish") {
        return UsageError("no completion for '{}'; there is bash, zsh and fish", *shell);
      }
      PILUM_RETURN_NOT_OK(Print(CompletionScript(app, *shell)));
      return kExitOk;
    };
  });
}

}  // namespace pilum::cli
