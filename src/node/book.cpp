#include "node/book.h"

#include <utility>

namespace partita::node {

Result<Book> Book::load(Ledger& ledger) {
  LeaseLedger leases(ledger);
  Book book;
  if (ledger.database().version() >= 2) book.numbers = TRY(leases.numbers());
  book.served = TRY(leases.services());
  for (LeaseRecord& record : TRY(leases.live())) book.add(std::move(record));
  return book;
}

LeaseRecord* Book::find(std::int64_t id) {
  const auto found = live_.find(id);
  return found == live_.end() ? nullptr : &found->second;
}

LeaseRecord* Book::find(std::string_view name) {
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : find(found->second);
}

LeaseRecord& Book::add(LeaseRecord record) {
  names_[record.lease.name] = record.lease.id;
  const std::int64_t id = record.lease.id;
  return live_[id] = std::move(record);
}

LeaseRecord Book::take(std::int64_t id) {
  auto node = live_.extract(id);
  names_.erase(node.mapped().lease.name);
  return std::move(node.mapped());
}

std::vector<LeaseRecord*> Book::bundle(std::int64_t id) {
  std::vector<LeaseRecord*> members;
  LeaseRecord* const one = find(id);
  if (one == nullptr) return members;
  // Ids of one request follow each other.
  for (auto at = live_.lower_bound(one->bundle); at != live_.end() && at->second.bundle == one->bundle; ++at)
    members.push_back(&at->second);
  return members;
}

std::vector<LeasedPlace> Book::places(Time now) const {
  std::vector<LeasedPlace> places;
  for (const auto& [id, record] : live_)
    if (record.place && record.lease.state != api::LeaseState::cutting)
      places.push_back(
          {record.place->gpu, record.place->whole_gpu, record.place->instance.start, lease_text(record, now)});
  return places;
}

lease::Usages Book::usages(std::int64_t without) const {
  lease::Usages usages;
  for (const auto& [id, record] : live_)
    if (id != without)
      lease::add(
          usages,
          {record.lease.name, record.lease.holder.user, record.groups, {1, record.quota_slices, record.quota_memory}});
  return usages;
}

}  // namespace partita::node
