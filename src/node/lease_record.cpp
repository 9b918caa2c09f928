#include "node/lease_record.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

namespace partita::node {
namespace {

// "14:05", or "2026-12-01 14:05" when that is more than a day away; local time.
std::string until_text(Time at, Time now) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(at);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  return at - now < std::chrono::hours(24) ? fmt::format("{:%H:%M}", local) : fmt::format("{:%Y-%m-%d %H:%M}", local);
}

}  // namespace

std::string lease_name_text(const LeaseRecord& record) {
  return fmt::format("lease {} ({})", record.lease.name, record.lease.holder.user);
}

std::string lease_text(const LeaseRecord& record, Time now) {
  const api::Lease& lease = record.lease;
  return fmt::format("lease {} ({}{})", lease.name, lease.holder.user,
                     lease.expires ? ", until " + until_text(*lease.expires, now) : "");
}

}  // namespace partita::node
