#include "emulator/control/fault_text.h"

#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

#include "base/duration.h"
#include "base/text.h"
#include "emulator/control/nvml_return.h"

namespace partita::emulator {

namespace {

constexpr std::array<std::pair<Condition, std::string_view>, 4> kConditions = {
    {{Condition::good, "good"},
     {Condition::lost, "lost"},
     {Condition::off_bus, "off-bus"},
     {Condition::reset_required, "reset-required"}}};

std::string delay_text(const Fault::Delay& delay) {
  if (delay.least == delay.most) return to_string(delay.least);
  return fmt::format("{} to {}", to_string(delay.least), to_string(delay.most));
}

// "the next 2 calls of nvmlInit_v2 for GPU 1 will", "every call will, with probability 0.1 (seed 7),"
std::string when_text(const Fault& fault) {
  std::string text = "every call";
  if (fault.calls) text = *fault.calls == 1 ? "the next call" : fmt::format("the next {} calls", *fault.calls);
  if (fault.function != "*") text += " of " + fault.function;
  if (fault.gpu) text += fmt::format(" for GPU {}", *fault.gpu);
  text += " will";
  if (fault.probability) text += fmt::format(", with probability {} (seed {}),", *fault.probability, fault.seed);
  return text;
}

}  // namespace

Result<Fault::Delay> parse_delay(std::string_view text) {
  const std::size_t dots = text.find("..");
  Fault::Delay delay;
  delay.least = TRY(parse_duration(text.substr(0, dots)));
  delay.most = dots == std::string_view::npos ? delay.least : TRY(parse_duration(text.substr(dots + 2)));
  if (delay.most < delay.least)
    return fail(ErrorCode::invalid,
                fmt::format("expected the shorter delay first, as in 10ms..80ms, found {}", quote(text)));
  return delay;
}

Result<Condition> parse_condition(std::string_view text) {
  std::vector<std::string> names;
  for (const auto& [condition, name] : kConditions) {
    if (name == text) return condition;
    names.emplace_back(name);
  }
  return fail(ErrorCode::invalid, fmt::format("{} is no condition of a GPU{}; expected one of {}", quote(text),
                                              did_you_mean(text, names), join(names, ", ")));
}

std::string condition_name(Condition condition) {
  for (const auto& [known, name] : kConditions)
    if (known == condition) return std::string(name);
  return "unknown";
}

std::optional<std::string> impossible(const Fault& fault) {
  constexpr std::chrono::hours kLongest{1};
  const bool of_calls = fault.answer || fault.delay || fault.xid || fault.condition;
  if (fault.measured_times || fault.linger) {
    if (of_calls || fault.calls || fault.probability || fault.function != "*" || (fault.measured_times && fault.linger))
      return "measured times and a busy time after exit are faults of their own: no function, return, delay, Xid, "
             "condition, calls or probability go with them";
    if (fault.linger && (fault.linger->count() < 0 || *fault.linger > kLongest))
      return "expected a busy time after exit of at most 1 hour";
    return std::nullopt;
  }
  if (!of_calls) return "the fault does nothing: expected a return, a delay, an Xid or a condition of the GPU";
  if (fault.calls && *fault.calls < 1) return fmt::format("expected at least 1 call to fail, found {}", *fault.calls);
  if (fault.probability && !(*fault.probability >= 0 && *fault.probability <= 1))
    return fmt::format("expected a probability of 0 to 1, found {}", *fault.probability);
  if (fault.delay && fault.delay->most > kLongest) return "expected a delay of at most 1 hour";
  return std::nullopt;
}

bool strikes_once(const Fault& fault) { return !fault.probability && (fault.answer || fault.xid || fault.condition); }

std::string describe(const Fault& fault) {
  const std::string where = fault.gpu ? fmt::format("GPU {}", *fault.gpu) : "any GPU";
  if (fault.measured_times)
    return fmt::format("{}: making and destroying GPU instances takes {} times what was measured on hardware", where,
                       *fault.measured_times);
  if (fault.linger)
    return fmt::format("{}: an instance is still in use for {} after its process ended", where,
                       to_string(*fault.linger));
  std::vector<std::string> effects;
  if (fault.delay) effects.push_back("take " + delay_text(*fault.delay));
  if (fault.xid) effects.push_back(fmt::format("raise Xid {}", *fault.xid));
  if (fault.condition) effects.push_back("make the GPU " + condition_name(*fault.condition));
  if (fault.answer) effects.push_back("return " + nvml_return_name(*fault.answer));
  return when_text(fault) + ' ' + join(effects, ", ");
}

}  // namespace partita::emulator
