#include "predict/model.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "predict/interval.h"
#include "predict/memory.h"

namespace partita::predict {
namespace {

const Host kReference{"reference", 1, 0, 0, {}};

Result<void> check_settings(const Workload& workload, const Settings& settings, int batch) {
  if (batch < 1) {
    return fail(ErrorCode::invalid, fmt::format("{}: expected a batch of 1 or more, found {}", workload.name, batch));
  }
  if (settings.processes < 1) {
    return fail(ErrorCode::invalid,
                fmt::format("{}: expected 1 or more processes, found {}", workload.name, settings.processes));
  }
  if (workload.operations.empty()) {
    return fail(ErrorCode::invalid, fmt::format("{}: a workload without operations", workload.name));
  }
  if (settings.mode == Mode::training && std::ranges::any_of(workload.operations, &Operation::cached)) {
    return fail(ErrorCode::invalid,
                fmt::format("{}: it keeps keys and values in a cache, as only inference does; leave "
                            "training out",
                            workload.name));
  }
  if (settings.copy_inside_step && workload.input_bytes_per_sample <= 0) {
    return fail(ErrorCode::invalid,
                fmt::format("{}: the copy is inside the step, but the size of an input is not known", workload.name));
  }
  return {};
}

double capacity_of(const Partition& p) {
  if (p.profile) {
    const catalog::Profile& profile = p.board->profiles[static_cast<std::size_t>(*p.profile)];
    if (profile.memory) return static_cast<double>(in_mib(*profile.memory));
    if (p.board->total_memory && p.board->memory_slices > 0) {
      return static_cast<double>(in_mib(*p.board->total_memory)) * profile.memory_slices / p.board->memory_slices;
    }
    return 0;
  }
  if (p.board->total_memory) return static_cast<double>(in_mib(*p.board->total_memory));
  return p.board->nominal_gb ? *p.board->nominal_gb * 1024.0 : 0;
}

Bound largest(const std::array<double, 4>& share) {
  return static_cast<Bound>(std::ranges::max_element(share) - share.begin());
}

// What a partition loses beside busy neighbours and inside a VM, as a factor on time.
double shared_slowdown(const Constants& constants, const Partition& p) {
  double slower = 1 + constants[Key::neighbour_loss] * p.busy_neighbours;
  if (p.virtualised) slower /= 1 - constants[Key::virtualisation_loss];
  return slower;
}

// The variance that these two terms add.
double shared_variance(const Constants& constants, const Partition& p) {
  double variance = std::pow(constants[Key::neighbour_spread] * p.busy_neighbours, 2);
  if (p.virtualised) variance += std::pow(constants[Key::virtualisation_spread], 2);
  return variance;
}

// Notes, and the variance that an extrapolation adds.
double add_notes(const Constants& constants, const Workload& workload, const Settings& settings, const Partition& p,
                 const Device& device, Prediction& out) {
  double variance = 0;
  if (device.assumed_rates) {
    out.notes.emplace_back(
        "the board's tf32 or fp16 rate is not known: taken from another precision's, halving per step");
  }
  auto extrapolate = [&](Key key) {
    out.extrapolated = true;
    variance += constants[key] * constants[key];
  };
  if (!device.measured_kind) {
    extrapolate(Key::board_spread);
    out.notes.push_back(fmt::format("{} is beyond the measured boards (A100): an extrapolation", p.board->id));
  }
  auto measured = [](Precision x) { return x == Precision::fp32 || x == Precision::tf32; };
  if (!measured(settings.matmul) || !measured(settings.convolution)) {
    extrapolate(Key::mode_spread);
    out.notes.emplace_back("8 and 16 bit products are beyond the fitted data (fp32 and tf32)");
  }
  if (settings.framework == Framework::graph) {
    extrapolate(Key::mode_spread);
    out.notes.emplace_back("replayed graphs are beyond the fitted data (eager PyTorch)");
  }
  if (settings.mode == Mode::training && settings.optimizer != Optimizer::adam) {
    out.notes.emplace_back("the optimizer's traffic is counted, not measured");
  }
  if (p.virtualised) {
    out.notes.push_back(fmt::format("assumes that virtualisation costs {:.1f} % (input, not a finding)",
                                    100 * constants[Key::virtualisation_loss]));
  }
  if (p.profile && !p.board->profiles[static_cast<std::size_t>(*p.profile)].sm) {
    out.notes.push_back(fmt::format("{}: number of multiprocessors estimated", partition_name(p)));
  }
  if (workload.parameters <= 0) out.notes.emplace_back("number of parameters unknown: memory is a lower bound");
  return variance;
}

}  // namespace

Result<Predictor> Predictor::make(const Constants& constants, const Workload& workload, const Settings& settings,
                                  const catalog::Board& board, const Host* host) {
  TRY_VOID(check_settings(workload, settings, 1));
  Predictor made(constants, workload, settings);
  made.host_ = host ? host : &kReference;
  Partition whole;
  whole.board = &board;
  Device device = TRY(device_of(constants, whole));
  made.plan_ = TRY(compile(constants, *made.host_, workload, settings, device));
  return made;
}

Result<StepTime> Predictor::time(const Partition& partition, double batch, const Factors& factors) const {
  Device device = TRY(device_of(*constants_, partition));
  StepTime time = evaluate(plan_, device, batch, factors);
  time.total_s *= shared_slowdown(*constants_, partition);
  return time;
}

Result<Prediction> Predictor::predict(const Partition& partition, int batch, const Calibration& calibration) const {
  TRY_VOID(check_settings(*workload_, settings_, batch));
  Factors factors{calibration.device, calibration.bandwidth, calibration.host};
  Device device = TRY(device_of(*constants_, partition));
  StepTime time = evaluate(plan_, device, batch, factors);
  time.total_s *= shared_slowdown(*constants_, partition);

  Prediction out;
  double parts = time.host_s + time.compute_s + time.bandwidth_s + time.copy_s;
  out.share = {time.host_s / parts, time.compute_s / parts, time.bandwidth_s / parts, time.copy_s / parts};
  out.bound = largest(out.share);
  double beyond = add_notes(*constants_, *workload_, settings_, partition, device, out);
  for (const std::string& note : calibration.notes) out.notes.push_back(note);

  bool seen =
      host_ != &kReference && std::ranges::find(constants_->networks, workload_->name) != constants_->networks.end();
  double sigma = calibration.residual > 0 ? calibrated_spread(plan_, device, batch, calibration)
                                          : std::hypot(spread(*constants_, out.share, seen), std::sqrt(beyond));
  sigma = std::hypot(sigma, std::sqrt(shared_variance(*constants_, partition)));
  out.step_ms = interval(time.total_s * 1e3, sigma);
  double samples = static_cast<double>(batch) * settings_.processes;
  out.throughput = {samples / time.total_s, samples * 1e3 / out.step_ms.high, samples * 1e3 / out.step_ms.low};

  out.capacity_mib = capacity_of(partition);
  double memory = memory_mib(*constants_, *host_, *workload_, settings_, batch, device.multiprocessors);
  out.memory_mib = interval(memory, constants_->memory_spread);
  out.fit = out.capacity_mib > 0 ? fit_of(memory, out.capacity_mib) : Fit::uncertain;
  if (out.capacity_mib <= 0) out.notes.emplace_back("the partition's memory is not known");
  return out;
}

Result<Prediction> predict(const Constants& constants, const Workload& workload, const Settings& settings,
                           const Partition& partition, const Calibration& calibration) {
  if (!partition.board) return fail(ErrorCode::internal, "a partition without a board");
  TRY_VOID(check_settings(workload, settings, settings.batch));
  Predictor predictor = TRY(Predictor::make(constants, workload, settings, *partition.board, partition.host));
  return predictor.predict(partition, settings.batch, calibration);
}

}  // namespace partita::predict
