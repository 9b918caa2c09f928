#include "layout/layout.h"

#include <fmt/format.h>

namespace partita::layout {

std::string name_at(const catalog::Board& board, int profile, int start) {
  const auto i = static_cast<std::size_t>(profile);
  if (i >= board.profiles.size()) return fmt::format("profile {}@{}", profile, start);
  return fmt::format("{}@{}", board.profiles[i].name, start);
}

}  // namespace partita::layout
