#include "cli/draw/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace partita::cli {

void DrawnProgress::step(int done, int total, std::string_view what) {
  const auto line = fmt::format("[{}/{}] {}", done, total, printable(what));
  if (steps_ == Steps::all) {
    std::fputs((line + '\n').c_str(), stderr);
    return;
  }
  if (!look_.terminal || steps_ == Steps::none) return;
  constexpr int kBar = 20;
  const int filled = total > 0 ? std::clamp(done * kBar / total, 0, kBar) : 0;
  std::string bar;
  for (int i = 0; i < kBar; ++i) bar += i < filled ? (look_.unicode ? "━" : "#") : (look_.unicode ? "─" : "-");
  std::fputs(("\r\033[K" + bar + " " + fitted(look_, line, look_.width - kBar - 2)).c_str(), stderr);
  std::fflush(stderr);
  drawn_ = true;
}

void DrawnProgress::note(std::string_view line) {
  if (steps_ == Steps::none) return;
  clear();
  std::fputs(("partita: " + printable(line) + '\n').c_str(), stderr);
}

void DrawnProgress::clear() {
  if (!drawn_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace partita::cli
