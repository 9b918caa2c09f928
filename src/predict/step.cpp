#include "predict/step.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace partita::predict {
namespace {

// Passes over (input + output) elements of the kinds that only move data: forward, forward while training, backward.
struct Passes {
  double inference, training, backward;
};

constexpr Passes passes(OperationKind kind) {
  switch (kind) {
    case OperationKind::batch_norm:
      return {1, 1.5, 2.5};  // statistics are a pass of their own
    case OperationKind::layer_norm:
      return {1, 1, 2.5};
    case OperationKind::activation:
    case OperationKind::softmax:
      return {1, 1, 1.5};
    case OperationKind::add:
      return {1, 1, 1};
    case OperationKind::dropout:
      return {0, 1.125, 1.125};
    case OperationKind::embedding:
      return {1, 1, 1.5};
    default:
      return {1, 1, 1};
  }
}

bool is_product(OperationKind kind) {
  return kind == OperationKind::convolution || kind == OperationKind::matmul || kind == OperationKind::batched_matmul;
}

// Pixels of a convolution's kernel from its shapes: k * m / input elements is the area over the stride squared.
double kernel_area(const Operation& op) {
  if (op.input_elements <= 0) return 1;
  double ratio = op.k * op.m * op.groups / op.input_elements;
  double root = std::sqrt(ratio);
  bool square = ratio > 0.98 && std::abs(root - std::round(root)) < 0.03;
  return std::max(1.0, square ? ratio : 4 * ratio);
}

// Adam's traffic, counted in passes over the parameters of the unfused steps, is what was measured; the others by
// count.
double optimizer_share(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::sgd:
      return 3.0 / 29;
    case Optimizer::sgd_momentum:
      return 8.0 / 29;
    case Optimizer::adam:
      return 1;
  }
  return 1;
}

class Compiler {
 public:
  Compiler(const Constants& constants, const Host& host, const Settings& settings, const Device& device)
      : c_(constants), s_(settings), device_(device) {
    launch_s_ = settings.framework == Framework::graph ? 0 : c_[Key::launch_us] * host.launch_factor * 1e-6;
    weight_passes_ = c_[Key::convolution_weight_passes] + host.weight_passes;
  }

  Result<void> prepare(const Workload& workload) {
    matmul_peak_ = TRY(peak_per_sm(device_, s_.matmul));
    convolution_peak_ = TRY(peak_per_sm(device_, s_.convolution));
    fp32_peak_ = TRY(peak_per_sm(device_, Precision::fp32));
    bool convolutional = std::ranges::any_of(workload.operations,
                                             [](const Operation& op) { return op.kind == OperationKind::convolution; });
    double convolution_macs = 0, matmul_macs = 0;
    for (const Operation& op : workload.operations) {
      (op.kind == OperationKind::convolution ? convolution_macs : matmul_macs) += op.macs();
    }
    bool by_convolution = convolutional && convolution_macs > matmul_macs;
    element_bytes_ = bytes_per_element(by_convolution ? s_.convolution : s_.matmul);
    return {};
  }

  void forward(const Operation& op, std::vector<Kernel>& out) const {
    if (s_.framework == Framework::graph && op.fused_in_graph) return;
    if (s_.mode == Mode::inference && op.kind == OperationKind::dropout) return;
    if (is_product(op.kind)) {
      out.push_back(product(op, op.k, false, launch_s_, false));
    } else {
      out.push_back(
          movement(op, s_.mode == Mode::training ? passes(op.kind).training : passes(op.kind).inference, launch_s_));
    }
  }

  void backward(const Operation& op, bool first, std::vector<Kernel>& out) const {
    double launch = launch_s_ * c_[Key::backward_launches];
    if (!is_product(op.kind)) {
      out.push_back(movement(op, passes(op.kind).backward, launch));
      if (op.kind == OperationKind::embedding) out.back().fixed_bytes += 2 * op.weight_elements * 4;
      return;
    }
    double area = op.kind == OperationKind::convolution ? kernel_area(op) : 1;
    if (!first) {
      out.push_back(product(op, op.n * area, false, launch / 2, true));
      launch /= 2;
    }
    out.push_back(product(op, op.m, op.kind != OperationKind::batched_matmul, launch, true));
  }

  void optimizer(const Workload& workload, std::vector<Kernel>& out) const {
    double share = optimizer_share(s_.optimizer);
    double tensors = std::max(1.0, workload.parameter_tensors);
    // A few kernels stand for the many small ones: launches and traffic are what counts.
    Kernel step;
    step.launch_s = launch_s_ * c_[Key::optimizer_launches] * tensors * share;
    step.fixed_bytes = workload.parameters * c_[Key::optimizer_bytes] * share;
    constexpr int kPieces = 16;
    step.launch_s /= kPieces;
    step.fixed_bytes /= kPieces;
    out.insert(out.end(), kPieces, step);
  }

 private:
  Kernel product(const Operation& op, double k, bool over_batch, double launch, bool gradient) const {
    bool convolution = op.kind == OperationKind::convolution;
    Precision precision = convolution ? s_.convolution : s_.matmul;
    bool tensor = precision != Precision::fp32;
    double efficiency = convolution ? c_[Key::convolution_efficiency]
                        : tensor    ? c_[Key::tensor_matmul_efficiency]
                                    : c_[Key::fp32_matmul_efficiency];
    // Graph compilers choose layouts once: an eager framework's extra passes and its slow short convolutions are gone.
    bool eager = s_.framework != Framework::graph;
    double half = convolution && eager ? c_[Key::convolution_half_k] : c_[Key::matmul_half_k];
    double peak = convolution ? convolution_peak_ : matmul_peak_;
    Kernel kernel;
    kernel.launch_s = launch;
    double width = tensor ? c_[Key::tile_width] : 1;
    double wide = op.n > 0 ? std::ceil(op.n / width) * width / op.n : 1;
    kernel.compute = 2 * op.macs() * wide / (peak * efficiency);
    (over_batch ? kernel.half_k_over_m : kernel.half_k_over_k) = half / std::max(1.0, k);
    if (!over_batch) kernel.tail_s = c_[Key::tile_elements] * (k + half) / (peak * efficiency);
    double bytes = bytes_per_element(precision);
    double passes = !eager ? 1 : gradient ? c_[Key::backward_convolution_passes] : c_[Key::convolution_passes];
    kernel.bytes = (op.input_elements + op.output_elements) * bytes * (convolution ? passes : 1);
    kernel.fixed_bytes = op.weight_elements * bytes * (convolution && eager ? weight_passes_ : 1);
    return kernel;
  }

  Kernel movement(const Operation& op, double times, double launch) const {
    Kernel kernel;
    kernel.launch_s = launch;
    if (op.kind == OperationKind::depthwise) {
      times = c_[Key::depthwise_passes];
      kernel.compute = 2 * op.macs() / fp32_peak_;
    }
    kernel.bytes = (op.input_elements + op.output_elements) * element_bytes_ * times;
    // An embedding reads the rows that it needs, not the table.
    if (op.kind != OperationKind::embedding) kernel.fixed_bytes = op.weight_elements * element_bytes_;
    return kernel;
  }

  const Constants& c_;
  const Settings& s_;
  const Device& device_;
  double launch_s_ = 0, weight_passes_ = 0, element_bytes_ = 4;
  double matmul_peak_ = 0, convolution_peak_ = 0, fp32_peak_ = 0;
};

// The share of boost clock that the board's power allows while `active` of its multiprocessors run tensor work.
double clock_share(const Device& device, double active) {
  if (device.tdp_w <= 0 || device.dynamic_w <= 0) return 1;
  double wanted = device.dynamic_w * active;
  double allowed = std::max(1.0, device.tdp_w - device.idle_w);
  return wanted <= allowed ? 1 : std::pow(allowed / wanted, device.clock_exponent);
}

// A time by what it consists of.
struct Parts {
  double host = 0, compute = 0, bandwidth = 0;
  double work() const { return compute + bandwidth; }
  double sum() const { return host + work(); }
  void add(double floor, double by_compute, double by_bandwidth) {
    host += floor;
    compute += by_compute;
    bandwidth += by_bandwidth;
  }
};

}  // namespace

double bytes_per_element(Precision precision) {
  switch (precision) {
    case Precision::fp32:
    case Precision::tf32:
      return 4;
    case Precision::fp16:
    case Precision::bf16:
      return 2;
    case Precision::int8:
    case Precision::fp8:
      return 1;
  }
  return 4;
}

Result<double> peak_per_sm(const Device& device, Precision precision) {
  double peak = 0;
  std::string_view word;
  switch (precision) {
    case Precision::fp32:
      peak = device.fp32_per_sm, word = "fp32";
      break;
    case Precision::tf32:
      peak = device.tf32_per_sm, word = "tf32";
      break;
    case Precision::fp16:
      peak = device.fp16_per_sm, word = "fp16";
      break;
    case Precision::bf16:
      peak = device.fp16_per_sm, word = "bf16";
      break;
    case Precision::int8:
      peak = device.int8_per_sm, word = "int8";
      break;
    case Precision::fp8:
      peak = device.fp8_per_sm, word = "fp8";
      break;
  }
  if (peak > 0) return peak;
  return fail(ErrorCode::invalid,
              fmt::format("board {}: no peak rate is known for {}; choose another precision", device.board, word));
}

Result<StepPlan> compile(const Constants& constants, const Host& host, const Workload& workload,
                         const Settings& settings, const Device& device) {
  Compiler compiler(constants, host, settings, device);
  TRY_VOID(compiler.prepare(workload));
  StepPlan plan;
  plan.kernels.reserve(workload.operations.size() * (settings.mode == Mode::training ? 3 : 1) + 16);
  for (const Operation& op : workload.operations) compiler.forward(op, plan.kernels);
  if (settings.mode == Mode::training) {
    for (std::size_t i = workload.operations.size(); i-- > 0;) {
      compiler.backward(workload.operations[i], i == 0, plan.kernels);
    }
    compiler.optimizer(workload, plan.kernels);
  }
  plan.graph = settings.framework == Framework::graph;
  plan.serial = settings.framework == Framework::eager_serial;
  plan.floor_s = (plan.graph ? constants[Key::graph_floor_us] : constants[Key::floor_us]) * 1e-6;
  if (settings.copy_inside_step) plan.input_bytes = workload.input_bytes_per_sample;
  plan.copy_bytes_per_s = constants[Key::copy_gb_per_s] * 1e9;
  auto small = [](Precision p) { return bytes_per_element(p) < 4; };
  plan.small_precision = small(settings.convolution) || small(settings.matmul);
  plan.bandwidth_efficiency = constants[Key::bandwidth_efficiency];
  plan.whole_bandwidth = constants[Key::whole_bandwidth];
  plan.bandwidth_per_sm = constants[Key::bandwidth_per_sm] * 1e9;
  plan.processes = settings.processes;
  return plan;
}

StepTime evaluate(const StepPlan& plan, const Device& device, double batch, const Factors& factors) {
  double sm_s = batch * factors.device / device.multiprocessors;
  double offered = device.bandwidth * plan.bandwidth_efficiency * (device.whole_memory ? plan.whole_bandwidth : 1);
  double asked = device.multiprocessors * plan.bandwidth_per_sm * device.clock;
  double byte_s = factors.bandwidth * std::pow(std::pow(offered, -4) + std::pow(asked, -4), 0.25);
  // `path` is what the step's end waits for: where the device waits for a launch, all before it was launches.
  Parts path, all;
  double launched = 0;
  for (const Kernel& kernel : plan.kernels) {
    double c = kernel.compute * sm_s * (1 + kernel.half_k_over_k + kernel.half_k_over_m / batch) +
               kernel.tail_s * factors.device;
    double m = (kernel.bytes * batch + kernel.fixed_bytes) * byte_s;
    double c3 = c * c * c, both3 = c3 + m * m * m;
    double both = std::cbrt(both3);
    double compute = both3 > 0 ? both * c3 / both3 : 0;
    double launch = kernel.launch_s * factors.host;
    launched += launch;
    if (plan.serial) {
      path.host += launch;
    } else if (launched > path.sum()) {
      path = {.host = launched, .compute = 0, .bandwidth = 0};
    }
    path.add(plan.floor_s, compute, both - compute);
    all.add(plan.floor_s, compute, both - compute);
  }
  if (plan.small_precision && all.work() > 0) {
    double active = device.active_share * std::min(1.0, all.sum() / path.sum());
    double slower = 1 / clock_share(device, active);
    path.compute *= slower;
    all.compute *= slower;
  }
  // Processes of the same workload share the device; their launches and floors overlap.
  all.compute *= plan.processes;
  all.bandwidth *= plan.processes;
  if (plan.processes > 1 && all.sum() > path.sum()) path = all;
  StepTime time;
  time.launch_s = launched;
  time.host_s = path.host;
  time.compute_s = path.compute;
  time.bandwidth_s = path.bandwidth;
  time.copy_s = batch * plan.input_bytes / plan.copy_bytes_per_s;
  time.total_s = path.sum() + time.copy_s;
  return time;
}

}  // namespace partita::predict
