#include <algorithm>

#include <fmt/format.h>

#include "predict/model.h"

namespace partita::predict {
namespace {

const catalog::Profile* profile_of(const Partition& p) {
  return p.profile ? &p.board->profiles[static_cast<std::size_t>(*p.profile)] : nullptr;
}

const catalog::ComputeProfile* compute_of(const Partition& p) {
  const catalog::Profile* profile = profile_of(p);
  return profile && p.compute ? &profile->compute[static_cast<std::size_t>(*p.compute)] : nullptr;
}

Result<void> check(const Partition& p) {
  if (!p.board) return fail(ErrorCode::internal, "a partition without a board");
  auto inside = [](std::optional<int> index, std::size_t size) {
    return !index || (*index >= 0 && static_cast<std::size_t>(*index) < size);
  };
  if (!inside(p.profile, p.board->profiles.size())) {
    return fail(ErrorCode::invalid,
                fmt::format("board {}: no profile of index {}", p.board->id, p.profile.value_or(-1)));
  }
  if (p.compute && (!p.profile || !inside(p.compute, profile_of(p)->compute.size()))) {
    return fail(ErrorCode::invalid, fmt::format("board {}: no compute instance profile of index {} in {}", p.board->id,
                                                *p.compute, p.profile ? profile_of(p)->name : "the whole GPU"));
  }
  if (!(p.busy_neighbours >= 0 && p.busy_neighbours <= 1)) {
    return fail(ErrorCode::invalid,
                fmt::format("busy neighbours: expected a share from 0 to 1, found {}", p.busy_neighbours));
  }
  return {};
}

std::optional<int> multiprocessors_of(const Partition& p) {
  if (const auto* compute = compute_of(p); compute && compute->sm) return compute->sm;
  const catalog::Profile* profile = profile_of(p);
  if (!profile) return p.board->specs.sm_count;
  std::optional<int> all = profile->sm ? profile->sm : profile->sm_estimate;
  if (!all && p.board->specs.sm_count && p.board->compute_slices > 0) {
    // Not seen on this board: its share of the slices, in the pairs that multiprocessors come in; add_notes says so.
    int share = *p.board->specs.sm_count * profile->compute_slices / p.board->compute_slices;
    all = std::max(2, share / 2 * 2);
  }
  if (const auto* compute = compute_of(p); compute && all && profile->compute_slices > 0) {
    return *all * compute->compute_slices / profile->compute_slices;
  }
  return all;
}

// Tensor rates double from tf32 to fp16, to fp8 and int8, to fp4: what a board's sheet leaves out follows from the
// rest.
void fill_missing_rates(Device& device, double fp4_per_sm) {
  auto fill = [&](double& rate, double from) {
    if (rate > 0 || from <= 0) return;
    rate = from;
    device.assumed_rates = true;
  };
  fill(device.fp16_per_sm, device.fp8_per_sm / 2);
  fill(device.fp16_per_sm, device.int8_per_sm / 2);
  fill(device.fp16_per_sm, fp4_per_sm / 4);
  fill(device.tf32_per_sm, device.fp16_per_sm / 2);
}

}  // namespace

std::string partition_name(const Partition& p) {
  if (const auto* compute = compute_of(p)) return compute->name;
  if (const auto* profile = profile_of(p)) return profile->name;
  return "whole GPU";
}

Result<Device> device_of(const Constants& constants, const Partition& p) {
  TRY_VOID(check(p));
  const catalog::Specs& specs = p.board->specs;
  std::optional<int> sm = multiprocessors_of(p);
  if (!sm || *sm < 1 || !specs.sm_count || !specs.memory_bandwidth_gb_per_s) {
    return fail(ErrorCode::invalid, fmt::format("board {}, {}: its number of multiprocessors or its bandwidth is not "
                                                "known, so nothing can be predicted",
                                                p.board->id, partition_name(p)));
  }
  const catalog::Profile* profile = profile_of(p);
  double share = profile && p.board->memory_slices > 0
                     ? static_cast<double>(profile->memory_slices) / p.board->memory_slices
                     : 1.0;
  Device device;
  device.board = p.board->id;
  device.measured_kind = p.board->chip == "GA100" && *specs.sm_count == 108;
  device.multiprocessors = *sm;
  device.bandwidth = *specs.memory_bandwidth_gb_per_s * 1e9 * share;
  device.whole_memory = share >= 1;
  auto per_sm = [&](const std::optional<double>& tera) { return tera.value_or(0) * 1e12 / *specs.sm_count; };
  device.fp32_per_sm = per_sm(specs.fp32_tflops);
  device.tf32_per_sm = per_sm(specs.tf32_tensor_tflops);
  if (specs.boost_mhz) device.clock = *specs.boost_mhz / constants[Key::measured_boost_mhz];
  device.fp16_per_sm = per_sm(specs.fp16_tensor_tflops);
  device.int8_per_sm = per_sm(specs.int8_tensor_tops);
  device.fp8_per_sm = per_sm(specs.fp8_tensor_tflops);
  fill_missing_rates(device, per_sm(specs.fp4_tensor_tflops));
  double mine = static_cast<double>(*sm) / *specs.sm_count;
  device.active_share = std::min(1.0, mine + p.busy_neighbours * (1 - mine));
  if (specs.tdp_w) {
    device.tdp_w = *specs.tdp_w;
    device.idle_w = constants[Key::idle_w];
    device.dynamic_w = device.measured_kind ? constants[Key::ga100_dynamic_w]
                                            : constants[Key::dynamic_over_tdp] * (device.tdp_w - device.idle_w);
    device.clock_exponent = constants[Key::clock_exponent];
  }
  return device;
}

}  // namespace partita::predict
