// The device filter of cgroup v1: the list of rules in the devices controller. Internal to deliver/.
#pragma once

#include <compare>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "deliver/confine.h"

namespace partita::deliver {

// Which nodes a rule is about: 'c' or 'b' (or 'a': all), nullopt: any.
struct RuleSubject {
  char type = 'c';
  std::optional<int> major, minor;
  auto operator<=>(const RuleSubject&) const = default;
};
// What is allowed: subject to some of "rwm". All else is denied, unless there is the rule 'a'.
using DeviceRules = std::map<RuleSubject, std::string>;

// devices.list as the kernel prints it; lines that it does not are left out.
DeviceRules read_rules(std::string_view text);
std::string to_string(const RuleSubject& subject, std::string_view access);

// What a group within `outer` may open. v1 has no "all but", so a rule for any major becomes one per major that the
// kernel can give to character devices (0 to 511).
DeviceRules rules_of(const DeviceRules& outer, const Filter& filter);

// Brings the group's list to `rules_of` its parent's, by the fewest writes: what stays allowed is so throughout.
Result<void> set_device_rules(const std::filesystem::path& group, const Filter& filter);

}  // namespace partita::deliver
