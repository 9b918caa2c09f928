// What the completion scripts of all shells share. Inside the completion_*.cpp files only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command_line/verbs.h"

namespace partita::cli {

// Shell commands that print boards, emulated nodes (those that run and those that can be started), node types,
// workloads and studies, one a line: they are asked of the command itself.
inline constexpr std::string_view kBoardWords = "partita boards 2>/dev/null | sed '1d;/^ /d;/^$/d' | cut -d ' ' -f 1";
inline constexpr std::string_view kNodeWords =
    "{ partita emulate list; partita emulate types; } 2>/dev/null | sed '/^node /d;/^type /d;/^no /d' | "
    "cut -d ' ' -f 1 | sort -u";
inline constexpr std::string_view kRunningWords =
    "partita emulate list 2>/dev/null | sed '/^node /d;/^no /d' | cut -d ' ' -f 1";
inline constexpr std::string_view kTypeWords = "partita emulate types 2>/dev/null | sed 1d | cut -d ' ' -f 1";
inline constexpr std::string_view kWorkloadWords = "partita predict --list 2>/dev/null | sed 1d | cut -d ' ' -f 1";
inline constexpr std::string_view kStudyWords = "partita study --list 2>/dev/null | sed '1d;/^ /d' | cut -d ' ' -f 1";

// The shell function that prints the words of a kind: "_partita_nodes".
std::string words_function(Completes completes);
// Whether files complete it too, beside its words.
bool or_files(Completes completes);
// "-f --config-file -c --selected-config".
std::string all_names(std::span<const Option> options);
// "start", "stop" of "emulate".
std::vector<std::string> subverbs_of(std::string_view verb);
// "boards status plan ...".
std::string top_verbs();

}  // namespace partita::cli
