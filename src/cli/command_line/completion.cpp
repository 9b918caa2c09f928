#include "cli/command_line/completion.h"

#include "base/text.h"

namespace partita::cli {

std::string words_function(Completes completes) {
  if (completes == Completes::board) return "_partita_boards";
  if (completes == Completes::running_node) return "_partita_running";
  if (completes == Completes::workload) return "_partita_workloads";
  if (completes == Completes::study) return "_partita_studies";
  return completes == Completes::node_type ? "_partita_types" : "_partita_nodes";
}

bool or_files(Completes completes) {
  return completes == Completes::file || completes == Completes::workload || completes == Completes::study;
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

}  // namespace partita::cli
