#include "study/tenant_stats.h"

#include <cmath>

namespace partita::study {

TenantStats::TenantStats(std::optional<double> slo_s, double sample_interval_s, double duration_s)
    : slo_s_(slo_s), sample_interval_s_(sample_interval_s) {
  if (sample_interval_s > 0) samples_.resize(static_cast<std::size_t>(std::ceil(duration_s / sample_interval_s)));
}

void TenantStats::clear(double now) {
  advance(now);
  latency_.clear();
  in_system_at_clear_ = in_system_;
  arrivals_ = batches_ = within_slo_ = dropped_ = 0;
  waiting_area_ = in_system_area_ = 0;
}

void TenantStats::sample(int requests, double now) {
  const auto index = static_cast<std::size_t>(now / sample_interval_s_);
  if (index < samples_.size()) samples_[index] += requests / sample_interval_s_;
}

}  // namespace partita::study
