// Progress of an operation as a person sees it: one line on the terminal that changes, gone when it is done.
#pragma once

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

 private:
  void clear();

  Look look_;
  Steps steps_;
  bool drawn_ = false;
};

}  // namespace partita::cli
