// What long work tells while it goes on. The command line draws it; tests record it.
#pragma once

#include <string_view>

namespace partita {

class Progress {
 public:
  virtual ~Progress() = default;
  // Step `done` of `total` (1-based) begins: "GPU 3: create 3g.20gb@4".
  virtual void step(int done, int total, std::string_view what) = 0;
  // A line worth telling that is no step: "waiting for the lock held by pid 4711 (partita apply)".
  virtual void note(std::string_view line) = 0;
};

class SilentProgress final : public Progress {
 public:
  void step(int, int, std::string_view) override {}
  void note(std::string_view) override {}
};

}  // namespace partita
