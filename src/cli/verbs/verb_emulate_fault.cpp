// emulate fault, lose and xid: what goes wrong on a node.
#include "base/duration.h"
#include "base/text.h"
#include "cli/draw/done.h"
#include "cli/draw/draw_emulated.h"
#include "cli/emulated.h"
#include "cli/verbs/run.h"
#include "emulator/control/coverage.h"
#include "emulator/control/fault_catalogue.h"
#include "emulator/control/fault_text.h"
#include "emulator/control/nvml_return.h"

namespace partita::cli {
namespace {

// The option's text, read by `parse`; errors name the option.
template <class Parse>
auto option(const Parsed& parsed, const std::string& key, Parse parse)
    -> Result<std::optional<typename decltype(parse(std::string()))::value_type>> {
  const auto text = parsed.text(key);
  if (!text) return std::nullopt;
  auto value = parse(*text);
  if (!value) return fail(value.error().code, "option --" + key + ": " + value.error().message);
  return *std::move(value);
}

Result<emulator::Fault> fault_of(const Parsed& parsed) {
  emulator::Fault fault;
  fault.function = parsed.text("FUNCTION").value_or("*");
  if (const auto answer = parsed.text("RETURN")) fault.answer = TRY(emulator::parse_nvml_return(*answer));
  fault.gpu = TRY(parsed.number("gpu", 0, 31));
  fault.probability = TRY(parsed.real("probability", 0, 1));
  fault.seed = static_cast<std::uint64_t>(TRY(parsed.number("seed", 0, 1'000'000'000)).value_or(0));
  fault.delay = TRY(option(parsed, "delay", emulator::parse_delay));
  fault.condition = TRY(option(parsed, "condition", emulator::parse_condition));
  fault.linger = TRY(option(parsed, "busy-after-exit", parse_duration));
  fault.measured_times = TRY(parsed.real("measured-times", 0, 1000));
  if (const auto xid = TRY(parsed.number("xid", 1, 9999))) fault.xid = static_cast<unsigned>(*xid);
  if (parsed.text("calls") == "always") return fault;
  fault.calls = TRY(parsed.number("calls", 1, 1'000'000'000));
  if (!fault.calls && emulator::strikes_once(fault)) fault.calls = 1;
  return fault;
}

Result<int> list_faults(const Parsed& parsed, const std::string& node) {
  const auto format = TRY(format_of(parsed));
  const auto faults = TRY(emulator::faults(node));
  if (format != Format::table) {
    TRY_VOID(print_json(format, faults_json(faults)));
    return 0;
  }
  std::string text = faults.empty() ? node + ": no faults\n" : "";
  for (const auto& fault : faults) text += node + ": " + emulator::describe(fault) + '\n';
  TRY_VOID(print(text));
  return 0;
}

}  // namespace

Result<int> run_emulate_fault(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  if (parsed.flag("catalogue")) {
    TRY_VOID(print(emulator::fault_catalogue_text()));
    return 0;
  }
  const auto node = TRY(chosen_node(parsed, std::nullopt));
  if (parsed.flag("list")) return list_faults(parsed, node.name);
  if (parsed.flag("clear")) {
    if (parsed.text("FUNCTION"))
      return fail(ErrorCode::invalid, "option --clear takes back all faults: give no FUNCTION with it");
    TRY_VOID(emulator::clear_faults(node.name));
    TRY_VOID(print_done(format, node.name + ": no faults"));
    return 0;
  }
  const auto fault = TRY(fault_of(parsed));
  TRY_VOID(emulator::check_function(fault.function));
  if (!fault.answer && !fault.delay && !fault.xid && !fault.condition && !fault.linger && !fault.measured_times)
    return fail(ErrorCode::invalid, "emulate fault needs FUNCTION and RETURN, another effect, --list or --clear",
                {"for example: partita emulate fault nvmlDeviceCreateGpuInstanceWithPlacement IN_USE --calls 2",
                 "partita emulate fault --catalogue lists what can go wrong"});
  TRY_VOID(emulator::add_fault(node.name, fault));
  TRY_VOID(print_done(format, node.name + ": " + emulator::describe(fault)));
  return 0;
}

Result<int> run_emulate_lose(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  // lose NODE GPU, or lose GPU where there is one node only.
  auto name = parsed.text("NODE"), gpu = parsed.text("GPU");
  if (!gpu) {
    gpu = name;
    name.reset();
  }
  const auto node = TRY(chosen_node(parsed, name));
  auto condition = TRY(option(parsed, "how", emulator::parse_condition)).value_or(emulator::Condition::lost);
  if (parsed.flag("back")) {
    if (parsed.flag("how")) return fail(ErrorCode::invalid, "options --back and --how do not go together");
    condition = emulator::Condition::good;
  }
  TRY_VOID(emulator::set_condition(node.name, gpu.value_or(""), condition));
  std::string state = " is " + emulator::condition_name(condition);
  if (condition == emulator::Condition::good) state = " is back";
  if (condition == emulator::Condition::off_bus) state = " is off the bus";
  if (condition == emulator::Condition::reset_required) state = " needs a reset";
  TRY_VOID(print_done(format, node.name + ": GPU " + gpu.value_or("") + state));
  return 0;
}

Result<int> run_emulate_xid(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  const auto device = parsed.text("DEVICE").value_or("");
  const auto xid = parsed.number("XID", 1, 9999);
  if (!xid)
    return fail(ErrorCode::invalid, "expected an Xid from 1 to 9999, found " + quote(parsed.text("XID").value_or("")));
  const auto node = TRY(chosen_node(parsed, std::nullopt));
  TRY_VOID(emulator::raise_xid(node.name, device, static_cast<unsigned>(xid->value_or(0))));
  TRY_VOID(print_done(format, node.name + ": Xid " + std::to_string(xid->value_or(0)) + " on " + device));
  return 0;
}

Result<int> run_emulate_advance(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  const auto time = TRY(parse_duration(parsed.text("DURATION").value_or("")));
  const auto node = TRY(chosen_node(parsed, parsed.text("NODE")));
  TRY_VOID(emulator::advance_clock(node.name, time));
  TRY_VOID(print_done(format, node.name + ": its clock is " + to_string(time) + " further"));
  return 0;
}

}  // namespace partita::cli
