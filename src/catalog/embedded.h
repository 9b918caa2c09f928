// Files of data/ compiled into the program: "boards/a100-sxm4-40gb.yaml", "nodes/dgx-a100.yaml".
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace partita::catalog {

std::optional<std::string_view> embedded_file(std::string_view path);
// Paths below a folder, sorted: embedded_files("nodes/").
std::vector<std::string_view> embedded_files(std::string_view prefix);

}  // namespace partita::catalog
