// data/predict/constants.yaml: read strictly, written with units, standard errors and sources.
#include <algorithm>
#include <mutex>

#include <fmt/format.h>

#include "base/text.h"
#include "base/yaml.h"
#include "catalog/embedded.h"
#include "predict/constants.h"

namespace partita::predict {
namespace {

constexpr std::array<std::string_view, 4> kBounds{"host", "compute", "bandwidth", "copy"};

Result<void> read_constant(const YamlPlace& place, const YamlNode& node, Constants& out,
                           std::array<bool, kKeyCount>& seen) {
  constexpr std::string_view kRequired[] = {"name", "value", "unit", "standard_error", "source"};
  constexpr std::string_view kOptional[] = {"meaning"};
  TRY_VOID(require_keys(place, node, kRequired, kOptional));
  std::string name = TRY(as_text(place.at("name"), *node.find("name")));
  auto table = key_table();
  auto info = std::ranges::find(table, name, &KeyInfo::name);
  if (info == table.end()) {
    return std::unexpected(yaml_error(place, *node.find("name"), fmt::format("no constant is called {}", quote(name))));
  }
  std::string unit = TRY(as_text(place.at("unit"), *node.find("unit")));
  if (unit != info->unit) {
    return std::unexpected(
        yaml_error(place, *node.find("unit"), fmt::format("expected the unit {}, found {}", info->unit, unit)));
  }
  double value = TRY(as_number(place.at("value"), *node.find("value")));
  if (value < info->low || value > info->high) {
    return std::unexpected(
        yaml_error(place, *node.find("value"),
                   fmt::format("{}: expected {} to {}, found {}", name, info->low, info->high, value)));
  }
  std::size_t i = static_cast<std::size_t>(info->key);
  if (seen[i]) return std::unexpected(yaml_error(place, node, fmt::format("{} is given twice", name)));
  seen[i] = true;
  out.value[i] = value;
  out.standard_error[i] = TRY(as_number(place.at("standard_error"), *node.find("standard_error")));
  return {};
}

Result<Host> read_host(const YamlPlace& place, const YamlNode& node) {
  constexpr std::string_view kRequired[] = {"name", "launch_factor", "weight_passes", "context_mib", "standard_errors"};
  TRY_VOID(require_keys(place, node, kRequired, {}));
  Host host;
  host.name = TRY(as_text(place.at("name"), *node.find("name")));
  host.launch_factor = TRY(as_number(place.at("launch_factor"), *node.find("launch_factor")));
  host.weight_passes = TRY(as_number(place.at("weight_passes"), *node.find("weight_passes")));
  host.context_mib = TRY(as_number(place.at("context_mib"), *node.find("context_mib")));
  const auto* errors = TRY(as_sequence(place.at("standard_errors"), *node.find("standard_errors")));
  if (errors->size() != host.error.size()) {
    return std::unexpected(yaml_error(place, *node.find("standard_errors"), "expected three numbers"));
  }
  for (std::size_t i = 0; i < host.error.size(); ++i) {
    host.error[i] = TRY(as_number(place.at("standard_errors").at(i), (*errors)[i]));
  }
  return host;
}

Result<std::array<double, 4>> read_bounds(const YamlPlace& place, const YamlNode& node) {
  TRY_VOID(require_keys(place, node, kBounds, {}));
  std::array<double, 4> out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = TRY(as_number(place.at(kBounds[i]), *node.find(kBounds[i])));
    if (!(out[i] > 0 && out[i] < 2)) {
      return std::unexpected(
          yaml_error(place.at(kBounds[i]), *node.find(kBounds[i]), "expected a spread between 0 and 2"));
    }
  }
  return out;
}

std::string bounds_text(const std::array<double, 4>& spread) {
  return fmt::format("{{host: {:.4f}, compute: {:.4f}, bandwidth: {:.4f}, copy: {:.4f}}}", spread[0], spread[1],
                     spread[2], spread[3]);
}

}  // namespace

Result<Constants> read_constants(std::string_view text, const std::string& file) {
  YamlDocument document = TRY(parse_yaml(text, file));
  YamlPlace place{&document, ""};
  constexpr std::string_view kRequired[] = {"fitted_on", "constants", "hosts", "networks", "spread", "memory_spread"};
  TRY_VOID(require_keys(place, document.root, kRequired, {}));
  auto at = [&](std::string_view key) -> const YamlNode& { return *document.root.find(key); };
  Constants out;
  out.fitted_on = TRY(as_text(place.at("fitted_on"), at("fitted_on")));
  std::array<bool, kKeyCount> seen{};
  const auto* constants = TRY(as_sequence(place.at("constants"), at("constants")));
  for (std::size_t i = 0; i < constants->size(); ++i) {
    TRY_VOID(read_constant(place.at("constants").at(i), (*constants)[i], out, seen));
  }
  for (const KeyInfo& info : key_table()) {
    if (!seen[static_cast<std::size_t>(info.key)]) {
      return std::unexpected(
          yaml_error(place.at("constants"), at("constants"), fmt::format("{} is missing", info.name)));
    }
  }
  const auto* hosts = TRY(as_sequence(place.at("hosts"), at("hosts")));
  for (std::size_t i = 0; i < hosts->size(); ++i) {
    out.hosts.push_back(TRY(read_host(place.at("hosts").at(i), (*hosts)[i])));
  }
  const auto* networks = TRY(as_sequence(place.at("networks"), at("networks")));
  for (std::size_t i = 0; i < networks->size(); ++i) {
    out.networks.push_back(TRY(as_text(place.at("networks").at(i), (*networks)[i])));
  }
  constexpr std::string_view kSpreads[] = {"fitted", "elsewhere"};
  TRY_VOID(require_keys(place.at("spread"), at("spread"), kSpreads, {}));
  out.spread.fitted = TRY(read_bounds(place.at("spread").at("fitted"), *at("spread").find("fitted")));
  out.spread.elsewhere = TRY(read_bounds(place.at("spread").at("elsewhere"), *at("spread").find("elsewhere")));
  out.memory_spread = TRY(as_number(place.at("memory_spread"), at("memory_spread")));
  return out;
}

std::string write_constants(const Constants& constants) {
  std::string out =
      "# Written by `partita predict fit`; not edited by hand. standard_error 0: not fitted.\n"
      "# Spreads are log-scale standard deviations of measured over predicted time, by what bounds the step.\n";
  out += fmt::format("fitted_on: \"{}\"\nconstants:\n", constants.fitted_on);
  for (const KeyInfo& info : key_table()) {
    std::size_t i = static_cast<std::size_t>(info.key);
    out += fmt::format(
        "  - {{name: {}, value: {:.6g}, unit: \"{}\", standard_error: {:.3g},\n     source: \"{}\",\n"
        "     meaning: \"{}\"}}\n",
        info.name, constants.value[i], info.unit, constants.standard_error[i], info.fitted ? "fit" : info.source,
        info.meaning);
  }
  out += "hosts:\n";
  for (const Host& host : constants.hosts) {
    out += fmt::format(
        "  - {{name: {}, launch_factor: {:.6g}, weight_passes: {:.6g}, context_mib: {:.6g}, "
        "standard_errors: [{:.3g}, {:.3g}, {:.3g}]}}\n",
        host.name, host.launch_factor, host.weight_passes, host.context_mib, host.error[0], host.error[1],
        host.error[2]);
  }
  out += "networks: [" + fmt::format("{}", fmt::join(constants.networks, ", ")) + "]\n";
  out += "spread:\n  fitted: " + bounds_text(constants.spread.fitted) +
         "\n  elsewhere: " + bounds_text(constants.spread.elsewhere) +
         fmt::format("\nmemory_spread: {:.4f}\n", constants.memory_spread);
  return out;
}

Result<const Constants*> shipped_constants() {
  static const Result<Constants> shipped = []() -> Result<Constants> {
    constexpr std::string_view kPath = "predict/constants.yaml";
    auto text = catalog::embedded_file(kPath);
    if (!text) return fail(ErrorCode::internal, "this program was built without predict/constants.yaml");
    return read_constants(*text, std::string(kPath));
  }();
  if (!shipped) return std::unexpected(shipped.error());
  return &*shipped;
}

}  // namespace partita::predict
