// The emulate verbs, a part of the table in verbs.cpp.
#pragma once

#include "cli/verbs.h"

namespace partita::cli {

inline constexpr Positional kNodePositional = {"NODE", "the emulated node; may be left out when there is one only",
                                               false, Completes::running_node};
inline constexpr Option kNodeOption = {"--node", "NODE", "the emulated node; may be left out when there is one only",
                                       "", Completes::running_node};

inline constexpr Positional kEmulatePositionals[] = {
    {"NODE", "a name, NAME=TYPE or a node file; started if it is absent", false, Completes::node}};
inline constexpr Positional kStartPositionals[] = {
    {"NODE", "a type (dgx-a100), NAME=TYPE (lab=dgx-a100) or a node file", true, Completes::node_type}};
inline constexpr Positional kNodePositionals[] = {kNodePositional};
inline constexpr Positional kHoldPositionals[] = {
    {"DEVICE",
     "a MIG device, as status -v shows it: 4:0, MIG-<uuid> or MIG-GPU-<uuid>/<gi>/<ci>; or a GPU with MIG off", true}};
inline constexpr Positional kFaultPositionals[] = {
    {"FUNCTION", "an NVML function, nvmlDeviceCreateGpuInstanceWithPlacement; * is any", false},
    {"RETURN", "what it returns: IN_USE, NVML_ERROR_IN_USE or 19", false}};
inline constexpr Positional kLosePositionals[] = {
    {"NODE", "the emulated node; may be left out when there is one only: lose GPU", true, Completes::running_node},
    {"GPU", "index, UUID or PCI bus id", false}};

inline constexpr Option kLibraryOnlyOption = {
    "--library-only", "", "leave /dev, /proc and /sys as they are: NVML and nvidia-smi are emulated, no files"};
inline constexpr Option kEmulateOptions[] = {kLibraryOnlyOption};
inline constexpr Option kResetOptions[] = {
    {"--gpu", "GPU", "this GPU only, by index, UUID or PCI bus id; may be repeated", "", Completes::nothing, "", true}};
inline constexpr Option kHoldOptions[] = {
    {"--memory", "SIZE", "device memory that it holds: 2GiB, 512MiB (256MiB)"},
    {"--pid", "PID", "hold for this running process instead of a command"},
    kLibraryOnlyOption,
    kNodeOption,
};
inline constexpr Option kFaultOptions[] = {
    {"--calls", "N", "the next N calls fail (1)"},
    {"--gpu", "INDEX", "only calls for this GPU"},
    {"--clear", "", "no more faults"},
    kNodeOption,
};
inline constexpr Option kLoseOptions[] = {{"--back", "", "the GPU is there again"}};

inline constexpr Example kEmulateExamples[] = {
    {"partita emulate dgx-a100 -- nvidia-smi -L", "run any NVML client on an emulated DGX A100"},
    {"partita emulate lab=dgx-h100 -- ./my-tool", "a node of its own name"},
};
inline constexpr Example kStartExamples[] = {
    {"partita emulate start lab=dgx-a100", "start a node called lab"},
    {"partita emulate start ./my-node.yaml", "a node of your own"},
};
inline constexpr Example kHoldExamples[] = {
    {"partita emulate hold 4:0 --memory 2GiB -- sleep 600", "sleep occupies MIG device 0 of GPU 4 while it runs"},
    {"partita emulate hold MIG-0a1b...", "occupy a device until Ctrl-C"},
};
inline constexpr Example kFaultExamples[] = {
    {"partita emulate fault nvmlDeviceCreateGpuInstanceWithPlacement IN_USE --calls 2", "fail the next two calls"},
    {"partita emulate fault --clear", "stop failing"},
};
inline constexpr Example kResetExamples[] = {
    {"partita emulate reset lab --gpu 0", "as nvidia-smi --gpu-reset -i 0"},
};
inline constexpr Example kLoseExamples[] = {
    {"partita emulate lose lab 3", "GPU 3 falls off the bus"},
    {"partita emulate lose lab 3 --back", "and is back"},
};

inline constexpr Verb kEmulate = {"emulate",
                                  "start, stop, break emulated nodes; run any NVML client on them",
                                  "An emulated node follows the rules of the real driver and outlives the commands "
                                  "that use it. The form with -- runs "
                                  "CMD with the emulated libnvidia-ml.so.1 first in its library path, and stand-ins "
                                  "for nvidia-smi and modprobe first in its PATH. As root CMD also sees the node's "
                                  "files, in a mount namespace of its own: /dev/nvidia*, /proc/driver/nvidia, "
                                  "/proc/devices, /proc/modules and the PCI devices under /sys. Signals, exit status "
                                  "and terminal pass through, and nothing is left when CMD ends.",
                                  kEmulatePositionals,
                                  kEmulateOptions,
                                  kEmulateExamples,
                                  TakesCommand::required};
inline constexpr Verb kEmulateStart = {
    "emulate start", "start an emulated node", "Starts a node unless it runs already.", kStartPositionals, {},
    kStartExamples};
inline constexpr Verb kEmulateStop = {"emulate stop",
                                      "stop an emulated node and forget it",
                                      "Removes the node with its state. Refused while something runs "
                                      "on it.",
                                      kNodePositionals,
                                      {},
                                      {}};
inline constexpr Verb kEmulateList = {
    "emulate list", "the emulated nodes that run", "Lists name, type, GPUs and folder.", {}, {}, {}};
inline constexpr Verb kEmulateTypes = {
    "emulate types",
    "the node types that can be started",
    "Lists the node files that Partita brings. A file of your own is given by its path.",
    {},
    {},
    {}};
inline constexpr Verb kEmulateReboot = {
    "emulate reboot",
    "reboot an emulated node",
    "Instances and holders are gone afterwards; MIG mode stays where the boards keep it (Ampere).",
    kNodePositionals,
    {},
    {}};
inline constexpr Verb kEmulateReset = {"emulate reset",
                                       "reset GPUs of an emulated node",
                                       "A pending MIG mode takes effect, the instances are gone. Refused while "
                                       "something runs on the GPU, and where the driver "
                                       "demands other GPUs together with it.",
                                       kNodePositionals,
                                       kResetOptions,
                                       kResetExamples};
inline constexpr Verb kEmulateHold = {
    "emulate hold",
    "occupy a device, so that it is in use",
    "Registers CMD (or itself, until interrupted) as a process on the device, known by pid and start time. Signals and "
    "exit "
    "status of CMD pass through. Destroying the device is refused meanwhile, as by the real driver.",
    kHoldPositionals,
    kHoldOptions,
    kHoldExamples,
    TakesCommand::optional};
inline constexpr Verb kEmulateFault = {
    "emulate fault",   "make NVML calls fail", "The next calls of FUNCTION return RETURN.",
    kFaultPositionals, kFaultOptions,          kFaultExamples};
inline constexpr Verb kEmulateLose = {"emulate lose",
                                      "lose a GPU, or bring it back",
                                      "A lost GPU answers GPU_IS_LOST to every call.",
                                      kLosePositionals,
                                      kLoseOptions,
                                      kLoseExamples};

}  // namespace partita::cli
