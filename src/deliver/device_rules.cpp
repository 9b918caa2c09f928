#include "deliver/device_rules.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "base/text.h"
#include "deliver/cgroup.h"

namespace partita::deliver {

namespace {

namespace fs = std::filesystem;

constexpr int kMajors = 512;  // CHRDEV_MAJOR_MAX of the kernel
constexpr std::string_view kAll = "rwm";

// "*" is any. False when it is no number.
bool read_number(std::string_view text, std::optional<int>& into) {
  into.reset();
  if (text == "*") return true;
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  into = number;
  return true;
}

void allow(DeviceRules& rules, const RuleSubject& subject, std::string_view access) {
  std::string& now = rules[subject];
  std::string both;
  for (const char right : kAll)
    if (now.contains(right) || access.contains(right)) both += right;
  now = both;
}

// The rights in `a` that are not in `b`.
std::string without(std::string_view a, std::string_view b) {
  std::string left;
  for (const char right : a)
    if (!b.contains(right)) left += right;
  return left;
}

// For each rule of `a`, what `b` does not have of it.
DeviceRules difference(const DeviceRules& a, const DeviceRules& b) {
  DeviceRules left;
  for (const auto& [subject, access] : a) {
    const auto other = b.find(subject);
    const std::string rest = without(access, other == b.end() ? "" : std::string_view(other->second));
    if (!rest.empty()) left[subject] = rest;
  }
  return left;
}

Result<void> write_rules(const fs::path& file, const DeviceRules& rules) {
  for (const auto& [subject, access] : rules) {
    const std::string line = to_string(subject, access);
    if (const int error = write_control(file, line); error != 0) {
      Error told = control_error(file, line, error);
      if (error == EPERM) told.message += " (the group above it does not allow that)";
      return std::unexpected(std::move(told));
    }
  }
  return {};
}

}  // namespace

DeviceRules read_rules(std::string_view text) {
  DeviceRules rules;
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> words = split(line, ' ');
    if (words.size() != 3 || words[0].size() != 1) continue;
    const std::vector<std::string> numbers = split(words[1], ':');
    RuleSubject subject{words[0][0], {}, {}};
    if (numbers.size() == 2 && read_number(numbers[0], subject.major) && read_number(numbers[1], subject.minor))
      allow(rules, subject, words[2]);
  }
  return rules;
}

std::string to_string(const RuleSubject& subject, std::string_view access) {
  const auto number = [](const std::optional<int>& n) { return n ? std::to_string(*n) : std::string("*"); };
  return fmt::format("{} {}:{} {}", subject.type, number(subject.major), number(subject.minor), access);
}

DeviceRules rules_of(const DeviceRules& outer, const Filter& filter) {
  const auto guarded = [&](int major) {
    return std::ranges::find(filter.guarded_majors, major) != filter.guarded_majors.end();
  };
  DeviceRules rules;
  const auto allow_unguarded = [&](const std::optional<int>& minor, std::string_view access) {
    for (int major = 0; major < kMajors; ++major)
      if (!guarded(major)) allow(rules, {'c', major, minor}, access);
  };
  for (const auto& [subject, access] : outer) {
    if (subject.type != 'c') allow(rules, {'b', subject.major, subject.minor}, access);
    if (subject.type == 'b') continue;
    if (!subject.major)
      allow_unguarded(subject.minor, access);
    else if (!guarded(*subject.major))
      allow(rules, {'c', subject.major, subject.minor}, access);
  }
  for (const NodeNumber& node : filter.allowed)
    if (guarded(node.major)) allow(rules, {'c', node.major, node.minor}, "rw");
  return rules;
}

Result<void> set_device_rules(const fs::path& group, const Filter& filter) {
  const fs::path list = group / "devices.list";
  const DeviceRules wanted = rules_of(read_rules(read_control(group.parent_path() / "devices.list")), filter);
  DeviceRules now = read_rules(read_control(list));
  if (now.contains(RuleSubject{'a', {}, {}})) {
    const fs::path deny = group / "devices.deny";
    if (const int error = write_control(deny, "a"); error != 0) return std::unexpected(control_error(deny, "a", error));
    now.clear();
  }
  TRY_VOID(write_rules(group / "devices.deny", difference(now, wanted)));
  return write_rules(group / "devices.allow", difference(wanted, now));
}

}  // namespace partita::deliver
