// The time of one step of a workload on a partition: kernels compiled from operations, then played through the two
// clocks of an asynchronous framework.
//
//   t_i  = (c_i^3 + m_i^3)^(1/3) + floor                          device time of kernel i: compute c and memory m
//   overlap,
//                                                                 not quite (between the sum and the larger of both)
//   end  = max over i of ( sum_{j<=i} launch_j + sum_{j>=i} t_j )  the host runs ahead; the device waits for it
//
//   c    = flop / (peak * SM * efficiency) * (1 + half_k / k) + tail       short sums and the last wave of tiles cost
//   more m    = bytes / bandwidth; a few multiprocessors cannot ask for all of it
//
// The end is reached by the recurrence  host += launch_i;  device = max(device, host) + t_i.
// Training appends, in reverse order, each operation's backward kernels (for a product: gradient of the input and of
// the weights, with their true shapes), then the optimizer.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "catalog/board.h"
#include "predict/constants.h"
#include "predict/workload.h"

namespace partita::predict {

// What a partition has, as the model sees it.
struct Device {
  double multiprocessors = 0;
  double bandwidth = 0;       // bytes/s, nominal share
  bool whole_memory = false;  // all memory slices: both L2 halves
  double fp32_per_sm = 0, tf32_per_sm = 0, fp16_per_sm = 0, int8_per_sm = 0, fp8_per_sm = 0;  // flop/s, 0: none
  bool measured_kind = false;  // of the boards that the constants stand on: A100
  double clock = 1;            // boost clock over theirs
  bool assumed_rates = false;  // its tf32 or fp16 rate is not known, and taken from another precision's
  // Power: the clock gives way where wanted power passes the board's limit.
  double tdp_w = 0, idle_w = 0, dynamic_w = 0, clock_exponent = 0;
  double active_share = 1;  // of the board's multiprocessors that work, this partition's and its neighbours'
  std::string board;
};

// Peak of one multiprocessor; `invalid` names board and precision when there is no figure.
Result<double> peak_per_sm(const Device& device, Precision precision);
double bytes_per_element(Precision precision);

struct Kernel {
  double launch_s = 0;       // host
  double compute = 0;        // multiprocessor-seconds per sample, for an endless sum
  double half_k_over_k = 0;  // slows a short sum: 1 + half_k / k
  double half_k_over_m = 0;  // the same where the sum runs over the batch: 1 + half_k / (m * batch)
  double tail_s = 0;         // the last, half empty wave of tiles, whatever the partition
  double bytes = 0;          // per sample
  double fixed_bytes = 0;    // per step
};

// A workload as it is run, for one kind of multiprocessor; the batch is left open.
struct StepPlan {
  std::vector<Kernel> kernels;
  double floor_s = 0;
  double input_bytes = 0;  // per sample, copied inside the step; 0: not timed
  double copy_bytes_per_s = 0;
  bool serial = false;           // the host waits for each kernel
  bool graph = false;            // no host term
  bool small_precision = false;  // 8 or 16 bit tensor work: power matters
  double bandwidth_efficiency = 1, whole_bandwidth = 1, bandwidth_per_sm = 0;
  int processes = 1;
};

Result<StepPlan> compile(const Constants& constants, const Host& host, const Workload& workload,
                         const Settings& settings, const Device& device);

// Factors on the terms: 1 = as predicted.
struct Factors {
  double device = 1, bandwidth = 1, host = 1;
};

// The parts are those of the critical path and sum up to the total: what a part loses, the step loses.
struct StepTime {
  double total_s = 0;
  double host_s = 0;  // launches that the device waits for, and launch floors
  double compute_s = 0, bandwidth_s = 0, copy_s = 0;
  double launch_s = 0;  // all launches, whether they show or not
};

StepTime evaluate(const StepPlan& plan, const Device& device, double batch, const Factors& factors);

}  // namespace partita::predict
