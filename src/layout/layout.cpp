#include "layout/layout.h"

#include <fmt/format.h>

#include "base/text.h"

namespace partita::layout {

std::string name_at(const catalog::Board& board, int profile, int start) {
  const auto i = static_cast<std::size_t>(profile);
  if (i >= board.profiles.size()) return fmt::format("profile {}@{}", profile, start);
  return fmt::format("{}@{}", board.profiles[i].name, start);
}

std::string gpu_names(std::span<const int> indices) {
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const int first = indices[i];
    while (i + 1 < indices.size() && indices[i + 1] == indices[i] + 1) ++i;
    runs.push_back(first == indices[i] ? std::to_string(first) : fmt::format("{}-{}", first, indices[i]));
  }
  return (indices.size() == 1 ? "GPU " : "GPUs ") + join(runs, ", ");
}

}  // namespace partita::layout
