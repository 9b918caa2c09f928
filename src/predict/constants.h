// The numbers that predictions stand on: fitted constants and priors, each with its unit, standard error and source.
// Written by fit() to data/predict/constants.yaml; nobody types them there.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace partita::predict {

enum class Key : std::size_t {
  // Time
  launch_us,
  backward_launches,
  optimizer_launches,
  floor_us,
  bandwidth_efficiency,
  whole_bandwidth,
  bandwidth_per_sm,
  fp32_matmul_efficiency,
  tensor_matmul_efficiency,
  matmul_half_k,
  tile_elements,
  tile_width,
  convolution_efficiency,
  convolution_half_k,
  convolution_passes,
  backward_convolution_passes,
  convolution_weight_passes,
  depthwise_passes,
  optimizer_bytes,
  copy_gb_per_s,
  graph_floor_us,
  // Memory
  context_mib,
  context_mib_per_sm,
  inference_live,
  convolution_context_mib,
  training_saved,
  training_parameter_copies,
  // Power, neighbours, virtualisation
  measured_boost_mhz,
  idle_w,
  ga100_dynamic_w,
  dynamic_over_tdp,
  clock_exponent,
  neighbour_loss,
  neighbour_spread,
  virtualisation_loss,
  virtualisation_spread,
  // Spread between laboratories
  laboratory_spread,
  mode_spread,
  board_spread,
  // Calibration by own points, and workloads without architecture
  point_spread,
  device_factor_spread,
  bandwidth_factor_spread,
  host_factor_spread,
  calibrated_spread,
  two_points_compute,
  two_points_spread,
  count,
};
constexpr std::size_t kKeyCount = static_cast<std::size_t>(Key::count);

// What a constant is. `fitted` ones are moved by fit(); the others stay at `start`.
struct KeyInfo {
  Key key;
  std::string_view name, unit;
  double start, low, high;  // a fit begins at start and stays inside low..high
  bool fitted;
  std::string_view meaning;
  std::string_view source;  // of a prior
};
std::span<const KeyInfo> key_table();  // in the order of Key

// The machine and software that launch the work. Measured ones were part of the fit: predictions for them are tighter.
struct Host {
  std::string name;
  double launch_factor = 1;       // of launch_us
  double weight_passes = 0;       // extra reads of convolution weights per step by that software
  double context_mib = 0;         // more than context_mib, by that software
  std::array<double, 3> error{};  // standard errors of the three
};

// Log-scale standard deviation of measured over predicted time, by what bounds the step (host, compute, bandwidth,
// copy).
struct Spread {
  std::array<double, 4> fitted{};     // networks and hosts that the fit saw
  std::array<double, 4> elsewhere{};  // the same, and what two laboratories differ by
};

struct Constants {
  std::array<double, kKeyCount> value{};
  std::array<double, kKeyCount> standard_error{};
  std::vector<Host> hosts;
  std::vector<std::string> networks;  // that the fit saw
  Spread spread;
  double memory_spread = 0;  // log scale
  std::string fitted_on;     // data set, rows used, rows left out
  double operator[](Key key) const { return value[static_cast<std::size_t>(key)]; }
  double& operator[](Key key) { return value[static_cast<std::size_t>(key)]; }
  // nullptr when there is none of that name.
  const Host* host(std::string_view name) const;
};

// Every constant at its start: what a fit begins from.
Constants prior_constants();
// `invalid` names file, line and key: an unknown or missing constant, a value outside its range, a wrong unit.
Result<Constants> read_constants(std::string_view text, const std::string& file);
std::string write_constants(const Constants& constants);
// data/predict/constants.yaml of this program, read once.
Result<const Constants*> shipped_constants();

}  // namespace partita::predict
