#include "plan/tally.h"

namespace partita::plan {

void Tally::add(int profile, int n) {
  if (n == 0) return;
  if (profile < 0 || profile >= kMaxProfiles || profile >= static_cast<int>(geometry_->profiles().size())) {
    over_ = true;
    return;
  }
  const auto& facts = geometry_->profiles()[static_cast<std::size_t>(profile)];
  auto& count = counts_[static_cast<std::size_t>(profile)];
  count = static_cast<std::int16_t>(count + n);
  total_ += n;
  if (count > facts.max_instances) over_ = true;
  if (facts.me) me_ += n;
  if (facts.me_all) me_all_ += n;
  if (!facts.no_me) with_media_ += n;
}

bool Tally::allowed() const {
  return !over_ && total_ <= kMaxGpuInstances && me_ <= 1 && (me_all_ == 0 || with_media_ == 1);
}

bool Tally::allows_more(int profile) const {
  const auto& facts = geometry_->profiles()[static_cast<std::size_t>(profile)];
  if (total_ >= kMaxGpuInstances || count(profile) >= facts.max_instances) return false;
  if (facts.me && me_ > 0) return false;
  if (facts.me_all && with_media_ > 0) return false;
  return me_all_ == 0 || facts.no_me;
}

}  // namespace partita::plan
