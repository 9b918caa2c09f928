// Constants of the sharing modes for scenarios that have no measurement of their own. Priors, not findings: a report
// names those it uses. One value each for all models, modes and numbers of tenants.
#pragma once

namespace partita::study {

// Time-slicing. The shortest and default slice of `nvidia-smi compute-policy --set-timeslice` is 2 ms.
inline constexpr double kTimeSliceQuantumS = 0.002;
// What a switch between processes costs with that slice, effects on caches included: N busy tenants take N times as
// long plus 11 %, the same for 3, 5 and 7 (data/measured/nos_sharing_comparison_a100.csv): so that table's time-slicing
// rows are reproduced, not predicted.
inline constexpr double kTimeSliceSwitchS = 0.11 * kTimeSliceQuantumS;

// MPS: the exponent of the crowding rule (mps_server.cpp). 2 is the whole number that holds on both data sets that we
// have; where the demand of each cell is free, higher ones fit data/measured/parvagpu_a100_80gb_inference_profiles.csv
// somewhat better, and are too kind to the three pods of the other. Chosen with both tables in sight, so they
// are a check of the rule, not of this number. study_test (Measured.*) prints both.
inline constexpr double kMpsSaturation = 2;
// MPS beyond that: no extra work per neighbour.
inline constexpr double kMpsContention = 0;

// MIG: a slice keeps 0.976 to 1.0 of its throughput while all neighbours are busy (400 W A100, MLPerf heterogeneous
// runs: data/measured/mlperf_offline_a100.csv); the middle. Host- and PCIe-heavy models: 0.93. Leave it out (0) where
// service times were predicted with busy neighbours already.
inline constexpr double kMigNeighbourLoss = 1 / 0.988 - 1;
inline constexpr double kMigNeighbourLossHostHeavy = 1 / 0.93 - 1;

// MPS demand of a model on a whole GPU of `whole_sms` multiprocessors, from its GPU times on the whole GPU and on a MIG
// slice of `slice_sms`: a model that the slice slows by less than its share leaves the rest of the GPU idle.
inline constexpr double mps_demand(double whole_s, double slice_s, double slice_sms, double whole_sms) {
  const double demand = slice_s / whole_s * slice_sms / whole_sms;
  return demand < 1 ? demand : 1;
}

}  // namespace partita::study
