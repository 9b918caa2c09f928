// The emulate verbs, a part of the table in verbs.cpp.
#pragma once

#include "cli/command_line/verbs.h"

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
    {"--load", "PERCENT", "part of the device's SMs that it keeps busy (100)"},
    {"--pid", "PID", "hold for this running process instead of a command"},
    kLibraryOnlyOption,
    kNodeOption,
};
inline constexpr Option kFaultOptions[] = {
    {"--calls", "N", "strikes the next N calls, or always (1 for a return, an Xid or a condition; else always)"},
    {"--gpu", "INDEX", "only calls for this GPU"},
    {"--probability", "P", "strikes each call with this chance, 0 to 1"},
    {"--seed", "N", "which calls these are (0)"},
    {"--delay", "TIME", "the call takes so long: 5ms, or 10ms..80ms for times drawn in between"},
    {"--xid", "N", "raises this Xid on the call's GPU"},
    {"--condition", "NAME", "what the call's GPU is from then on", "", Completes::words,
     "lost off-bus reset-required good"},
    {"--measured-times", "FACTOR",
     "without FUNCTION: making and destroying GPU instances takes what was measured on hardware, times FACTOR"},
    {"--busy-after-exit", "TIME", "without FUNCTION: an instance stays in use for so long after its process ended"},
    {"--list", "", "the faults that are set"},
    {"--clear", "", "no more faults"},
    {"--catalogue", "", "all that can go wrong, as a table in Markdown"},
    kNodeOption,
};
inline constexpr Option kLoseOptions[] = {
    {"--how", "NAME", "lost, off-bus (a reboot does not help) or reset-required (lost)", "", Completes::words,
     "lost off-bus reset-required"},
    {"--back", "", "the GPU is there again"}};
inline constexpr Option kRebootOptions[] = {
    {"--driver-only", "", "load the driver's modules anew, and let the machine run on"}};
inline constexpr Positional kXidPositionals[] = {{"DEVICE", "a GPU or MIG device: 4, 4:0, a UUID or PCI bus id", true},
                                                 {"XID", "its number: 63", true}};
inline constexpr Option kXidOptions[] = {kNodeOption};
inline constexpr Positional kAdvancePositionals[] = {
    {"DURATION", "how far: 90s, 10m", true},
    {"NODE", "the emulated node; may be left out when there is one only", false, Completes::running_node}};

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
    {"partita emulate fault '*' --delay 10ms..80ms", "every call is slow"},
    {"partita emulate fault nvmlDeviceGetUtilizationRates UNKNOWN --probability 0.1 --seed 7", "one call in ten fails"},
    {"partita emulate fault --measured-times 1", "instances take as long as on hardware"},
    {"partita emulate fault --busy-after-exit 3s", "a device is in use for a while after its process ended"},
    {"partita emulate fault --clear", "stop failing"},
};
inline constexpr Example kResetExamples[] = {
    {"partita emulate reset lab --gpu 0", "as nvidia-smi --gpu-reset -i 0"},
};
inline constexpr Example kLoseExamples[] = {
    {"partita emulate lose lab 3", "GPU 3 is lost"},
    {"partita emulate lose lab 3 --back", "and is back"},
    {"partita emulate lose lab 3 --how reset-required", "it can be read, and used only after a reset"},
};
inline constexpr Example kXidExamples[] = {{"partita emulate xid 0 63", "GPU 0 reports a row remap"}};
inline constexpr Example kAdvanceExamples[] = {
    {"partita emulate advance 10m", "what was busy is warm, what was idle is cool"}};

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
    "Instances and holders are gone afterwards; MIG mode stays where the boards keep it (Ampere). With --driver-only "
    "the "
    "driver's modules are loaded anew and the boot id stays, which is refused while a process holds a GPU.",
    kNodePositionals,
    kRebootOptions,
    {}};
inline constexpr Verb kEmulateReset = {"emulate reset",
                                       "reset GPUs of an emulated node",
                                       "A pending MIG mode takes effect, the instances are gone. Refused while "
                                       "something runs on the GPU, and where the driver "
                                       "demands other GPUs together with it.",
                                       kNodePositionals,
                                       kResetOptions,
                                       kResetExamples};
inline constexpr Verb kEmulateCoverage = {
    "emulate coverage",
    "which functions of NVML the emulated library answers",
    "Lists every function of NVML's interface and whether it is implemented or answers NOT_SUPPORTED, and the sums.",
    {},
    {},
    {}};
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
inline constexpr Verb kEmulateFault = {"emulate fault",
                                       "make NVML calls fail, slow, or break their GPU",
                                       "Calls of FUNCTION return RETURN, take longer, raise an Xid or break their GPU; "
                                       "without FUNCTION, all calls. Faults are kept over reboots, until they are used "
                                       "up or taken back. A node file sets them from the start, under faults.",
                                       kFaultPositionals,
                                       kFaultOptions,
                                       kFaultExamples};
inline constexpr Verb kEmulateLose = {"emulate lose",
                                      "lose a GPU, or bring it back",
                                      "A lost GPU answers GPU_IS_LOST to every call, and Xid 79 is raised. It is back "
                                      "after a reboot, unless it fell off the bus.",
                                      kLosePositionals,
                                      kLoseOptions,
                                      kLoseExamples};

inline constexpr Verb kEmulateXid = {
    "emulate xid",
    "raise an Xid",
    "Clients that registered for Xid events get one, as if the kernel had reported it.",
    kXidPositionals,
    kXidOptions,
    kXidExamples};
inline constexpr Verb kEmulateAdvance = {"emulate advance",
                                         "let time pass on a node",
                                         "The node's clock goes on at once. Load, energy and temperature, times of "
                                         "events, and instances that stay in use for a while are as of then.",
                                         kAdvancePositionals,
                                         {},
                                         kAdvanceExamples};

}  // namespace partita::cli
