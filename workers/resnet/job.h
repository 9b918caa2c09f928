// A network at work, step by step. Between here and libtorch, whose headers need C++17: so this one knows no newer C++.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>

namespace partita::resnet {

enum class Model { resnet18, resnet50, tiny };
enum class Mode { inference, training };
enum class Precision { fp32, tf32, fp16, bf16 };
enum class Device { automatic, cpu, cuda };

struct JobOptions {
  Model model = Model::resnet50;
  Mode mode = Mode::inference;
  int batch = 1;
  Precision precision = Precision::fp32;
  Device device = Device::automatic;                // the GPU where libtorch can use one, else the CPU
  std::optional<int> threads = std::nullopt;        // of the CPU; without it, as many as libtorch takes
  std::optional<double> memory_gib = std::nullopt;  // on the CPU: more than that for the network is out of memory
};

struct Trouble {
  enum class Kind { wrong_options, out_of_memory, device } kind = Kind::device;
  std::string words;  // lower case, no full stop
};

class Job {
 public:
  virtual ~Job() = default;
  virtual std::string device() const = 0;     // "CPU, 2 threads", "CUDA, MIG-..."
  virtual std::optional<Trouble> load() = 0;  // once, before the first step; nullopt: done
  virtual std::optional<Trouble> step() = 0;  // a forward pass, or a step of training with SGD and momentum
};

// Random pictures and weights, always the same. The options must outlive the job.
std::variant<std::unique_ptr<Job>, Trouble> open_job(const JobOptions& options);

}  // namespace partita::resnet
