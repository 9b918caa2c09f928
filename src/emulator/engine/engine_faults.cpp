// Faults that testers put in the driver's way.
#include <algorithm>
#include <cstring>
#include <span>

#include "emulator/engine/engine_impl.h"

namespace partita::emulator {

namespace {

// splitmix64: the next number of a row's own sequence.
std::uint64_t draw(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}
double draw_part(std::uint64_t& state) { return static_cast<double>(draw(state) >> 11) * 0x1p-53; }

constexpr std::uint8_t kOfTheDriver = FaultRecord::kMeasured | FaultRecord::kLinger;

bool concerns(const FaultRecord& row, int gpu) { return row.gpu < 0 || row.gpu == gpu; }

bool matches(const FaultRecord& row, std::string_view function, int gpu) {
  if ((row.has & ~kOfTheDriver) == 0 || !concerns(row, gpu)) return false;
  return std::string_view(row.function) == "*" || std::string_view(row.function) == function;
}

// The row's own state moves on only when it is a matter of chance or of a count.
bool changes(const FaultRecord& row) {
  return row.calls > 0 || row.chance < 1 || row.least_ms != row.most_ms ||
         (row.has & (FaultRecord::kXid | FaultRecord::kCondition)) != 0;
}

bool possible(const Fault& fault) {
  constexpr std::int64_t kLongestMs = 3'600'000;
  const auto fits = [](std::chrono::milliseconds time) { return time.count() >= 0 && time.count() <= kLongestMs; };
  if (fault.function.empty() || fault.function.size() >= sizeof FaultRecord::function) return false;
  if (fault.calls && *fault.calls < 1) return false;
  if (fault.probability && !(*fault.probability >= 0 && *fault.probability <= 1)) return false;
  if (fault.delay &&
      (!fits(fault.delay->least) || !fits(fault.delay->most) || fault.delay->most < fault.delay->least)) {
    return false;
  }
  if (fault.linger && !fits(*fault.linger)) return false;
  if (fault.measured_times && !(*fault.measured_times >= 0 && *fault.measured_times <= 1000)) return false;
  const bool of_calls = fault.delay || fault.xid || fault.condition || fault.answer;
  const bool of_driver = fault.measured_times || fault.linger;
  return of_calls != of_driver && (!of_driver || (fault.function == "*" && !fault.calls && !fault.probability));
}

FaultRecord to_record(const Fault& fault) {
  FaultRecord row;
  std::memcpy(row.function, fault.function.data(), fault.function.size());
  row.gpu = fault.gpu.value_or(-1);
  row.calls = fault.calls.value_or(0);
  row.chance = fault.probability.value_or(1);
  row.random = fault.seed;
  const auto have = [&](FaultRecord::Has what) { row.has = static_cast<std::uint8_t>(row.has | what); };
  if (fault.answer) have(FaultRecord::kAnswer), row.answer = *fault.answer;
  if (fault.delay) {
    have(FaultRecord::kDelay);
    row.least_ms = static_cast<std::uint32_t>(fault.delay->least.count());
    row.most_ms = static_cast<std::uint32_t>(fault.delay->most.count());
  }
  if (fault.xid) have(FaultRecord::kXid), row.xid = *fault.xid;
  if (fault.condition) have(FaultRecord::kCondition), row.condition = *fault.condition;
  if (fault.measured_times) have(FaultRecord::kMeasured), row.factor = *fault.measured_times;
  if (fault.linger) have(FaultRecord::kLinger), row.least_ms = static_cast<std::uint32_t>(fault.linger->count());
  return row;
}

Fault to_fault(const FaultRecord& row) {
  const auto has = [&](FaultRecord::Has what) { return (row.has & what) != 0; };
  Fault fault;
  fault.function = row.function;
  fault.gpu = instance_id(row.gpu);
  if (row.calls > 0) fault.calls = row.calls;
  if (row.chance < 1) fault.probability = row.chance;
  fault.seed = row.random;
  if (has(FaultRecord::kAnswer)) fault.answer = row.answer;
  if (has(FaultRecord::kDelay)) {
    fault.delay = {std::chrono::milliseconds(row.least_ms), std::chrono::milliseconds(row.most_ms)};
  }
  if (has(FaultRecord::kXid)) fault.xid = row.xid;
  if (has(FaultRecord::kCondition)) fault.condition = row.condition;
  if (has(FaultRecord::kMeasured)) fault.measured_times = row.factor;
  if (has(FaultRecord::kLinger)) fault.linger = std::chrono::milliseconds(row.least_ms);
  return fault;
}

struct Strike {
  std::chrono::milliseconds delay{};
  std::optional<int> answer;
};

// False when chance lets the call pass.
bool strike(FaultRecord& row, Strike& result) {
  if (row.chance < 1 && draw_part(row.random) >= row.chance) return false;
  if ((row.has & FaultRecord::kDelay) != 0) {
    const std::uint32_t span = row.most_ms - row.least_ms;
    const double part = span == 0 ? 0 : draw_part(row.random);
    result.delay += std::chrono::milliseconds(row.least_ms + static_cast<std::int64_t>(part * span + 0.5));
  }
  if ((row.has & FaultRecord::kAnswer) != 0) result.answer = row.answer;
  return true;
}

}  // namespace

NvmlReturn Engine::add_fault(const Fault& fault) {
  if (!possible(fault) || (fault.gpu && !impl_->has(*fault.gpu))) return kInvalidArgument;
  Turn turn(*impl_);
  if (!turn) return impl_->why_no_turn();
  FaultsRecord& faults = turn.faults();
  if (faults.count == kMaxFaults) return kInsufficientResources;
  faults.rows[faults.count++] = to_record(fault);
  turn.commit(false);
  return kSuccess;
}

NvmlReturn Engine::clear_faults() {
  Turn turn(*impl_);
  if (!turn) return impl_->why_no_turn();
  turn.faults() = FaultsRecord{};
  turn.commit(false);
  return kSuccess;
}

std::vector<Fault> Engine::faults() const {
  const FaultsRecord faults = impl_->file->read_faults();
  std::vector<Fault> rows;
  for (std::size_t i = 0; i < faults.count; ++i) rows.push_back(to_fault(faults.rows[i]));
  return rows;
}

// Lets the rows that match strike until one answers, and drops those that are used up.
std::optional<int> Engine::take_fault(std::string_view function, int gpu) {
  if (impl_->file->fault_count() == 0) return std::nullopt;
  FaultsRecord seen = impl_->file->read_faults();
  const auto row_matches = [&](const FaultRecord& row) { return matches(row, function, gpu); };
  const std::span<FaultRecord> rows(seen.rows.data(), seen.count);
  if (std::ranges::none_of(rows, row_matches)) return std::nullopt;
  Strike result;
  if (std::ranges::none_of(rows, [&](const FaultRecord& row) { return row_matches(row) && changes(row); })) {
    for (FaultRecord& row : rows) {
      if (!result.answer && row_matches(row)) strike(row, result);
    }
  } else {
    Turn turn(*impl_);
    if (!turn) return std::nullopt;
    FaultsRecord& faults = turn.faults();
    for (std::size_t i = 0; i < faults.count && !result.answer; ++i) {
      FaultRecord& row = faults.rows[i];
      if (!row_matches(row) || !strike(row, result)) continue;
      if ((row.has & FaultRecord::kXid) != 0 && impl_->has(gpu)) turn.add_event(kXidEvent, gpu, -1, -1, row.xid);
      if ((row.has & FaultRecord::kCondition) != 0 && impl_->has(gpu)) turn.set_condition(gpu, row.condition);
      if (row.calls == 1) row.has = 0;
      if (row.calls > 0) --row.calls;
    }
    auto* end = std::remove_if(faults.rows.data(), faults.rows.data() + faults.count,
                               [](const FaultRecord& row) { return row.has == 0; });
    faults.count = static_cast<std::uint32_t>(end - faults.rows.data());
    turn.commit(false);
  }
  impl_->wait(result.delay);
  return result.answer;
}

void Engine::Impl::take_measured_time(int index, std::uint32_t measured_ms) const {
  if (measured_ms == 0 || file->fault_count() == 0) return;
  const FaultsRecord faults = file->read_faults();
  for (std::size_t i = 0; i < faults.count; ++i) {
    const FaultRecord& row = faults.rows[i];
    if ((row.has & FaultRecord::kMeasured) == 0 || !concerns(row, index)) continue;
    return wait(std::chrono::milliseconds(static_cast<std::int64_t>(row.factor * measured_ms + 0.5)));
  }
}

std::chrono::milliseconds Turn::linger(int index) {
  if (impl_.file->fault_count() == 0) return {};
  const FaultsRecord faults = impl_.file->read_faults();
  std::uint32_t longest = 0;
  for (std::size_t i = 0; i < faults.count; ++i) {
    const FaultRecord& row = faults.rows[i];
    if ((row.has & FaultRecord::kLinger) != 0 && concerns(row, index)) longest = std::max(longest, row.least_ms);
  }
  return std::chrono::milliseconds(longest);
}

}  // namespace partita::emulator
