// Progress of an operation as a person sees it: one line on the terminal that changes, gone when it is done.
#pragma once

#include <chrono>
#include <string>

#include "base/progress.h"
#include "cli/draw/terminal.h"

namespace partita::cli {

class DrawnProgress final : public Progress {
 public:
  // Steps are drawn when standard error is a terminal, and told line by line by `all`. `none` keeps standard error for
  // an error that programs read.
  enum class Steps { drawn, all, none };
  DrawnProgress(const Look& look, Steps steps) : look_(look), steps_(steps) {}
  ~DrawnProgress() override { clear(); }
  DrawnProgress(const DrawnProgress&) = delete;
  DrawnProgress& operator=(const DrawnProgress&) = delete;

  void step(int done, int total, std::string_view what) override;
  void note(std::string_view line) override;

  void clear();  // before something else is written

 private:
  Look look_;
  Steps steps_;
  bool drawn_ = false;
};

// Says nothing for a second: what is quick needs no progress.
class LateProgress final : public Progress {
 public:
  explicit LateProgress(Progress& told) : told_(told) {}
  void step(int done, int total, std::string_view what) override {
    if (std::chrono::steady_clock::now() - begin_ >= std::chrono::seconds(1)) told_.step(done, total, what);
  }
  void note(std::string_view line) override { told_.note(line); }

 private:
  Progress& told_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace partita::cli
