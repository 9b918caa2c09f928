// emulate coverage: which functions of NVML the emulated library answers.
#include <nlohmann/json.hpp>

#include "cli/common.h"
#include "cli/draw/table.h"
#include "cli/verbs/run.h"
#include "emulator/control/coverage.h"

namespace partita::cli {
namespace {

std::string sums(const emulator::Coverage& coverage) {
  const auto all = coverage.functions.size();
  return "interface " + coverage.interface_version + ": " + std::to_string(all) + " functions exported, " +
         std::to_string(coverage.implemented) + " implemented, " +
         std::to_string(all - static_cast<std::size_t>(coverage.implemented)) + " answer NOT_SUPPORTED\n";
}

std::string draw(const Look& look, const emulator::Coverage& coverage) {
  Table table({{"function"}, {"answer"}});
  for (const auto& function : coverage.functions) {
    table.add({{function.name, function.implemented ? Tone::strong : Tone::plain},
               {function.implemented ? "implemented" : "NOT_SUPPORTED"}});
  }
  return table.draw(look) + sums(coverage);
}

std::string json(const emulator::Coverage& coverage) {
  auto functions = nlohmann::ordered_json::array();
  for (const auto& function : coverage.functions) {
    functions.push_back({{"name", function.name}, {"implemented", function.implemented}});
  }
  const auto all = coverage.functions.size();
  return nlohmann::ordered_json{{"interface", coverage.interface_version},
                                {"exported", all},
                                {"implemented", coverage.implemented},
                                {"not_supported", all - static_cast<std::size_t>(coverage.implemented)},
                                {"functions", std::move(functions)}}
      .dump(2);
}

}  // namespace

Result<int> run_emulate_coverage(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  const auto coverage = TRY(emulator::coverage());
  if (format == Format::table)
    TRY_VOID(print(draw(output_look(parsed), coverage)));
  else
    TRY_VOID(print_json(format, json(coverage)));
  return 0;
}

}  // namespace partita::cli
