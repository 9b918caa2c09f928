// The command line, read by the table of verbs. The only user of CLI11.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cli/command_line/verbs.h"

namespace partita::cli {

struct Parsed {
  const Verb* verb = nullptr;  // none: partita alone, --help, --version
  // By key: "config-file", "NODE". Flags that were given have the value "true".
  std::map<std::string, std::vector<std::string>, std::less<>> values;
  std::set<std::string, std::less<>> from_environment;  // keys that a variable gave
  std::optional<std::vector<std::string>> command;      // what follows "--"

  bool flag(std::string_view key) const { return values.contains(key); }
  std::optional<std::string> text(std::string_view key) const;
  std::vector<std::string> all(std::string_view key) const;
  // nullopt when absent; `invalid` names the option unless min <= number <= max.
  Result<std::optional<int>> number(std::string_view key, int min, int max) const;
  // The same for finite numbers; with an infinite `max`, for those above 0.
  Result<std::optional<double>> real(std::string_view key, double min, double max) const;
};

// `arguments` without the program's name. Errors: `invalid` for an unknown verb or option (with the nearest ones), a
// missing or superfluous value, a missing positional, an option given twice.
Result<Parsed> parse(std::vector<std::string> arguments);

}  // namespace partita::cli
