// partita completion zsh
#include "base/text.h"
#include "cli/command_line/completion.h"
#include "cli/command_line/help.h"

namespace partita::cli {
namespace {

std::string zsh_quoted(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else if (c == '[' || c == ']' || c == ':')
      out += std::string("\\") + c;
    else
      out += c;
  }
  return out;
}

std::string zsh_action(Completes completes, std::string_view words) {
  switch (completes) {
    case Completes::nothing:
      return " ";
    case Completes::file:
      return "_files";
    case Completes::folder:
      return "_files -/";
    case Completes::words:
      return "(" + std::string(words) + ")";
    case Completes::board:
      return "_partita_boards";
    case Completes::node:
      return "_partita_nodes";
    case Completes::running_node:
      return "_partita_running";
    case Completes::node_type:
      return "_partita_types";
    case Completes::workload:
    case Completes::study:
      return std::string("{").append(words_function(completes)).append("; _files}");
  }
  return " ";
}

std::string zsh_options(std::span<const Option> options) {
  std::string out;
  for (const auto& option : options)
    for (const auto& name : split(option.names, ',')) {
      out += "    '" + std::string(option.repeatable ? "*" : "") + name + "[" + zsh_quoted(option.help) + "]";
      if (!option.value.empty())
        out += ":" + std::string(option.value) + ":" + zsh_action(option.completes, option.words);
      out += "'\n";
    }
  return out;
}

std::string zsh_verb_case(const Verb& verb) {
  std::string name(verb.name);
  for (char& c : name)
    if (c == ' ') c = '-';
  std::string out = "  (" + name + ")\n    arguments=(\n" + zsh_options(verb.options);
  int position = 1;
  for (const auto& positional : verb.positionals) {
    const auto action = zsh_action(positional.completes, positional.words);
    out += "    '" + (positional.repeatable ? "*" : std::to_string(position++)) + ":" + zsh_quoted(positional.name) +
           ":" + action + "'\n";
  }
  if (verb.takes_command != TakesCommand::no) out += "    '*:command: _command_names -e'\n";
  return out + "    ) ;;\n";
}

}  // namespace

std::string zsh_completion() {
  std::string out = "#compdef partita\n# zsh completion of partita, made by \"partita completion zsh\".\n";
  const auto lister = [&](std::string_view name, std::string_view command) {
    out += "_partita_" + std::string(name) + "() { compadd -- ${(f)\"$(" + std::string(command) + ")\"} }\n";
  };
  lister("boards", kBoardWords);
  lister("nodes", kNodeWords);
  lister("running", kRunningWords);
  lister("types", kTypeWords);
  lister("workloads", kWorkloadWords);
  lister("studies", kStudyWords);
  out +=
      "_partita() {\n  local curcontext=$curcontext state verb\n  local -a line words_of global arguments\n  "
      "global=(\n" +
      zsh_options(global_options()) + "  )\n";
  out +=
      "  _arguments -C $global '1:verb:->verb' '*::argument:->arguments' && return\n  if [[ $state == verb ]]; then\n  "
      "  words_of=(\n";
  for (const auto& verb : verbs())
    if (!is_subverb(verb)) out += "    '" + std::string(verb.name) + ":" + zsh_quoted(verb.summary) + "'\n";
  out += "    )\n    _describe verb words_of\n    return\n  fi\n  verb=$words[1]\n";
  for (const auto& verb : verbs())
    if (const auto subs = subverbs_of(verb.name); !subs.empty()) {
      out +=
          "  if [[ $verb == " + std::string(verb.name) + " ]]; then\n    if ((CURRENT == 2)); then\n      words_of=(\n";
      for (const auto& each : verbs())
        if (each.name.starts_with(std::string(verb.name) + ' '))
          out +=
              "      '" + std::string(each.name.substr(verb.name.size() + 1)) + ":" + zsh_quoted(each.summary) + "'\n";
      out += "      )\n      _describe verb words_of\n    elif [[ \" " + join(subs, " ") +
             " \" == *\" $words[2] \"* ]]; then\n"
             "      verb=" +
             std::string(verb.name) + "-$words[2]\n      shift words\n      ((CURRENT--))\n    fi\n  fi\n";
    }
  out += "  case $verb in\n";
  for (const auto& verb : verbs()) out += zsh_verb_case(verb);
  return out +
         "  esac\n  _arguments $global $arguments\n}\n"
         "# As a file in fpath it is the completion; sourced, it registers it.\n"
         "if [[ $funcstack[1] == _partita ]]; then _partita \"$@\"; else compdef _partita partita; fi\n";
}

}  // namespace partita::cli
