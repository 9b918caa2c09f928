// Steps to the JSON lines of a measured run (docs/studies.md), one per interval.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace partita::resnet {

// {"t": 0, "samples": 0, "device": "CPU, 2 threads", "what": "resnet50 inference, batch 8, fp32"}
std::string first_line(std::string_view device, std::string_view what);
// {"t": 1.2, "error": "out of memory"}
std::string error_line(double t_s, std::string_view error);

class Intervals {
 public:
  explicit Intervals(double interval_s) : interval_s_(interval_s) {}

  // A step that ended at `t_s`; true when the interval is over: time for line().
  bool add(double t_s, int samples, double latency_ms);
  // The interval that ends at `t_s`, and the next one begins.
  std::string line(double t_s);
  bool empty() const { return samples_ == 0; }
  double rate(double t_s) const { return t_s > begin_s_ ? samples_ / (t_s - begin_s_) : 0; }

 private:
  double interval_s_, begin_s_ = 0, samples_ = 0;
  // Every `stride_`-th step's: a line stays short however fast the steps are.
  std::vector<double> latencies_ms_;
  std::size_t steps_ = 0, stride_ = 1;
};

}  // namespace partita::resnet
