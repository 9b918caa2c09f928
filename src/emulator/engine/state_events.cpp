// The ring of events in the mapped state, and waiting for the next one.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <iterator>

#include "emulator/engine/state_file.h"
#include "emulator/engine/state_format.h"
#include "emulator/engine/words.h"

namespace partita::emulator {

namespace {

// The longest sleep at once: bounds what a wake-up that was never sent costs, because its sender was killed or does not
// know of a waiter that cannot write.
constexpr std::chrono::milliseconds kNap{20};

// Counts itself among the waiters, where the state can be written.
class Waiter {
 public:
  explicit Waiter(std::atomic<std::uint32_t>* count) : count_(count) {
    if (count_ != nullptr) count_->fetch_add(1, std::memory_order_seq_cst);
  }
  ~Waiter() {
    if (count_ != nullptr) count_->fetch_sub(1, std::memory_order_relaxed);
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

 private:
  std::atomic<std::uint32_t>* count_;
};

// Reads a ring's entry: false when it is not there. The oldest may be under way of being overwritten, so it does not
// count.
template <class Record, class Next>
bool read_entry(const char* at, std::uint64_t number, std::uint64_t ring, Next next, Record& record) {
  const auto there = [&](std::uint64_t end) { return number < end && end - number < ring; };
  if (!there(next())) return false;
  std::uint64_t words[sizeof(Record) / 8];
  for (std::size_t i = 0; i < std::size(words); ++i) words[i] = load_word(at + 8 * i);
  std::memcpy(&record, words, sizeof record);
  return there(next()) && record.number == number;
}

}  // namespace

char* StateFile::event_entry(std::uint64_t number) const {
  return base_ + header_->slots_offset + ring_offset(gpu_count_) + number % kEventRing * sizeof(EventRecord);
}
char* StateFile::account_entry(std::uint64_t number) const {
  return base_ + header_->slots_offset + accounts_offset(gpu_count_) + number % kAccountRing * sizeof(AccountRecord);
}

bool StateFile::read_event(std::uint64_t number, EventRecord& event) const {
  return read_entry(event_entry(number), number, kEventRing, [&] { return read_node().next_event; }, event);
}
bool StateFile::read_account(std::uint64_t number, AccountRecord& account) const {
  return read_entry(account_entry(number), number, kAccountRing, [&] { return read_node().next_account; }, account);
}

bool StateFile::wait_event(std::uint64_t number, std::chrono::milliseconds time_out) const {
  using Steady = std::chrono::steady_clock;
  if (read_node().next_event > number) return true;
  const Waiter waiter(writable_ ? &control_->waiters : nullptr);
  const auto end = Steady::now() + time_out;
  for (;;) {
    const std::uint32_t seen = control_->event_word.load(std::memory_order_acquire);
    if (read_node().next_event > number) return true;
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(end - Steady::now());
    if (left.count() <= 0) return false;
    const auto nap = std::min<std::chrono::nanoseconds>(left, kNap);
    const timespec time{nap.count() / 1'000'000'000, nap.count() % 1'000'000'000};
    if (::syscall(SYS_futex, &control_->event_word, FUTEX_WAIT, seen, &time, nullptr, 0) != 0 && errno == EACCES) {
      ::nanosleep(&time, nullptr);  // mapped for reading only, which old kernels do not wait on
    }
  }
}

void StateFile::wake_waiters() const {
  control_->event_word.fetch_add(1, std::memory_order_seq_cst);
  if (control_->waiters.load(std::memory_order_seq_cst) == 0) return;
  ::syscall(SYS_futex, &control_->event_word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace partita::emulator
