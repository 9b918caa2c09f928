#include "emulator/control/node_faults.h"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "base/duration.h"
#include "base/text.h"
#include "emulator/control/fault_text.h"
#include "emulator/control/nvml_return.h"
#include "emulator/engine/records.h"

namespace partita::emulator {

namespace {

// One entry: each read_...() takes the key that it is called for, if it is there.
struct Entry {
  const YamlPlace& place;
  const YamlNode& node;

  const YamlNode* find(std::string_view key) const { return node.find(key); }
  std::unexpected<Error> wrong(std::string_view key, std::string_view message) const {
    return yaml_fail(place.at(std::string(key)), *find(key), message);
  }
  Result<std::string> text(std::string_view key) const { return as_text(place.at(std::string(key)), *find(key)); }
  Result<std::int64_t> integer(std::string_view key, std::int64_t min, std::int64_t max) const {
    return as_integer(place.at(std::string(key)), *find(key), min, max);
  }
  Result<double> number(std::string_view key, double max) const {
    const double value = TRY(as_number(place.at(std::string(key)), *find(key)));
    if (!(value >= 0 && value <= max)) return wrong(key, fmt::format("expected 0 to {}", max));
    return value;
  }
  // What `parse` makes of the text; its message gets file, line and key.
  template <class Parse>
  auto parsed(std::string_view key, Parse parse) const -> decltype(parse(std::string_view())) {
    const std::string value = TRY(text(key));
    auto result = parse(value);
    if (!result) return wrong(key, result.error().message);
    return result;
  }
};

Result<void> read_when(const Entry& entry, Fault& fault) {
  if (entry.find("function")) {
    fault.function = TRY(entry.text("function"));
    if (!is_nvml_function(fault.function))
      return entry.wrong("function",
                         fmt::format("expected an NVML function or \"*\", found {}", quote(fault.function)));
  }
  if (entry.find("gpu")) fault.gpu = static_cast<int>(TRY(entry.integer("gpu", 0, kMaxGpus - 1)));
  if (entry.find("probability")) fault.probability = TRY(entry.number("probability", 1));
  if (entry.find("seed"))
    fault.seed = static_cast<std::uint64_t>(TRY(entry.integer("seed", 0, std::numeric_limits<std::int64_t>::max())));
  return {};
}

Result<void> read_effects(const Entry& entry, Fault& fault) {
  if (entry.find("return")) fault.answer = TRY(entry.parsed("return", parse_nvml_return));
  if (entry.find("delay")) fault.delay = TRY(entry.parsed("delay", parse_delay));
  if (entry.find("condition")) fault.condition = TRY(entry.parsed("condition", parse_condition));
  if (entry.find("xid")) fault.xid = static_cast<unsigned>(TRY(entry.integer("xid", 1, 9999)));
  if (entry.find("measured_times")) fault.measured_times = TRY(entry.number("measured_times", 1000));
  if (entry.find("busy_after_exit")) fault.linger = TRY(entry.parsed("busy_after_exit", parse_duration));
  return {};
}

Result<void> read_calls(const Entry& entry, Fault& fault) {
  if (!entry.find("calls")) {
    if (strikes_once(fault)) fault.calls = 1;
    return {};
  }
  if (TRY(entry.text("calls")) == "always") return {};
  fault.calls = static_cast<int>(TRY(entry.integer("calls", 1, 1'000'000)));
  return {};
}

Result<Fault> read_fault(const Entry& entry) {
  static constexpr std::array<std::string_view, 11> kKeys = {
      "function", "gpu", "calls",     "probability",    "seed",           "return",
      "delay",    "xid", "condition", "measured_times", "busy_after_exit"};
  TRY_VOID(as_mapping(entry.place, entry.node));
  TRY_VOID(require_keys(entry.place, entry.node, {}, kKeys));
  Fault fault;
  TRY_VOID(read_when(entry, fault));
  TRY_VOID(read_effects(entry, fault));
  TRY_VOID(read_calls(entry, fault));
  if (const std::optional<std::string> wrong = impossible(fault)) return yaml_fail(entry.place, entry.node, *wrong);
  return fault;
}

}  // namespace

Result<std::vector<Fault>> read_faults(const YamlPlace& place, const YamlNode& node) {
  std::vector<Fault> faults;
  for (std::size_t i = 0; const YamlNode& item : *TRY(as_sequence(place, node)))
    faults.push_back(TRY(read_fault(Entry{place.at(i++), item})));
  if (faults.size() > kMaxFaults)
    return yaml_fail(place, node, fmt::format("expected at most {} faults, found {}", kMaxFaults, faults.size()));
  return faults;
}

}  // namespace partita::emulator
