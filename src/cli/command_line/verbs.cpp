#include "cli/command_line/verbs.h"

#include "cli/command_line/verbs_emulate.h"
#include "cli/command_line/verbs_lease.h"
#include "cli/command_line/verbs_policy.h"
#include "cli/command_line/verbs_predict.h"

namespace partita::cli {
namespace {

constexpr Option kGlobalOptions[] = {
    {"--emulate", "NODE", "work on the emulated node NODE (a name, NAME=TYPE or a node file), started if it is absent",
     "", Completes::node},
    {"--server", "URL",
     "ask this node's daemon instead: https://node7:8443 with the token in PARTITA_TOKEN, or a socket",
     "PARTITA_SERVER"},
    {"-o,--output,--output-format", "FORMAT", "what is printed: table (for people), json or yaml", "", Completes::words,
     "table json yaml"},
    {"--data", "DIR", "read DIR/boards/*.yaml before the built-in boards", "", Completes::folder},
    {"--no-color", "", "no colour, also on a terminal (so does the variable NO_COLOR)"},
    {"-d,--debug", "", "tell each step on standard error", "MIG_PARTED_DEBUG"},
    {"-h,--help", "", "show the help of the command or of the verb"},
    {"--version", "", "print the version"},
};

constexpr Example kGlobalExamples[] = {
    {"partita --emulate dgx-a100 status", "draw an emulated DGX A100: no GPU is needed"},
    {"partita plan -f layouts.yaml -c all-balanced", "show what apply would do; nothing changes"},
    {"partita apply -f layouts.yaml -c all-balanced", "do it; what is in use is never touched"},
    {"partita boards a100-sxm4-40gb", "show what a board can be cut into"},
    {"partita run -p 1g.5gb -- python infer.py", "run a program on a partition of its own"},
    {"partita lease 3g.20gb --name alice-train --for 2h", "have a partition for two hours"},
    {"partita predict resnet50 --board a100-sxm4-40gb", "what each partition would deliver"},
    {"partita study --all", "the reports that decide how to cut, as one page"},
};

constexpr Option kConfigFile = {"-f,--config-file", "FILE",
                                "layout file in mig-parted's format, version v1; - is standard input",
                                "MIG_PARTED_CONFIG_FILE", Completes::file};
constexpr Option kSelectedConfig = {"-c,--selected-config", "LABEL",
                                    "the label in FILE; may be left out when FILE has one label only",
                                    "MIG_PARTED_SELECTED_CONFIG"};
constexpr Option kModeOnly = {"-m,--mode-only", "", "only MIG mode: leave the instances alone",
                              "MIG_PARTED_MODE_CHANGE_ONLY"};
constexpr Option kSkipReset = {"-s,--skip-reset", "", "leave a needed GPU reset pending", "MIG_PARTED_SKIP_RESET"};
constexpr Option kHooksFile = {"-k,--hooks-file", "HOOKS",
                               "run the commands of a mig-parted hooks file around the change", "MIG_PARTED_HOOKS_FILE",
                               Completes::file};
constexpr Option kDemand = {
    "--demand", "LIST",
    "instead of a file: so many instances of each profile that nobody uses, anywhere on GPUs with MIG mode "
    "on: \"3g.20gb=2,1g.5gb=4\"; idle ones count, and others that are idle may make room"};
constexpr Option kAdopt = {"--adopt", "", "take over instances that Partita did not make"};
constexpr Option kForce = {"--force", "",
                           "administrators only: destroy instances in use too; tells first what it hits"};
constexpr Option kNoWait = {"--no-wait", "", "fail when another command works on the node, instead of waiting"};
constexpr Option kCheckpointFile = {"-f,--checkpoint-file", "FILE",
                                    "the checkpoint file; - is standard input or output", "MIG_PARTED_CHECKPOINT_FILE",
                                    Completes::file};

constexpr Option kPlanOptions[] = {
    kConfigFile,
    kSelectedConfig,
    kDemand,
    kModeOnly,
    kSkipReset,
    kHooksFile,
    kAdopt,
    kForce,
    {"--fleet", "FILE",
     "plan for this fleet, described or as status prints it with -o json, and no node; --demand is a file", "",
     Completes::file, "", true},
    {"--explain", "", "with --fleet: what binds the plan, and what one GPU less or more would change"},
    {"--output-dir", "DIR", "with --fleet: write a mig-parted file for each group of nodes there", "",
     Completes::folder},
    {"--work", "N", "with --fleet: search at most N nodes per quantity (2000); results repeat"},
    {"--confirm", "RUNS",
     "with --fleet: how often planned services are played on unseen service times and arrivals (100; 0: not at all)"},
    {"--report", "FILE", "with --fleet: write the plan as a page with drawings there: .html, .md or .json", "",
     Completes::file},
    {"--time-limit", "SECONDS", "with --fleet: stop searching then, and say so; results may differ from run to run"}};
constexpr Option kApplyOptions[] = {kConfigFile, kSelectedConfig, kDemand, kModeOnly, kSkipReset,
                                    kHooksFile,  kAdopt,          kForce,  kNoWait};
constexpr Option kAssertOptions[] = {
    kConfigFile,
    kSelectedConfig,
    kModeOnly,
    {"-a,--valid-config", "", "only check that FILE is valid and has LABEL; asks no GPU", "MIG_PARTED_VALID_CONFIG"}};
constexpr Option kExportOptions[] = {
    {"-l,--config-label", "LABEL", "the label of the exported layout (current)", "MIG_PARTED_CONFIG_LABEL"}};
constexpr Option kCheckpointOptions[] = {kCheckpointFile};
constexpr Option kRestoreOptions[] = {kCheckpointFile, kModeOnly, kSkipReset, kHooksFile, kAdopt, kForce, kNoWait};
constexpr Option kGenerateOptions[] = {
    {"--output-file", "FILE", "write to FILE instead of standard output", "MIG_PARTED_OUTPUT_FILE", Completes::file},
    {"-f,--format", "FORMAT", "the same as -o, as mig-parted spells it here", "", Completes::words, "json yaml"}};
constexpr Option kStatusOptions[] = {
    {"--gpu", "GPU", "only this GPU, by index, UUID or PCI bus id, in detail; may be repeated", "", Completes::nothing,
     "", true},
    {"-v,--verbose", "", "every GPU in detail"},
};

constexpr Positional kBoardPositional[] = {
    {"BOARD", "a board's id, or its beginning", false, Completes::board},
};
constexpr Positional kShellPositional[] = {
    {"SHELL", "bash, zsh or fish", true, Completes::words, "bash zsh fish"},
};
constexpr Option kManOptions[] = {{"--markdown", "", "the same text as Markdown (docs/cli.md)"}};

constexpr Example kBoardsExamples[] = {
    {"partita boards", "all boards"},
    {"partita boards h100-sxm5-80gb", "profiles, placements drawn to scale, compute instances, vGPU types"},
    {"partita boards a100-sxm4-40gb -o json", "the same for programs"},
};
constexpr Example kStatusExamples[] = {
    {"partita status", "the GPUs of this machine"},
    {"partita --emulate dgx-a100 status --gpu 3", "one GPU in detail: ids, UUIDs, memory, processes"},
};
constexpr Example kPlanExamples[] = {
    {"partita plan -f layouts.yaml -c all-balanced", "before and after, step by step"},
    {"partita plan --demand \"3g.20gb=2,1g.5gb=4\"", "where six instances that nobody uses would be"},
    {"partita plan --fleet fleet.yaml --demand demand.yaml --explain", "the fewest GPUs of a fleet that hold a demand"},
};
constexpr Example kApplyExamples[] = {
    {"partita apply -f layouts.yaml -c all-balanced", "make it so"},
    {"partita apply --demand 2g.10gb=1", "have a 2g.10gb that nobody uses, wherever it fits best"},
    {"partita apply -f layouts.yaml -c off -k hooks.yaml", "stop monitors around the change, as mig-parted does"},
};
constexpr Example kAssertExamples[] = {
    {"partita assert -f layouts.yaml -c all-balanced", "exit 0 when the node is so, else 1 and the differences"},
    {"partita assert -f layouts.yaml -c all-balanced --valid-config", "check the file only"},
};
constexpr Example kExportExamples[] = {
    {"partita export -l tuesday > layouts.yaml", "the layout of today as a file for apply"},
};
constexpr Example kCheckpointExamples[] = {
    {"partita checkpoint -f node.json", "before maintenance"},
};
constexpr Example kRestoreExamples[] = {
    {"partita restore -f node.json", "after maintenance"},
};
constexpr Example kGenerateExamples[] = {
    {"partita generate-config > layouts.yaml", "a file to start from"},
};
constexpr Example kDoctorExamples[] = {
    {"partita doctor", "what is wrong and how to mend it"},
};
constexpr Example kCompletionExamples[] = {
    {"partita completion bash > /etc/bash_completion.d/partita", "for all users, bash"},
    {"partita completion zsh > \"${fpath[1]}/_partita\"", "zsh"},
    {"partita completion fish > ~/.config/fish/completions/partita.fish", "fish"},
};
constexpr Example kManExamples[] = {
    {"partita man | man -l -", "read the manual"},
};

constexpr Verb kVerbs[] = {
    {"boards",
     "what can be cut: boards, profiles, placements",
     "Without BOARD, lists all boards that Partita knows. With the id of one, shows its GPU instance profiles with "
     "their "
     "placements drawn to scale, the compute instances inside, and the vGPU types. The beginning of an id that several "
     "boards share lists these.\n\n"
     "A ? stands for a value that nobody has published, ~ for an estimate.",
     kBoardPositional,
     {},
     kBoardsExamples},
    {"status",
     "the GPUs and how they are cut, drawn to scale",
     "Draws the memory slices of each GPU to scale, with the profile, the id and the holder of each instance. A node "
     "of "
     "one or two GPUs is shown in detail, as is every GPU named with --gpu.",
     {},
     kStatusOptions,
     kStatusExamples},
    {"plan",
     "the change that apply would make; changes nothing",
     "Reads a label of a mig-parted file, or a demand, and shows for each GPU that would change what it is before and "
     "after, the steps in between, and what stays because it is in use. Fewest instances are destroyed, then fewest "
     "GPUs "
     "touched. A request that cannot be met says what is in the way and the cheapest change that would help.\n\nWith "
     "--fleet, plans for many nodes at once, from files alone (docs/fleets.md): the least cost, GPUs touched or "
     "instances "
     "destroyed, with a proof.",
     {},
     kPlanOptions,
     kPlanExamples},
    {"apply",
     "bring the node to a layout, disturbing nobody",
     "Does what plan shows. All or nothing: the intent is written down first, so after a failure or a kill the node is "
     "in "
     "the old or the new layout, never between. Instances that are busy, leased or not made by Partita stay; GPUs that "
     "are "
     "right already are not touched.",
     {},
     kApplyOptions,
     kApplyExamples},
    {"assert",
     "check that the node is in a layout",
     "Exits with 0 when every GPU of the node is as LABEL says, else with 1 and a list of differences. Placements do "
     "not "
     "matter, numbers per profile do.",
     {},
     kAssertOptions,
     kAssertExamples},
    {"export",
     "the present layout as a mig-parted file",
     "Prints the node as a layout file with one label: YAML, or JSON with -o json.",
     {},
     kExportOptions,
     kExportExamples},
    {"checkpoint",
     "save the exact state to a file",
     "Saves MIG mode, GPU instances with their placements, and compute instances, per GPU. restore brings them back.",
     {},
     kCheckpointOptions,
     kCheckpointExamples},
    {"restore",
     "bring the exact state of a checkpoint back",
     "Like apply, with the target of a file that checkpoint wrote: the same profiles at the same placements.",
     {},
     kRestoreOptions,
     kRestoreExamples},
    {"generate-config",
     "a layout file for the GPUs found",
     "Writes a mig-parted file with all-disabled, all-enabled, all-balanced and one label per profile of the node's "
     "boards.",
     {},
     kGenerateOptions,
     kGenerateExamples},
    kLease,
    kLeases,
    kRelease,
    kRenew,
    kResize,
    kPark,
    kUnpark,
    kRun,
    kServe,
    kToken,
    kTokenCreate,
    kTokenList,
    kTokenRevoke,
    kEmulate,
    kEmulateStart,
    kEmulateStop,
    kEmulateList,
    kEmulateTypes,
    kEmulateCoverage,
    kEmulateReboot,
    kEmulateReset,
    kEmulateHold,
    kEmulateFault,
    kEmulateLose,
    kEmulateXid,
    kEmulateAdvance,
    kPredict,
    kPredictFit,
    kPredictValidate,
    kStudy,
    kDefrag,
    kPolicyVerb,
    kPolicySimulate,
    kPolicyTune,
    {"doctor",
     "driver, permissions, mode: what is wrong and how to mend it",
     "Checks the driver, the permissions, the capability files, MIG mode and unfinished changes. Exits with 1 when it "
     "finds a problem.",
     {},
     {},
     kDoctorExamples},
    {"completion",
     "completion for a shell",
     "Prints the completion script for bash, zsh or fish.",
     kShellPositional,
     {},
     kCompletionExamples},
    {"man", "the manual page", "Prints the manual as a man page.", {}, kManOptions, kManExamples},
};

constexpr ExitStatus kExitStatuses[] = {
    {0, "", "done; assert: the node is as asked"},
    {1, "differs", "assert: the node is not in the asked state; doctor: a problem was found"},
    {2, "invalid, not_found", "bad input, or no such board, GPU, profile, lease, label, node, workload or study"},
    {3, "no_space, impossible",
     "does not fit now, or on no empty GPU of that board ever; predict: no profile fits or meets the need"},
    {4, "busy", "would touch something in use"},
    {5, "denied", "not allowed for this user, or over quota"},
    {6, "driver", "the driver refused"},
    {7, "unavailable", "no driver, no daemon, or another command holds the node"},
    {70, "internal", "a fault of Partita itself"},
};

constexpr EnvironmentVariable kEnvironment[] = {
    {"NO_COLOR", "when set and not empty: no colour"},
    {"COLUMNS", "the width to draw for when the output is no terminal (80)"},
    {"LC_ALL, LC_CTYPE, LANG", "box-drawing characters are used where the locale is UTF-8, ASCII elsewhere"},
    {"PARTITA_EMULATED_ROOT",
     "folder of the emulated nodes (root: /var/lib/partita/emulated; others: "
     "$XDG_STATE_HOME/partita/emulated)"},
    {"PARTITA_EMULATED_NODE", "folder of the emulated node that the emulated library shows; set by partita"},
    {"PARTITA_TOKEN", "the token for --server, as partita token create showed it"},
    {"PARTITA_CA", "file with the certificate of the authority that signed the server's (PEM); else the system's"},
    {"XDG_STATE_HOME", "where users other than root keep Partita's state (~/.local/state)"},
    {"MIG_PARTED_*", "the options of mig-parted, as listed with each option"},
};

}  // namespace

std::span<const Verb> verbs() { return kVerbs; }
std::span<const Option> global_options() { return kGlobalOptions; }
std::span<const Example> global_examples() { return kGlobalExamples; }
std::span<const ExitStatus> exit_statuses() { return kExitStatuses; }
std::span<const EnvironmentVariable> environment_variables() { return kEnvironment; }

const Verb* find_verb(std::string_view name) {
  for (const auto& verb : kVerbs)
    if (verb.name == name) return &verb;
  return nullptr;
}

bool is_subverb(const Verb& verb) { return verb.name.find(' ') != std::string_view::npos; }

std::string_view key(const Option& option) {
  const auto start = option.names.find("--") + 2;
  return option.names.substr(start, option.names.find(',', start) - start);
}

}  // namespace partita::cli
