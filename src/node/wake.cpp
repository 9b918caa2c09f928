#include "node/wake.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace partita::node {
namespace {

constexpr std::uint64_t kCalls = 0;  // leases' ids begin with 1

}  // namespace

Wake::~Wake() {
  for (const auto& [lease, descriptor] : watched_) ::close(descriptor);
  if (event_ >= 0) ::close(event_);
  if (epoll_ >= 0) ::close(epoll_);
}

Result<void> Wake::open() {
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  event_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  epoll_event calls{};
  calls.events = EPOLLIN;
  calls.data.u64 = kCalls;
  if (epoll_ >= 0 && event_ >= 0 && ::epoll_ctl(epoll_, EPOLL_CTL_ADD, event_, &calls) == 0) return {};
  return fail(ErrorCode::unavailable, fmt::format("cannot wait for events: {}", std::strerror(errno)));
}

void Wake::wake() {
  const std::uint64_t one = 1;
  (void)!::write(event_, &one, sizeof one);
}

bool Wake::wait(std::chrono::milliseconds most) {
  std::array<epoll_event, 16> events{};
  const int count =
      ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), static_cast<int>(most.count()));
  bool ended = false;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t what = events[static_cast<std::size_t>(i)].data.u64;
    if (what == kCalls) {
      std::uint64_t calls = 0;
      (void)!::read(event_, &calls, sizeof calls);
      continue;
    }
    ended = true;
    const auto watched = watched_.find(static_cast<std::int64_t>(what));
    if (watched != watched_.end()) (void)::epoll_ctl(epoll_, EPOLL_CTL_DEL, watched->second, nullptr);
  }
  return ended;
}

void Wake::watch(const Book& book) {
  std::erase_if(watched_, [&](const auto& entry) {
    const bool over = !book.live().contains(entry.first);
    if (over) ::close(entry.second);
    return over;
  });
  for (const auto& [id, record] : book.live()) {
    const auto& process = record.lease.holder.process;
    if (!process || watched_.contains(id)) continue;
    // One that is gone already, or is another process by now, is found at the next tick.
    const int descriptor = static_cast<int>(::syscall(SYS_pidfd_open, process->pid, 0));
    if (descriptor < 0) continue;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = static_cast<std::uint64_t>(id);
    (void)::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event);
    watched_.emplace(id, descriptor);
  }
}

}  // namespace partita::node
