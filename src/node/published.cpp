#include "node/published.h"

#include <algorithm>

#include "node/pins.h"
#include "node/view.h"

namespace partita::node {

std::vector<OwnedInstance> Published::Look::owned() const {
  std::vector<OwnedInstance> owned;
  for (const layout::Gpu& gpu : state->gpus)
    for (const layout::GpuInstance& instance : gpu.instances) {
      if (is_foreign(instance)) continue;
      const catalog::Profile& profile = gpu.board->profiles[static_cast<std::size_t>(instance.profile)];
      owned.push_back({gpu.uuid, instance.id, profile.nvml_profile, instance.placement.start, 0});
    }
  return owned;
}

Result<void> Published::load(Ledger& ledger) {
  LeaseLedger leases(ledger);
  for (LeaseRecord& record : TRY(leases.ended(kEndedKept)))
    ended_.push_back(std::make_shared<const api::Lease>(std::move(record.lease)));
  for (api::Event& event : TRY(leases.events(0, kEventsKept))) events_.push_back(std::move(event));
  return {};
}

void Published::publish(Keeper& keeper, Time now) {
  auto live = std::make_shared<Shown>();
  for (auto& [id, record] : keeper.book().live()) {
    if (!record.shown) record.shown = std::make_shared<const api::Lease>(record.lease);
    live->push_back(record.shown);
  }
  Look look;
  look.state = std::make_shared<const layout::NodeState>(keeper.state());
  look.leased = std::make_shared<const std::vector<LeasedPlace>>(keeper.book().places(now));
  look.notes = std::make_shared<const std::vector<std::string>>(keeper.notes());
  look.at = std::chrono::steady_clock::now();
  look.measures = keeper.measures();
  std::vector<LeaseRecord> ended = keeper.take_ended();
  std::vector<api::Event> events = keeper.take_events();
  const bool any = !events.empty();
  {
    const std::scoped_lock lock(mutex_);
    look_ = std::move(look);
    live_ = std::move(live);
    for (LeaseRecord& record : ended) ended_.push_back(std::make_shared<const api::Lease>(std::move(record.lease)));
    while (std::ssize(ended_) > kEndedKept) ended_.pop_front();
    for (api::Event& event : events)
      if (events_.empty() || event.number > events_.back().number) events_.push_back(std::move(event));
    while (std::ssize(events_) > kEventsKept) events_.pop_front();
  }
  if (any) happened_.notify_all();
}

Published::Look Published::look() const {
  const std::scoped_lock lock(mutex_);
  return look_;
}

std::vector<api::Lease> Published::leases(const api::LeaseQuery& query) const {
  Shown all;
  {
    const std::scoped_lock lock(mutex_);
    all = *live_;
    if (query.ended) all.insert(all.end(), ended_.begin(), ended_.end());
  }
  if (query.ended) std::ranges::sort(all, {}, [](const auto& lease) { return lease->id; });
  std::vector<api::Lease> result;
  for (const auto& lease : all) {
    if (!asked_for(query, *lease)) continue;
    result.push_back(*lease);
    if (query.limit > 0 && std::ssize(result) == query.limit) break;
  }
  return result;
}

std::vector<api::Event> Published::events(const api::EventQuery& query) const {
  std::unique_lock lock(mutex_);
  const auto newer = [&] { return !events_.empty() && events_.back().number > query.after; };
  if (!newer()) happened_.wait_for(lock, query.wait, newer);
  std::vector<api::Event> result;
  auto at = std::ranges::upper_bound(events_, query.after, {}, &api::Event::number);
  for (; at != events_.end() && (query.limit <= 0 || std::ssize(result) < query.limit); ++at) result.push_back(*at);
  return result;
}

}  // namespace partita::node
