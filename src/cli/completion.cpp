// The table of verbs as completion scripts. Boards, nodes and types are asked of the command itself.
#include "base/text.h"
#include "cli/help.h"

namespace partita::cli {
namespace {

// Shell commands that print the words of a kind, one per line.
constexpr std::string_view kBoardWords = "partita boards 2>/dev/null | sed '1d;/^ /d;/^$/d' | cut -d ' ' -f 1";
constexpr std::string_view kNodeWords =
    "{ partita emulate list; partita emulate types; } 2>/dev/null | sed '/^node /d;/^type /d;/^no /d' | cut -d ' ' -f "
    "1 | sort -u";
constexpr std::string_view kTypeWords = "partita emulate types 2>/dev/null | sed 1d | cut -d ' ' -f 1";

std::string_view word_command(Completes completes) {
  if (completes == Completes::board) return kBoardWords;
  return completes == Completes::node_type ? kTypeWords : kNodeWords;
}

std::string all_names(std::span<const Option> options) {
  std::string out;
  for (const auto& option : options)
    for (const auto& name : split(option.names, ',')) out += (out.empty() ? "" : " ") + name;
  return out;
}

std::vector<std::string> subverbs_of(std::string_view verb) {
  std::vector<std::string> out;
  for (const auto& each : verbs())
    if (each.name.starts_with(std::string(verb) + ' ')) out.emplace_back(each.name.substr(verb.size() + 1));
  return out;
}

std::string top_verbs() {
  std::string out;
  for (const auto& verb : verbs())
    if (!is_subverb(verb)) out += (out.empty() ? "" : " ") + std::string(verb.name);
  return out;
}

std::string bash_words(Completes completes, std::string_view words) {
  switch (completes) {
    case Completes::nothing:
      return "return";
    case Completes::file:
      return "compopt -o default; return";
    case Completes::folder:
      return "compopt -o dirnames; return";
    case Completes::words:
      return "COMPREPLY=($(compgen -W \"" + std::string(words) + "\" -- \"$cur\")); return";
    default:
      return "COMPREPLY=($(compgen -W \"$(" + std::string(word_command(completes)) + ")\" -- \"$cur\")); return";
  }
}

// Cases of "$verb:$prev" for options that take a value.
std::string bash_value_cases(std::string_view verb, std::span<const Option> options) {
  std::string out;
  for (const auto& option : options) {
    if (option.value.empty()) continue;
    std::string patterns;
    for (const auto& name : split(option.names, ','))
      patterns += (patterns.empty() ? "'" : " | '") + std::string(verb) + ":" + name + "'";
    if (verb == "*") {
      patterns.clear();
      for (const auto& name : split(option.names, ',')) patterns += (patterns.empty() ? "*:" : " | *:") + name;
    }
    out += "    " + patterns + ") " + bash_words(option.completes, option.words) + " ;;\n";
  }
  return out;
}

std::string bash_value_options() {
  std::string out;
  const auto add = [&](std::span<const Option> options) {
    for (const auto& option : options)
      if (!option.value.empty())
        for (const auto& name : split(option.names, ','))
          if ((" " + out + " ").find(" " + name + " ") == std::string::npos) out += (out.empty() ? "" : " ") + name;
  };
  add(global_options());
  for (const auto& verb : verbs()) add(verb.options);
  return out;
}

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
    case Completes::node_type:
      return "_partita_types";
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
    out += "    '" + std::to_string(position++) + ":" + zsh_quoted(positional.name) + ":" + action + "'\n";
  }
  if (verb.takes_command != TakesCommand::no) out += "    '*:command: _command_names -e'\n";
  return out + "    ) ;;\n";
}

std::string fish_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string fish_value(Completes completes, std::string_view words) {
  switch (completes) {
    case Completes::nothing:
      return " -x";
    case Completes::file:
      return " -r -F";
    case Completes::folder:
      return " -x -a '(__fish_complete_directories)'";
    case Completes::words:
      return " -x -a " + fish_quoted(words);
    default:
      return " -x -a '(" + std::string("__partita_") +
             (completes == Completes::board  ? "boards"
              : completes == Completes::node ? "nodes"
                                             : "types") +
             ")'";
  }
}

std::string fish_options(const std::string& condition, std::span<const Option> options) {
  std::string out;
  for (const auto& option : options) {
    out += "complete -c partita" + condition;
    for (const auto& name : split(option.names, ','))
      out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (!option.value.empty()) out += fish_value(option.completes, option.words);
    out += " -d " + fish_quoted(option.help) + '\n';
  }
  return out;
}

std::string fish_verb(const Verb& verb) {
  const auto words = split(verb.name, ' ');
  std::string condition = " -n '__fish_seen_subcommand_from " + words.front();
  if (words.size() > 1)
    condition += "; and __fish_seen_subcommand_from " + words.back();
  else if (const auto subs = subverbs_of(verb.name); !subs.empty())
    condition += "; and not __fish_seen_subcommand_from " + join(subs, " ");
  condition += "'";
  std::string out;
  for (const auto& each : verbs())
    if (each.name.starts_with(std::string(verb.name) + ' '))
      out += "complete -c partita" + condition + " -a " + std::string(each.name.substr(verb.name.size() + 1)) + " -d " +
             fish_quoted(each.summary) + '\n';
  for (const auto& positional : verb.positionals)
    if (positional.completes != Completes::nothing)
      out += "complete -c partita" + condition + fish_value(positional.completes, positional.words) + '\n';
  return out + fish_options(condition, verb.options);
}

}  // namespace

std::string bash_completion() {
  std::string out =
      "# bash completion of partita, made by \"partita completion bash\".\n_partita() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} verb= word i\n"
      "  local with_value=\" " +
      bash_value_options() +
      " \"\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n    word=${COMP_WORDS[i]}\n    case $word in\n"
      "      --) COMP_CWORD=$((COMP_CWORD - i)); compopt -o default; COMPREPLY=($(compgen -c -- \"$cur\")); return ;;\n"
      "      -*) [[ $with_value == *\" $word \"* ]] && ((i++)) ;;\n"
      "      *)\n        if [[ -z $verb ]]; then verb=$word\n";
  for (const auto& verb : verbs())
    if (const auto subs = subverbs_of(verb.name); !subs.empty())
      out += "        elif [[ $verb == " + std::string(verb.name) + " && \" " + join(subs, " ") +
             " \" == *\" $word \"* ]]; then verb=\"" + std::string(verb.name) + " $word\"\n";
  out += "        fi ;;\n    esac\n  done\n  case $verb:$prev in\n";
  for (const auto& verb : verbs()) out += bash_value_cases(verb.name, verb.options);
  out += bash_value_cases("*", global_options()) + "  esac\n  local options=\"" + all_names(global_options()) +
         "\" words=\n  case $verb in\n";
  out += "    '') words=\"" + top_verbs() + "\" ;;\n";
  for (const auto& verb : verbs()) {
    std::string words = join(subverbs_of(verb.name), " ");
    for (const auto& positional : verb.positionals) {
      if (positional.completes == Completes::nothing) continue;
      const auto more = positional.completes == Completes::words
                            ? std::string(positional.words)
                            : "$(" + std::string(word_command(positional.completes)) + ")";
      words += (words.empty() ? "" : " ") + more;
    }
    out += "    '" + std::string(verb.name) + "') options+=\" " + all_names(verb.options) + "\" words=\"" + words +
           "\" ;;\n";
  }
  return out +
         "  esac\n  if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
         "  else COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")); fi\n}\ncomplete -F _partita partita\n";
}

std::string zsh_completion() {
  std::string out = "#compdef partita\n# zsh completion of partita, made by \"partita completion zsh\".\n";
  const auto lister = [&](std::string_view name, std::string_view command) {
    out += "_partita_" + std::string(name) + "() { compadd -- ${(f)\"$(" + std::string(command) + ")\"} }\n";
  };
  lister("boards", kBoardWords);
  lister("nodes", kNodeWords);
  lister("types", kTypeWords);
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
  return out + "  esac\n  _arguments $global $arguments\n}\n_partita \"$@\"\n";
}

std::string fish_completion() {
  std::string out = "# fish completion of partita, made by \"partita completion fish\".\n";
  const auto lister = [&](std::string_view name, std::string_view command) {
    out += "function __partita_" + std::string(name) + "\n  sh -c " + fish_quoted(command) + "\nend\n";
  };
  lister("boards", kBoardWords);
  lister("nodes", kNodeWords);
  lister("types", kTypeWords);
  out += "complete -c partita -f\n" + fish_options("", global_options());
  for (const auto& verb : verbs())
    if (!is_subverb(verb))
      out += "complete -c partita -n 'not __fish_seen_subcommand_from " + top_verbs() + "' -a " +
             std::string(verb.name) + " -d " + fish_quoted(verb.summary) + '\n';
  for (const auto& verb : verbs()) out += fish_verb(verb);
  return out;
}

}  // namespace partita::cli
