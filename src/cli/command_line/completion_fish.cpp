// partita completion fish
#include "base/text.h"
#include "cli/command_line/completion.h"
#include "cli/command_line/help.h"

namespace partita::cli {
namespace {

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
    case Completes::workload:
    case Completes::study:
      return " -F -a '(" + words_function(completes) + ")'";
    default:
      return " -x -a '(" + words_function(completes) + ")'";
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

std::string fish_completion() {
  std::string out = "# fish completion of partita, made by \"partita completion fish\".\n";
  const auto lister = [&](std::string_view name, std::string_view command) {
    out += "function _partita_" + std::string(name) + "\n  sh -c " + fish_quoted(command) + "\nend\n";
  };
  lister("boards", kBoardWords);
  lister("nodes", kNodeWords);
  lister("running", kRunningWords);
  lister("types", kTypeWords);
  lister("workloads", kWorkloadWords);
  lister("studies", kStudyWords);
  out += "complete -c partita -f\n" + fish_options("", global_options());
  for (const auto& verb : verbs())
    if (!is_subverb(verb))
      out += "complete -c partita -n 'not __fish_seen_subcommand_from " + top_verbs() + "' -a " +
             std::string(verb.name) + " -d " + fish_quoted(verb.summary) + '\n';
  for (const auto& verb : verbs()) out += fish_verb(verb);
  return out;
}

}  // namespace partita::cli
