// What the command offers, as data: verbs, options, examples. The parser, --help, the man page, docs/cli.md and the
// shell completions are all made from it, so they cannot differ.
#pragma once

#include <span>
#include <string_view>

namespace partita::cli {

// What completes an argument in a shell.
enum class Completes { nothing, file, folder, board, node, running_node, node_type, workload, study, words };

struct Option {
  std::string_view names;  // "-f,--config-file": the first long name without dashes is its key
  std::string_view value;  // "FILE"; "" for a flag
  std::string_view help;
  std::string_view environment = "";  // variable that gives it when the command line does not
  Completes completes = Completes::nothing;
  std::string_view words = "";  // "table json yaml", for Completes::words
  bool repeatable = false;
};

struct Positional {
  std::string_view name;  // "NODE": its key
  std::string_view help;
  bool required = false;
  Completes completes = Completes::nothing;
  std::string_view words = "";
  bool repeatable = false;  // any number of them; the last positional only
};

struct Example {
  std::string_view command;
  std::string_view says;
};

enum class TakesCommand { no, optional, required };  // what follows "--"

struct Verb {
  std::string_view name;  // "apply", "emulate start"
  std::string_view summary;
  std::string_view description;  // paragraphs, separated by empty lines
  std::span<const Positional> positionals;
  std::span<const Option> options;
  std::span<const Example> examples;
  TakesCommand takes_command = TakesCommand::no;
};

struct ExitStatus {
  int status;
  std::string_view codes;  // error codes that lead to it
  std::string_view meaning;
};

struct EnvironmentVariable {
  std::string_view name;
  std::string_view meaning;
};

std::span<const Verb> verbs();
std::span<const Option> global_options();
std::span<const Example> global_examples();
std::span<const ExitStatus> exit_statuses();
std::span<const EnvironmentVariable> environment_variables();

// The verb called `name`, or nullptr.
const Verb* find_verb(std::string_view name);
// The sub-verbs of a verb: for "emulate", "emulate start" and so on. is_subverb("emulate start") is true.
bool is_subverb(const Verb& verb);

inline constexpr std::string_view kProgram = "partita";
inline constexpr std::string_view kSummary = "cut MIG-capable GPUs into guaranteed partitions, disturbing nobody";

// "config-file" of "-f,--config-file".
std::string_view key(const Option& option);

}  // namespace partita::cli
