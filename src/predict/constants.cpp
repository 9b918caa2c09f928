#include "predict/constants.h"

#include <algorithm>

namespace partita::predict {
namespace {

constexpr std::string_view kOneSlice =
    "so that one slice alone runs 5 % better than its share, as in MLPerf Inference v0.7-v2.1 Offline on A100";

constexpr std::array<KeyInfo, kKeyCount> kTable{{
    {Key::launch_us, "launch_us", "us", 29, 5, 200, true, "host time per eager operation, reference host", ""},
    {Key::backward_launches, "backward_launches", "launches/operation", 1, 0.2, 6, true,
     "host time of an operation's backward pass, in launches", ""},
    {Key::optimizer_launches, "optimizer_launches", "launches/tensor", 0, 0, 20, false,
     "host time of an optimizer step beside the backward pass's, in launches per parameter tensor",
     "none seen in MIGPerf"},
    {Key::floor_us, "floor_us", "us", 4.8, 0.5, 20, true, "device time that every kernel takes at least", ""},
    {Key::bandwidth_efficiency, "bandwidth_efficiency", "1", 0.83, 0.3, 1.0, true,
     "reached share of nominal memory bandwidth", ""},
    {Key::whole_bandwidth, "whole_bandwidth", "1", 0.95, 0.7, 1.0, true,
     "further share reached when both halves of the L2 cache are used", ""},
    {Key::bandwidth_per_sm, "bandwidth_per_sm", "GB/s", 30, 8, 400, true,
     "bandwidth that one multiprocessor can ask for", ""},
    {Key::fp32_matmul_efficiency, "fp32_matmul_efficiency", "1", 1.0, 0.3, 1.3, true,
     "matrix product without tensor cores, share of peak for long sums", ""},
    {Key::tensor_matmul_efficiency, "tensor_matmul_efficiency", "1", 0.73, 0.2, 1.3, true,
     "matrix product on tensor cores, share of peak for long sums", ""},
    {Key::matmul_half_k, "matmul_half_k", "elements", 152, 1, 2000, true,
     "length of sum at which a matrix product reaches half of that", ""},
    {Key::tile_elements, "tile_elements", "elements", 8192, 16, 65536, true,
     "output of a product that one multiprocessor works on; the last wave of them is half empty", ""},
    {Key::tile_width, "tile_width", "channels", 64, 1, 256, false,
     "output channels of a product are worked on in multiples of this",
     "narrowest tile that is common in CUTLASS and cuDNN tensor core kernels"},
    {Key::convolution_efficiency, "convolution_efficiency", "1", 0.79, 0.2, 1.3, true,
     "convolution on tensor cores, share of peak for long sums", ""},
    {Key::convolution_half_k, "convolution_half_k", "elements", 600, 10, 4000, true,
     "length of sum at which a convolution reaches half of that", ""},
    {Key::convolution_passes, "convolution_passes", "1", 1.87, 0.5, 6, true,
     "times that a convolution reads and writes its activations", ""},
    {Key::backward_convolution_passes, "backward_convolution_passes", "1", 1.87, 0.5, 8, true,
     "the same for each of its two gradients", ""},
    {Key::convolution_weight_passes, "convolution_weight_passes", "1", 3, 1, 30, false,
     "times that an eager convolution reads or writes its weights",
     "cuDNN's tensor core kernels want NHWC: weights are read, written in that order and read again; a graph does it "
     "once"},
    {Key::depthwise_passes, "depthwise_passes", "1", 3, 1, 10, false,
     "times that a depthwise convolution reads and writes its activations",
     "judgement: change of layout before and after"},
    {Key::optimizer_bytes, "optimizer_bytes", "bytes/parameter", 119, 12, 400, true, "traffic of one unfused Adam step",
     ""},
    {Key::copy_gb_per_s, "copy_gb_per_s", "GB/s", 10, 1, 64, false, "host to device copy from pageable memory",
     "judgement: pageable memory over PCIe 4.0 x16, 40 % of the link"},
    {Key::graph_floor_us, "graph_floor_us", "us", 2, 0.2, 20, false, "device time per kernel of a replayed graph",
     "judgement: under half of an eager kernel's"},
    {Key::context_mib, "context_mib", "MiB", 1217, 100, 4000, true, "CUDA context and libraries", ""},
    {Key::context_mib_per_sm, "context_mib_per_sm", "MiB/SM", 4.25, 0, 20, true, "CUDA context per multiprocessor", ""},
    {Key::inference_live, "inference_live", "1", 1.76, 0.5, 6, true,
     "reserved memory over the largest sum of live activations", ""},
    {Key::convolution_context_mib, "convolution_context_mib", "MiB", 200, 1, 2000, true,
     "libraries and workspace that a network with convolutions adds", ""},
    {Key::training_saved, "training_saved", "1", 1.033, 0.5, 4, true,
     "reserved memory over the activations kept for the backward pass", ""},
    {Key::training_parameter_copies, "training_parameter_copies", "1", 5, 3, 10, true,
     "copies of the parameters while training with Adam: weights, gradients, two moments, buffers", ""},
    {Key::measured_boost_mhz, "measured_boost_mhz", "MHz", 1410, 500, 5000, false,
     "boost clock of the boards that bandwidth_per_sm was fitted on", "NVIDIA A100 data sheets"},
    {Key::idle_w, "idle_w", "W", 60, 0, 200, false, "power of an idle board with its memory clocked up",
     "judgement: A100 boards idle at 50-70 W"},
    {Key::ga100_dynamic_w, "ga100_dynamic_w", "W", 392, 50, 1500, false,
     "power above idle of a whole A100 at boost clock in 8 and 16 bit tensor work", kOneSlice},
    {Key::dynamic_over_tdp, "dynamic_over_tdp", "1", 1.15, 0.5, 2, false, "the same over (TDP - idle), for other chips",
     kOneSlice},
    {Key::clock_exponent, "clock_exponent", "1", 0.4, 0.2, 1, false,
     "clock follows (allowed power / wanted power) to this exponent", "dynamic power ~ f V^2, V about linear in f"},
    {Key::neighbour_loss, "neighbour_loss", "1", 0.012, 0, 0.2, false,
     "throughput lost while the rest of the GPU is busy",
     "MLPerf Inference v1.0-v2.0 heterogeneous multi-use against one slice alone: 0.976-1.0"},
    {Key::neighbour_spread, "neighbour_spread", "log", 0.035, 0, 1, false,
     "added beside busy neighbours: power, clock, PCIe and host are shared",
     "90 % of cases within the published losses, 0 (MLPerf Inference v1.0-v2.0) to 7 % (its recommender, heavy on host "
     "and PCIe)"},
    {Key::virtualisation_loss, "virtualisation_loss", "1", 0.028, 0, 0.3, false, "throughput lost in a VM through vGPU",
     "published benchmark rounds, vGPU against bare metal on A100-40GB: 0.944-1.001 of the throughput"},
    {Key::virtualisation_spread, "virtualisation_spread", "log", 0.017, 0, 1, false, "added in a VM through vGPU",
     "90 % of cases within those rounds' 0.944-1.001"},
    {Key::laboratory_spread, "laboratory_spread", "log", 0.09, 0, 1, false,
     "difference of two laboratories on the same network, GPU and profile at batch 16 and more",
     "MIGPerf against ParvaGPU, ResNet-50"},
    {Key::mode_spread, "mode_spread", "log", 0.065, 0, 1, false,
     "added where precision or framework lie beyond the fitted data", "judgement"},
    {Key::board_spread, "board_spread", "log", 0.25, 0, 1, false, "added where the board lies beyond the data",
     "judgement: no data"},
    {Key::point_spread, "point_spread", "log", 0.03, 0.001, 1, false,
     "how far one own point lies from a calibrated model", "judgement: what repeated runs of one point differ by"},
    {Key::device_factor_spread, "device_factor_spread", "log", 0.2, 0.001, 2, false,
     "how far a calibration's factor of computing time usually lies from 1", "judgement"},
    {Key::bandwidth_factor_spread, "bandwidth_factor_spread", "log", 0.1, 0.001, 2, false,
     "the same of memory time: less software lies between it and the hardware", "judgement"},
    {Key::host_factor_spread, "host_factor_spread", "log", 0.2, 0.001, 2, false, "the same of host time", "judgement"},
    {Key::calibrated_spread, "calibrated_spread", "log", 0.05, 0.01, 1, true,
     "what remains at other places after a calibration by three own points", ""},
    {Key::two_points_compute, "two_points_compute", "1", 0.75, 0, 1, true,
     "without architecture: weight of the multiprocessors' share in how time grows, the rest is the memory's", ""},
    {Key::two_points_spread, "two_points_spread", "log", 0.06, 0.01, 1, true,
     "error of times between two own points without architecture", ""},
}};

}  // namespace

std::span<const KeyInfo> key_table() { return kTable; }

const Host* Constants::host(std::string_view name) const {
  auto it = std::ranges::find(hosts, name, &Host::name);
  return it == hosts.end() ? nullptr : &*it;
}

Constants prior_constants() {
  Constants c;
  for (const KeyInfo& info : kTable) c[info.key] = info.start;
  c.spread.fitted.fill(0.08);
  c.spread.elsewhere.fill(0.15);
  c.memory_spread = 0.06;
  return c;
}

}  // namespace partita::predict
