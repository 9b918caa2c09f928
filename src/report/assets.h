// The page's script and style, built by web/build.sh and compiled into the program.
#pragma once

#include <string_view>

namespace partita::report {

std::string_view page_script();
std::string_view page_style();

}  // namespace partita::report
