// Texts made from the table of verbs.
#pragma once

#include <string>

#include "cli/command_line/verbs.h"
#include "cli/draw/terminal.h"

namespace partita::cli {

std::string overview(const Look& look);                     // partita --help
std::string verb_help(const Verb& verb, const Look& look);  // partita VERB --help
std::string version_line();                                 // partita --version
std::string usage(const Verb& verb);                        // "partita boards [BOARD] [OPTIONS]"

std::string markdown_manual();  // docs/cli.md
std::string roff_manual();      // packaging/man/partita.1
std::string bash_completion();  // packaging/completion/partita.bash
std::string zsh_completion();   // packaging/completion/_partita
std::string fish_completion();  // packaging/completion/partita.fish

}  // namespace partita::cli
