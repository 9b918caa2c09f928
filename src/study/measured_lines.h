// What the lines of one tenant's command add up to. Internal to study/.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "study/provider.h"

namespace partita::study {

class MeasuredLines {
 public:
  MeasuredLines(double seconds, double warmup_s) : seconds_(seconds), warmup_s_(warmup_s) {}

  // A line that came `at_s` seconds after the command was started.
  void take(const std::string& line, double at_s);
  // Writes the sums, and what went wrong if no other problem is noted there. `watched_s`: how long it was listened to;
  // nullopt when the command ended by itself, so that its silence means nothing.
  void finish(MeasuredResult& result, std::optional<double> watched_s);

 private:
  Result<void> add(const WorkerLine& line);
  std::optional<std::string> silence(double watched_s) const;

  double seconds_, warmup_s_;
  double samples_ = 0;
  std::optional<double> first_t_;
  double last_t_ = 0;
  double last_at_s_ = 0, longest_wait_s_ = 0;  // between two lines, by our clock
  std::size_t lines_ = 0;
  std::vector<double> latencies_;
  std::optional<std::string> device_, problem_;
};

}  // namespace partita::study
