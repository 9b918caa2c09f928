#include "deliver/limits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/host_limits.h"
#include "base/text.h"
#include "deliver/cgroup.h"
#include "deliver/delegation.h"

namespace partita::deliver {

namespace {

namespace fs = std::filesystem;

constexpr long kPeriodUs = 100'000;

struct Writer {
  fs::path group;
  Result<void> operator()(std::string_view file, std::string_view text) const {
    const int error = write_control(group / file, text);
    if (error == 0) return {};
    return std::unexpected(control_error(group / file, text, error));
  }
  bool has(std::string_view file) const { return ::access((group / file).c_str(), F_OK) == 0; }
};

long quota_of(double cpus) { return std::lround(cpus * static_cast<double>(kPeriodUs)); }

Result<void> limit_cpu(const Writer& write, bool v2, const std::optional<double>& cpus) {
  if (v2) return write("cpu.max", fmt::format("{} {}", cpus ? std::to_string(quota_of(*cpus)) : "max", kPeriodUs));
  if (cpus) TRY_VOID(write("cpu.cfs_period_us", std::to_string(kPeriodUs)));
  return write("cpu.cfs_quota_us", std::to_string(cpus ? quota_of(*cpus) : -1));
}

// A limit of memory is one of memory and swap together: what is asked for is not paged out without end.
Result<void> limit_memory(const Writer& write, bool v2, const std::optional<Bytes>& memory) {
  if (v2) {
    TRY_VOID(write("memory.max", memory ? std::to_string(memory->value) : "max"));
    return write.has("memory.swap.max") ? write("memory.swap.max", memory ? "0" : "max") : Result<void>();
  }
  const std::string bytes = memory ? std::to_string(memory->value) : "-1";
  const bool swap = write.has("memory.memsw.limit_in_bytes");
  // Memory may never be over memory and swap: first the one that makes room.
  if (swap) TRY_VOID(write("memory.memsw.limit_in_bytes", "-1"));
  TRY_VOID(write("memory.limit_in_bytes", bytes));
  return swap && memory ? write("memory.memsw.limit_in_bytes", bytes) : Result<void>();
}

// v1 starts groups without any processor or memory node, and no process may join one.
Result<void> inherit_cpuset(const fs::path& group) {
  for (const std::string_view file : {"cpuset.cpus", "cpuset.mems"}) {
    if (!trim(read_control(group / file)).empty()) continue;
    const std::string outer = read_control(group.parent_path() / file);
    TRY_VOID(Writer{group}(file, trim(outer)));
  }
  return {};
}

Result<void> limit_processors(const Writer& write, bool v2, const std::vector<int>& processors) {
  const std::string list = fmt::format("{}", fmt::join(processors, ","));
  if (v2) return write("cpuset.cpus", list.empty() ? "\n" : list);
  TRY_VOID(inherit_cpuset(write.group.parent_path()));
  TRY_VOID(inherit_cpuset(write.group));
  const std::string all = read_control(write.group.parent_path() / "cpuset.cpus");
  return write("cpuset.cpus", list.empty() ? trim(all) : list);
}

bool asked(Controller controller, const Limits& limits) {
  switch (controller) {
    case Controller::cpu:
      return limits.cpus.has_value();
    case Controller::memory:
      return limits.memory.has_value();
    case Controller::cpuset:
      return !limits.processors.empty();
  }
  return false;
}

Result<void> limit(Controller controller, const fs::path& group, bool v2, const Limits& limits) {
  const Writer write{group};
  switch (controller) {
    case Controller::cpu:
      return limit_cpu(write, v2, limits.cpus);
    case Controller::memory:
      return limit_memory(write, v2, limits.memory);
    case Controller::cpuset:
      return limit_processors(write, v2, limits.processors);
  }
  return {};
}

std::string words(Controller controller, const Limits& limits) {
  switch (controller) {
    case Controller::cpu:
      return fmt::format("{} processors", limits.cpus.value_or(0));
    case Controller::memory:
      return fmt::format("{} of memory", to_string(limits.memory.value_or(Bytes{})));
    case Controller::cpuset:
      return fmt::format("the processors {}", fmt::join(limits.processors, ","));
  }
  return "";
}

Result<void> enforce(const ControllerPlace& place, Controller controller, const std::string& prefix,
                     const std::string& name, const Limits& limits) {
  TRY_VOID(make_group(place.root, prefix, name));
  if (place.v2) TRY_VOID(enable_controller(place.root, prefix, deliver::name(controller)));
  return limit(controller, place.root / prefix / name, place.v2, limits);
}

// What a former call limited, it lifts; a group that was never limited has nothing to lift.
Result<void> lift(const ControllerPlace& place, Controller controller, const fs::path& group) {
  constexpr std::string_view kFiles[2][kControllers.size()] = {
      {"cpu.cfs_quota_us", "memory.limit_in_bytes", "cpuset.cpus"}, {"cpu.max", "memory.max", "cpuset.cpus"}};
  if (!Writer{group}.has(kFiles[place.v2 ? 1 : 0][static_cast<std::size_t>(controller)])) return {};
  return limit(controller, group, place.v2, {});
}

}  // namespace

Result<void> check_limits(const Limits& limits) {
  TRY_VOID(check_host_limits(limits.cpus, limits.memory));
  for (const int processor : limits.processors)
    if (processor < 0) return fail(ErrorCode::invalid, fmt::format("there is no processor {}", processor));
  return {};
}

Result<void> set_limits(const Hierarchies& hierarchies, const std::string& prefix, const std::string& name,
                        const Limits& limits) {
  for (const Controller controller : kControllers) {
    const auto& place = hierarchies.place(controller);
    if (!asked(controller, limits)) {
      if (place) TRY_VOID(lift(*place, controller, place->root / prefix / name));
      continue;
    }
    const std::string what = fmt::format("cannot hold programs to {}", words(controller, limits));
    if (!place)
      return fail(ErrorCode::unavailable,
                  fmt::format("{}: no {} controller is mounted; leave this limit out, or mount the controller", what,
                              deliver::name(controller)));
    if (auto set = enforce(*place, controller, prefix, name, limits); !set)
      return std::unexpected(in_context(what, std::move(set).error()));
  }
  return {};
}

}  // namespace partita::deliver
