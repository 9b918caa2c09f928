// What is counted for one tenant while the simulation runs. Time averages are of the time since clear().
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "study/histogram.h"

namespace partita::study {

class TenantStats {
 public:
  TenantStats(std::optional<double> slo_s, double sample_interval_s, double duration_s);

  void arrived(double now) {
    advance(now);
    ++waiting_;
    ++in_system_;
    ++arrivals_;
  }
  void started(int requests, double now) {
    advance(now);
    waiting_ -= requests;
  }
  void completed_request(double latency_s) {
    latency_.add(latency_s);
    if (slo_s_ && latency_s <= *slo_s_) ++within_slo_;
  }
  void completed_batch(int requests, double now) {
    advance(now);
    in_system_ -= requests;
    ++batches_;
    if (sample_interval_s_ > 0) sample(requests, now);
  }
  void dropped() { ++dropped_; }

  // Forgets all but the present numbers of requests: the end of the warm-up.
  void clear(double now);
  // To the end of the simulation.
  void finish(double now) { advance(now); }

  std::int64_t in_system() const { return in_system_; }
  std::int64_t in_system_at_clear() const { return in_system_at_clear_; }
  std::uint64_t arrivals() const { return arrivals_; }
  std::uint64_t batches() const { return batches_; }
  std::uint64_t within_slo() const { return within_slo_; }
  std::uint64_t dropped_requests() const { return dropped_; }
  double waiting_area() const { return waiting_area_; }      // request seconds
  double in_system_area() const { return in_system_area_; }  // request seconds
  const Histogram& latency() const { return latency_; }
  const std::vector<double>& samples() const { return samples_; }  // completed requests per second

 private:
  void advance(double now) {
    const double elapsed = now - last_;
    waiting_area_ += static_cast<double>(waiting_) * elapsed;
    in_system_area_ += static_cast<double>(in_system_) * elapsed;
    last_ = now;
  }
  void sample(int requests, double now);

  std::optional<double> slo_s_;
  double sample_interval_s_;
  Histogram latency_;
  std::int64_t waiting_ = 0, in_system_ = 0, in_system_at_clear_ = 0;
  std::uint64_t arrivals_ = 0, batches_ = 0, within_slo_ = 0, dropped_ = 0;
  double waiting_area_ = 0, in_system_area_ = 0, last_ = 0;
  std::vector<double> samples_;
};

}  // namespace partita::study
