// partita completion bash
#include "base/text.h"
#include "cli/command_line/completion.h"
#include "cli/command_line/help.h"

namespace partita::cli {
namespace {

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
      return "COMPREPLY=($(compgen -W \"$(" + words_function(completes) + ")\" -- \"$cur\")); return";
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

}  // namespace

std::string bash_completion() {
  std::string out =
      "# bash completion of partita, made by \"partita completion bash\".\n"
      "_partita_boards() { " +
      std::string(kBoardWords) + "; }\n_partita_nodes() { " + std::string(kNodeWords) + "; }\n_partita_running() { " +
      std::string(kRunningWords) + "; }\n_partita_types() { " + std::string(kTypeWords) +
      "; }\n_partita_workloads() { " + std::string(kWorkloadWords) + "; }\n_partita_studies() { " +
      std::string(kStudyWords) +
      "; }\n_partita() {\n"
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
    std::string words = join(subverbs_of(verb.name), " "), files;
    for (const auto& positional : verb.positionals) {
      if (or_files(positional.completes)) files = "compopt -o default; ";
      if (positional.completes == Completes::nothing || positional.completes == Completes::file) continue;
      const auto more = positional.completes == Completes::words ? std::string(positional.words)
                                                                 : "$(" + words_function(positional.completes) + ")";
      words += (words.empty() ? "" : " ") + more;
    }
    out += "    '" + std::string(verb.name) + "') " + files + "options+=\" " + all_names(verb.options) + "\" words=\"" +
           words + "\" ;;\n";
  }
  return out +
         "  esac\n  if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
         "  else COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")); fi\n}\ncomplete -F _partita partita\n";
}

}  // namespace partita::cli
