#include "emulator/control/fault_catalogue.h"

#include <fmt/format.h>

namespace partita::emulator {

namespace {

constexpr CatalogueRow kRows[] = {
    {"the next N calls of a function fail", "fault nvmlDeviceCreateGpuInstanceWithPlacement IN_USE --calls 2 --gpu 0",
     "{function: nvmlDeviceCreateGpuInstanceWithPlacement, return: IN_USE, calls: 2, gpu: 0}",
     "that NVML return, any of them; the call does nothing"},
    {"some calls fail", "fault nvmlDeviceGetUtilizationRates UNKNOWN --probability 0.1 --seed 7",
     "{function: nvmlDeviceGetUtilizationRates, return: UNKNOWN, probability: 0.1, seed: 7}",
     "the same calls fail in each run with the same seed"},
    {"calls are slow", "fault '*' --delay 10ms..80ms", "{delay: 10ms..80ms}",
     "each call takes a time drawn between the two; one time alone is fixed"},
    {"instances take as long as on hardware", "fault --measured-times 1", "{measured_times: 1}",
     "0.10 to 0.42 s to make or destroy a GPU instance, by board and size (data/measured/mig_reconfig_times.csv); 2 "
     "doubles it"},
    {"an instance stays in use after its process ended", "fault --busy-after-exit 3s", "{busy_after_exit: 3s}",
     "destroying answers IN_USE until 3 s after the end was noticed"},
    {"an Xid", "xid 0 63", "{gpu: 0, xid: 63}", "the event, for those who registered for Xids"},
    {"an Xid in the middle of a call", "fault nvmlDeviceGetMemoryInfo_v2 --xid 31 --gpu 0",
     "{function: nvmlDeviceGetMemoryInfo_v2, gpu: 0, xid: 31}", "the call works, and the event comes"},
    {"a GPU is lost", "lose lab 3", "{gpu: 3, condition: lost}",
     "GPU_IS_LOST from every call about it, Xid 79; a reboot brings it back"},
    {"a GPU falls off the bus", "lose lab 3 --how off-bus", "{gpu: 3, condition: off-bus}",
     "the same, and a reboot does not help; lose lab 3 --back does"},
    {"a GPU needs a reset", "lose lab 3 --how reset-required", "{gpu: 3, condition: reset-required}",
     "readings work; RESET_REQUIRED from what changes or uses it, until reset or reboot"},
    {"a GPU is lost in the middle of a change", "fault nvmlGpuInstanceCreateComputeInstance --condition lost --gpu 3",
     "{function: nvmlGpuInstanceCreateComputeInstance, gpu: 3, condition: lost}",
     "GPU_IS_LOST from this call on; what was made before is gone after the reboot"},
    {"a process holds a device", "hold 4:0 --memory 2GiB --load 60 -- sleep 600", "",
     "load, memory, power and heat; IN_USE for who destroys it"},
    {"the machine reboots", "reboot lab", "", "instances gone, boot id new; MIG mode kept on Ampere only"},
    {"the driver is loaded anew", "reboot lab --driver-only", "",
     "the same without a new boot id; refused while a GPU is held"},
};

}  // namespace

std::span<const CatalogueRow> fault_catalogue() { return kRows; }

std::string fault_catalogue_text() {
  std::string text = "| what happens | `partita emulate ...` | in a node file, under `faults` | what a client sees |\n";
  text += "|---|---|---|---|\n";
  for (const CatalogueRow& row : kRows) {
    const std::string entry = row.node_file.empty() ? "" : fmt::format("`{}`", row.node_file);
    text += fmt::format("| {} | `{}` | {} | {} |\n", row.fault, row.command, entry, row.sees);
  }
  return text;
}

}  // namespace partita::emulator
