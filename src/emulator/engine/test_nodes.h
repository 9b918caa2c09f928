// Nodes for tests and benchmarks, written out by hand from the hardware facts (sections 2-4): they share no data with
// the catalog, so that the emulator's rules are tested on their own.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "emulator/engine/spec.h"

namespace partita::emulator::test {

inline ComputeProfileSpec compute(int nvml, int slices, int sm, int most, std::vector<int> starts, std::string name) {
  return {nvml, slices, sm, most, slices, std::move(starts), std::move(name)};
}

struct Row {
  const char* name;
  int id, nvml, most, slices, memory_slices;
  std::uint64_t mib;
  int sm, size;
  std::vector<int> starts, order;
};

inline ProfileSpec profile(Row row) {
  ProfileSpec p;
  p.name = row.name, p.id = row.id, p.nvml_profile = row.nvml, p.max_instances = row.most;
  p.compute_slices = row.slices, p.memory_slices = row.memory_slices, p.memory_mib = row.mib, p.sm = row.sm;
  p.size = row.size, p.starts = std::move(row.starts), p.driver_order = std::move(row.order);
  p.copy = row.slices;
  p.me = p.name.ends_with("+me");
  p.me_all = p.name.ends_with("+me.all");
  p.no_me = p.name.ends_with("-me");
  p.gfx = p.name.find("+gfx") != std::string::npos;
  return p;
}

inline GpuSpec gpu(int index, std::string product, int units, int slices, int memory_slices, std::uint64_t mib) {
  GpuSpec g;
  const std::string digit = std::to_string(index % 10);
  g.product = std::move(product);
  g.uuid = "GPU-0000000" + digit + "-1111-2222-3333-44444444444" + digit;
  g.pdi = 0x1122334455667700u + static_cast<unsigned>(index);
  g.chip_id = 0x170;
  g.serial = "16500000000" + std::to_string(10 + index);
  const char* hex = "0123456789ABCDEF";
  g.pci_bus_id = std::string("00000000:") + hex[(index + 1) / 16] + hex[(index + 1) % 16] + ":00.0";
  g.pci_device_id = 0x20b010de;
  g.minor = index;
  g.memory_mib = mib;
  g.bar1_mib = 65536;
  g.units = units, g.compute_slices = slices, g.memory_slices = memory_slices;
  return g;
}

// Seven-slice board: A100-SXM4-40GB. With `resetless`, the mode changes at once as on Hopper.
inline GpuSpec a100(int index, bool mirrored = false, bool resetless = true) {
  GpuSpec g = gpu(index, "NVIDIA A100-SXM4-40GB", 8, 7, 8, 40960);
  g.sm = 108, g.compute_capability_major = 8, g.architecture = "ampere";
  g.mirrored = mirrored;
  g.mode_change_needs_reset = !resetless;
  g.mode_survives_reboot = !resetless;
  const std::vector<int> eighths{0, 1, 2, 3, 4, 5, 6}, eighths_order{6, 4, 5, 0, 1, 2, 3};
  g.profiles = {
      profile({"1g.5gb", 19, 0, 7, 1, 1, 4864, 14, 1, eighths, eighths_order}),
      profile({"1g.5gb+me", 20, 7, 1, 1, 1, 4864, 14, 1, eighths, eighths_order}),
      profile({"1g.10gb", 15, 9, 4, 1, 2, 9984, 14, 2, {0, 2, 4, 6}, {4, 0, 2, 6}}),
      profile({"2g.10gb", 14, 1, 3, 2, 2, 9984, 28, 2, {0, 2, 4}, {4, 0, 2}}),
      profile({"3g.20gb", 9, 2, 2, 3, 4, 20096, 42, 4, {0, 4}, {4, 0}}),
      profile({"4g.20gb", 5, 3, 1, 4, 4, 20096, 56, 4, {0}, {0}}),
      profile({"7g.40gb", 0, 4, 1, 7, 8, 40320, 98, 8, {0}, {0}}),
  };
  g.profiles[0].compute = {compute(0, 1, 14, 1, {0}, "1g.5gb")};
  g.profiles[1].compute = {compute(0, 1, 14, 1, {0}, "1g.5gb+me")};
  g.profiles[2].compute = {compute(0, 1, 14, 1, {0}, "1g.10gb")};
  g.profiles[3].compute = {compute(0, 1, 14, 2, {0, 1}, "1c.2g.10gb"), compute(1, 2, 28, 1, {0}, "2g.10gb")};
  g.profiles[4].compute = {compute(0, 1, 14, 3, {0, 1, 2}, "1c.3g.20gb"), compute(1, 2, 28, 1, {0}, "2c.3g.20gb"),
                           compute(2, 3, 42, 1, {0}, "3g.20gb")};
  g.profiles[5].compute = {compute(0, 1, 14, 4, {0, 1, 2, 3}, "1c.4g.20gb"), compute(1, 2, 28, 2, {0, 2}, "2c.4g.20gb"),
                           compute(3, 4, 56, 1, {0}, "4g.20gb")};
  g.profiles[6].compute = {compute(0, 1, 14, 7, {0, 1, 2, 3, 4, 5, 6}, "1c.7g.40gb"),
                           compute(1, 2, 28, 3, {0, 2, 4}, "2c.7g.40gb"), compute(2, 3, 42, 2, {0, 4}, "3c.7g.40gb"),
                           compute(3, 4, 56, 1, {0}, "4c.7g.40gb"), compute(4, 7, 98, 1, {0}, "7g.40gb")};
  return g;
}

inline GpuSpec a30(int index) {
  GpuSpec g = gpu(index, "NVIDIA A30", 4, 4, 4, 24576);
  g.sm = 56, g.compute_capability_major = 8, g.architecture = "ampere";
  g.profiles = {
      profile({"1g.6gb", 14, 0, 4, 1, 1, 5952, 14, 1, {0, 1, 2, 3}, {0, 1, 2, 3}}),
      profile({"1g.6gb+me", 21, 7, 1, 1, 1, 5952, 14, 1, {0, 1, 2, 3}, {0, 1, 2, 3}}),
      profile({"2g.12gb", 5, 1, 2, 2, 2, 11968, 28, 2, {0, 2}, {0, 2}}),
      profile({"2g.12gb+me", 6, 8, 1, 2, 2, 11968, 28, 2, {0, 2}, {0, 2}}),
      profile({"4g.24gb", 0, 3, 1, 4, 4, 24000, 56, 4, {0}, {0}}),
  };
  for (ProfileSpec& p : g.profiles) {
    const int nvml = p.compute_slices == 1 ? 0 : p.compute_slices == 2 ? 1 : 3;
    p.compute = {compute(nvml, p.compute_slices, p.sm, 1, {0}, p.name)};
  }
  return g;
}

inline GpuSpec rtx_pro_6000(int index) {
  GpuSpec g = gpu(index, "NVIDIA RTX PRO 6000 Blackwell Server Edition", 12, 4, 4, 97887);
  g.sm = 188, g.compute_capability_major = 12, g.architecture = "blackwell";
  const std::vector<int> quarters{0, 3, 6, 9}, halves{0, 6};
  g.profiles = {
      profile({"1g.24gb", 14, 0, 4, 1, 1, 24192, 46, 3, quarters, quarters}),
      profile({"1g.24gb+me", 21, 7, 1, 1, 1, 24192, 46, 3, quarters, quarters}),
      profile({"1g.24gb+me.all", 65, 15, 1, 1, 1, 24192, 46, 3, quarters, quarters}),
      profile({"1g.24gb-me", 67, 13, 4, 1, 1, 24192, 46, 3, quarters, quarters}),
      profile({"2g.48gb", 5, 1, 2, 2, 2, 48512, 94, 6, halves, halves}),
      profile({"2g.48gb-me", 66, 14, 2, 2, 2, 48512, 94, 6, halves, halves}),
      profile({"4g.96gb", 0, 3, 1, 4, 4, 97024, 188, 12, {0}, {0}}),
  };
  for (ProfileSpec& p : g.profiles) {
    const int nvml = p.compute_slices == 1 ? 0 : p.compute_slices == 2 ? 1 : 3;
    p.compute = {compute(nvml, p.compute_slices, p.sm, 1, {0}, p.name)};
  }
  return g;
}

// A GPU without MIG.
inline GpuSpec gb10(int index) {
  GpuSpec g = gpu(index, "NVIDIA GB10", 0, 0, 0, 0);
  g.sm = 48, g.compute_capability_major = 12, g.compute_capability_minor = 1, g.architecture = "blackwell";
  return g;
}

inline NodeSpec node(std::vector<GpuSpec> gpus, bool files = false) {
  NodeSpec n;
  n.name = n.type = "test";
  n.driver_version = "550.90.07";
  n.cuda_version = "12.4";
  n.files = files;
  n.gpus = std::move(gpus);
  return n;
}

inline NodeSpec with_mig_on(NodeSpec node) {
  for (GpuSpec& g : node.gpus) g.mig_enabled = g.units > 0;
  return node;
}

}  // namespace partita::emulator::test
