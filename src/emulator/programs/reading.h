// All that is known of a GPU, as a tree that every output is drawn from: XML, text, comma separated values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "emulator/programs/gpus.h"

namespace partita::emulator::programs {

struct Field {
  std::string tag;    // in XML: "fb_memory_usage"
  std::string label;  // in text: "FB Memory Usage"
  std::string text;   // "40960 MiB", "N/A"; of a leaf
  std::vector<Field> parts;
};

Field leaf(std::string tag, std::string label, std::string text);
Field branch(std::string tag, std::string label, std::vector<Field> parts);

// "fb_memory_usage/total" below `field`; "N/A" where it is not.
std::string text_at(const Field& field, std::string_view path);

// The tree of one GPU: a branch "gpu" labelled with its bus id.
Field read_gpu(const Gpu& gpu);

// Its parts, by subject.
Field read_mig_devices(const Gpu& gpu, bool enabled);
Field read_pci(const Gpu& gpu);
Field read_processes(const Gpu& gpu);
std::vector<Field> read_meters(const Gpu& gpu);  // memory, utilisation, ECC, temperature, power, clocks

// A process on a GPU or on one of its MIG devices.
struct Process {
  unsigned pid = 0;
  std::uint64_t memory_bytes = 0;
  std::optional<unsigned> gpu_instance, compute_instance;
  std::string name;
};
std::vector<Process> processes_of(const Gpu& gpu);

// "MIG 1c.3g.20gb" without "MIG ".
std::string mig_device_name(const MigDevice& device);

std::string mib(std::uint64_t bytes);
std::string number(std::optional<unsigned> value);
std::string enabled_or_not(std::optional<unsigned> state);
template <class Number>
std::string with_unit(std::optional<Number> number, std::string_view unit) {
  return number ? std::to_string(*number) + " " + std::string(unit) : "N/A";
}

}  // namespace partita::emulator::programs
