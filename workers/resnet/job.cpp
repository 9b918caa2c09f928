#include "resnet/job.h"

#include <ATen/autocast_mode.h>
#include <sys/resource.h>
#include <torch/torch.h>

#include <cstdlib>
#include <fstream>
#include <new>

#include "resnet/network.h"

namespace partita::resnet {
namespace {

using Kind = Trouble::Kind;

std::string first_line_of(const std::string& text) { return text.substr(0, text.find('\n')); }

bool out_of_memory(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  return dynamic_cast<const c10::OutOfMemoryError*>(&error) || text.find("out of memory") != text.npos ||
         text.find("can't allocate memory") != text.npos;
}

// What libtorch throws, as trouble.
template <class Action>
std::optional<Trouble> guarded(const Action& action) {
  try {
    return action();
  } catch (const c10::Error& error) {
    if (out_of_memory(error)) return Trouble{Kind::out_of_memory, "out of memory"};
    return Trouble{Kind::device, "libtorch: " + first_line_of(error.what_without_backtrace())};
  } catch (const std::bad_alloc&) {
    return Trouble{Kind::out_of_memory, "out of memory"};
  } catch (const std::exception& error) {
    return Trouble{Kind::device, "libtorch: " + first_line_of(error.what())};
  }
}

// What this process may allocate from now on: its data segment, to which private mappings count.
std::optional<Trouble> limit_memory(double gib) {
  std::ifstream status("/proc/self/status");
  std::optional<double> used_kib;
  for (std::string word; status >> word;) {
    double kib = 0;
    if (word == "VmData:" && status >> kib) used_kib = kib;
  }
  const auto most = static_cast<rlim_t>((used_kib.value_or(0) + gib * 1024 * 1024) * 1024);
  const rlimit limit{most, most};
  if (used_kib && setrlimit(RLIMIT_DATA, &limit) == 0) return std::nullopt;
  return Trouble{Kind::device, "--memory-gib: the limit cannot be set"};
}

void set_precision(Precision precision, bool on_gpu) {
  at::globalContext().setAllowTF32CuDNN(precision == Precision::tf32);
  at::globalContext().setAllowTF32CuBLAS(precision == Precision::tf32);
  at::globalContext().setBenchmarkCuDNN(true);
  if (precision != Precision::bf16 && precision != Precision::fp16) return;
  const auto type = precision == Precision::bf16 ? at::kBFloat16 : at::kHalf;
  if (on_gpu) {
    at::autocast::set_autocast_gpu_dtype(type);
    at::autocast::set_enabled(true);
  } else {
    at::autocast::set_autocast_cpu_dtype(type);
    at::autocast::set_cpu_enabled(true);
  }
}

class TorchJob final : public Job {
 public:
  TorchJob(const JobOptions& options, torch::Device device) : options_(options), device_(device) {}

  std::string device() const override {
    if (device_.is_cpu()) {
      const int threads = torch::get_num_threads();
      return "CPU, " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
    }
    const char* which = std::getenv("CUDA_VISIBLE_DEVICES");
    return which ? std::string("CUDA, ") + which : "CUDA";
  }

  std::optional<Trouble> load() override {
    return guarded([&]() -> std::optional<Trouble> {
      if (options_.memory_gib)
        if (auto trouble = limit_memory(*options_.memory_gib)) return trouble;
      torch::manual_seed(1);
      const Shape shape = shape_of(options_.model);
      network_ = Network(shape);
      network_->to(device_);
      network_->train(training());
      pictures_ = torch::randn({options_.batch, 3, shape.picture, shape.picture}, torch::device(device_));
      labels_ = torch::randint(shape.classes, {options_.batch}, torch::device(device_).dtype(torch::kLong));
      if (training())
        optimizer_ =
            std::make_unique<torch::optim::SGD>(network_->parameters(), torch::optim::SGDOptions(0.01).momentum(0.9));
      return std::nullopt;
    });
  }

  std::optional<Trouble> step() override {
    return guarded([&]() -> std::optional<Trouble> {
      training() ? train() : infer();
      at::autocast::clear_cache();
      if (device_.is_cuda()) torch::cuda::synchronize();
      return std::nullopt;
    });
  }

 private:
  bool training() const { return options_.mode == Mode::training; }

  void infer() {
    const torch::NoGradGuard no_gradients;
    network_->forward(pictures_);
  }

  void train() {
    optimizer_->zero_grad();
    auto loss = torch::nn::functional::cross_entropy(network_->forward(pictures_).to(torch::kFloat), labels_);
    loss.backward();
    optimizer_->step();
  }

  const JobOptions& options_;
  torch::Device device_;
  Network network_{nullptr};
  torch::Tensor pictures_, labels_;
  std::unique_ptr<torch::optim::SGD> optimizer_;
};

std::optional<Trouble> check(const JobOptions& options, bool on_gpu) {
  if (options.device == Device::cuda && !on_gpu)
    return Trouble{Kind::wrong_options, "--device cuda: this libtorch finds no GPU that it can use"};
  if (!on_gpu && (options.precision == Precision::tf32 || options.precision == Precision::fp16))
    return Trouble{Kind::wrong_options, "--precision: on the CPU there is fp32 and bf16"};
  if (on_gpu && options.memory_gib)
    return Trouble{Kind::wrong_options, "--memory-gib limits what runs on the CPU; on a GPU the partition does"};
  return std::nullopt;
}

}  // namespace

std::variant<std::unique_ptr<Job>, Trouble> open_job(const JobOptions& options) {
  std::unique_ptr<Job> job;
  const auto trouble = guarded([&]() -> std::optional<Trouble> {
    const bool on_gpu = options.device != Device::cpu && torch::cuda::is_available();
    if (auto wrong = check(options, on_gpu)) return wrong;
    if (options.threads) torch::set_num_threads(*options.threads);
    set_precision(options.precision, on_gpu);
    job = std::make_unique<TorchJob>(options, on_gpu ? torch::Device(torch::kCUDA, 0) : torch::Device(torch::kCPU));
    return std::nullopt;
  });
  if (trouble) return *trouble;
  return job;
}

}  // namespace partita::resnet
