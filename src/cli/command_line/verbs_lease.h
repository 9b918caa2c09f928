// The verbs of leases and of the daemon, a part of the table in verbs.cpp.
#pragma once

#include "cli/command_line/verbs.h"

namespace partita::cli {

inline constexpr Option kMemory = {"--memory", "SIZE", "the smallest partition with at least so much memory: 9GiB"};
inline constexpr Option kSms = {"--sms", "N", "the smallest partition with at least so many SMs"};
inline constexpr Option kWholeGpu = {"--whole-gpu", "", "a whole GPU with MIG off"};
inline constexpr Option kWorkload = {"--workload", "NAME",
                                     "the smallest partition that is predicted to meet --throughput and --latency with "
                                     "this workload (predict --list, or a file)",
                                     "", Completes::workload};
inline constexpr Option kThroughput = {"--throughput", "X", "of the workload: so many samples per second"};
inline constexpr Option kLatency = {"--latency", "MS", "of the workload: a step takes at most so many milliseconds"};
inline constexpr Option kBatch = {"--batch", "N", "of the workload: samples in a step (1), or a range 1..64"};
inline constexpr Option kTraining = {"--training", "", "of the workload: training steps instead of inference"};
inline constexpr Option kPrecision = {
    "--precision", "P", "of the workload (tf32)", "", Completes::words, "fp32 tf32 fp16 bf16 int8 fp8"};
inline constexpr Option kCount = {"--count", "N",
                                  "so many leases, all or none; their names end in -1, -2 and so on (1)"};
inline constexpr Option kLeaseName = {"--name", "NAME",
                                      "what it is called; asking for the same again gives the same lease"};
inline constexpr Option kFor = {"--for", "TIME", "how long: 90s, 45m, 2h30m, 7d (as the policy says; else for good)"};
inline constexpr Option kExclusive = {"--exclusive-gpu", "", "no other lease on that GPU"};
inline constexpr Option kSameGpu = {"--same-gpu-as", "NAME", "on the GPU of this lease"};
inline constexpr Option kGpu = {"--gpu", "GPU", "only on this GPU, by index, UUID or PCI bus id"};
inline constexpr Option kAt = {"--at", "START", "only at this placement; needs --gpu"};
inline constexpr Option kOnBoard = {"--board", "BOARD", "only on GPUs of this board", "", Completes::board};
inline constexpr Option kBare = {"--bare", "", "the GPU instance alone, without compute instances"};
inline constexpr Option kCompute = {"--compute", "LIST", "several compute instances of the GPU instance: 1c,2c"};
inline constexpr Option kPriority = {
    "--priority", "CLASS",          "whose turn comes first: low, normal or high (normal)",
    "",           Completes::words, "low normal high"};
inline constexpr Option kLabel = {"--label", "KEY=TEXT", "a note of yours; may be repeated", "", Completes::nothing,
                                  "",        true};
inline constexpr Option kLeaseNoWait = {"--no-wait", "", "fail with the reason instead of waiting for one's turn"};
inline constexpr Option kOthers = {"--force", "", "administrators only: also another user's lease"};
inline constexpr Option kCpus = {"--cpus", "X", "at most so much processor time, in processors: 2.5"};
inline constexpr Option kHostMemory = {"--memory-limit", "SIZE", "at most so much memory of the host: 8GiB"};

inline constexpr Option kLeaseOptions[] = {kMemory,    kSms,      kWholeGpu,  kWorkload,   kThroughput, kLatency,
                                           kBatch,     kTraining, kPrecision, kCount,      kLeaseName,  kFor,
                                           kExclusive, kSameGpu,  kGpu,       kAt,         kOnBoard,    kBare,
                                           kCompute,   kPriority, kLabel,     kLeaseNoWait};
inline constexpr Option kRunOptions[] = {{"-p,--profile", "PROFILE", "the partition's profile: 1g.5gb"},
                                         {"-l,--lease", "NAME", "on a lease that there is, which stays afterwards"},
                                         kMemory,
                                         kSms,
                                         kWholeGpu,
                                         kWorkload,
                                         kThroughput,
                                         kLatency,
                                         kBatch,
                                         kTraining,
                                         kPrecision,
                                         kLeaseName,
                                         kFor,
                                         kExclusive,
                                         kSameGpu,
                                         kGpu,
                                         kAt,
                                         kOnBoard,
                                         kCompute,
                                         kPriority,
                                         kLabel,
                                         kLeaseNoWait,
                                         kCpus,
                                         kHostMemory};
inline constexpr Option kLeasesOptions[] = {
    {"--user", "USER", "only of this user"},
    {"--ended", "", "also those that have ended"},
    {"--watch", "", "draw anew whenever something changes, until Ctrl-C"},
};
inline constexpr Option kReleaseOptions[] = {
    {"--grace", "TIME", "between SIGTERM and SIGKILL for what still runs (10s)"},
    {"--no-wait", "", "do not wait until its processes are gone"},
    kOthers,
};
inline constexpr Option kRenewOptions[] = {kFor, kOthers};
inline constexpr Option kResizeOptions[] = {kMemory, kSms, kCompute, kOthers};
inline constexpr Option kParkOptions[] = {kOthers};
inline constexpr Option kServeOptions[] = {
    {"--socket", "PATH", "the Unix socket (/run/partita/partita.sock; of an emulated node: in its folder)", "",
     Completes::file},
    {"--listen", "ADDRESS", "also on TCP, with TLS and tokens: 0.0.0.0:8443, [::]:8443", "", Completes::nothing},
    {"--certificate", "FILE", "the server's certificate with its chain, PEM", "", Completes::file},
    {"--key", "FILE", "its private key, PEM", "", Completes::file},
    {"--policy", "FILE", "quotas and times (/etc/partita/policy.yaml, where it exists)", "PARTITA_POLICY",
     Completes::file},
    {"--requests", "N", "requests per second of one caller (2000)"},
};
inline constexpr Option kTokenCreateOptions[] = {
    {"--role", "ROLE", "viewer, user or administrator (user)", "", Completes::words, "viewer user administrator"},
    {"--user", "USER", "acts as this user (the one who asks)"},
    {"--for", "TIME", "how long it is good for: 12h, 90d (until it is revoked)"},
};

inline constexpr Positional kProfilePositional[] = {{"PROFILE", "3g.20gb, 1g.10gb+me, 1c.3g.20gb", false}};
inline constexpr Positional kNamePositional[] = {{"NAME", "of the lease", true}};
inline constexpr Positional kNamesPositional[] = {{"NAME", "of the lease", true, Completes::nothing, "", true}};
inline constexpr Positional kMaybeNamePositional[] = {{"NAME", "only this lease, with all that it grants", false}};
inline constexpr Positional kResizePositional[] = {{"NAME", "of the lease", true},
                                                   {"PROFILE", "the new profile: 2g.10gb", false}};
inline constexpr Positional kTokenNamePositional[] = {{"NAME", "what it is for: ci-runner", true}};
inline constexpr Positional kTokenPositional[] = {{"NAME", "its name or number", true}};

inline constexpr Example kLeaseExamples[] = {
    {"partita lease 3g.20gb --name alice-train --for 2h", "a partition by its profile, for two hours"},
    {"partita lease --memory 9GiB --count 4", "the smallest four that have the memory"},
    {"partita lease --workload resnet50 --batch 8 --latency 20", "the smallest that is fast enough"},
    {"partita lease 1g.5gb --gpu 0 --at 4 --no-wait", "exactly there and now, or the reason why not"},
};
inline constexpr Example kLeasesExamples[] = {
    {"partita leases", "who has what, and until when"},
    {"partita leases alice-train", "all about one, and how to use it"},
    {"partita leases -o json", "the same for programs"},
};
inline constexpr Example kReleaseExamples[] = {{"partita release alice-train", "give it back"}};
inline constexpr Example kRenewExamples[] = {{"partita renew alice-train --for 4h", "four hours from now"}};
inline constexpr Example kResizeExamples[] = {{"partita resize alice-vm 2g.10gb", "a smaller or larger partition"}};
inline constexpr Example kParkExamples[] = {{"partita park alice-vm", "free its instance for others"}};
inline constexpr Example kUnparkExamples[] = {{"partita unpark alice-vm", "cut it again"}};
inline constexpr Example kRunExamples[] = {
    {"partita run -p 1g.5gb -- python infer.py", "on a partition of its own, given back at the end"},
    {"partita run --memory 9GiB --cpus 4 --memory-limit 32GiB -- ./train.sh", "with limits of the host's resources"},
    {"partita run --lease alice-train -- nvidia-smi -L", "on a lease that there is"},
};
inline constexpr Example kServeExamples[] = {
    {"partita serve", "the daemon of this machine, in the foreground; systemd starts it so"},
    {"partita serve --listen 0.0.0.0:8443 --certificate node.pem --key node.key", "remote tools may ask, with tokens"},
    {"partita --emulate dgx-a100 serve", "an emulated node that a team can share"},
};
inline constexpr Example kTokenCreateExamples[] = {{"partita token create ci-runner --for 90d", "a token, shown once"}};
inline constexpr Example kTokenListExamples[] = {{"partita token list", "which there are"}};
inline constexpr Example kTokenRevokeExamples[] = {{"partita token revoke ci-runner", "from now on it opens nothing"}};

inline constexpr Verb kLease = {
    "lease",
    "get a partition by name, for a time",
    "Gives the holder a MIG device (or a whole GPU): an idle instance that fits, or one newly cut, without touching "
    "what "
    "is in use. The answer tells UUID, index, CDI name and CUDA_VISIBLE_DEVICES and how to use them.\n\n"
    "With a daemon (partita serve) a request that cannot be served now waits for its turn; Ctrl-C gives up the place "
    "in "
    "line. Without one, root leases (anyone, on an emulated node), and a request that does not fit fails with the "
    "reason.",
    kProfilePositional,
    kLeaseOptions,
    kLeaseExamples};
inline constexpr Verb kLeases = {"leases",
                                 "who has which partition, and until when",
                                 "Lists the leases, those that wait in the order of their turns. With NAME shows all "
                                 "about one and how to use it.",
                                 kMaybeNamePositional,
                                 kLeasesOptions,
                                 kLeasesExamples};
inline constexpr Verb kRelease = {
    "release",
    "give leases back",
    "Ends what still runs on each (SIGTERM, and SIGKILL after the grace), takes the permissions back and frees the "
    "partition. Of a lease that waits, gives up the place in line.",
    kNamesPositional,
    kReleaseOptions,
    kReleaseExamples};
inline constexpr Verb kRenew = {"renew",
                                "have a lease for longer",
                                "From now on for the time given, as far as the "
                                "policy allows.",
                                kNamePositional,
                                kRenewOptions,
                                kRenewExamples};
inline constexpr Verb kResize = {"resize",
                                 "change the profile of an idle lease",
                                 "The lease keeps its name; its instance is cut anew while every other lease runs on. "
                                 "Refused while something runs on "
                                 "it.",
                                 kResizePositional,
                                 kResizeOptions,
                                 kResizeExamples};
inline constexpr Verb kPark = {"park",
                               "free the instance of an idle lease, which keeps its name",
                               "Name, quota and place in line stay; unpark cuts the partition again.",
                               kNamePositional,
                               kParkOptions,
                               kParkExamples};
inline constexpr Verb kUnpark = {"unpark",
                                 "cut the partition of a parked lease again",
                                 "As lease, under the name that it has.",
                                 kNamePositional,
                                 kParkOptions,
                                 kUnparkExamples};
inline constexpr Verb kRun = {
    "run",
    "run a program on a partition of its own",
    "Gets a partition, starts CMD so that it can open that partition's device nodes and no others, and gives the "
    "partition back when it ends, however it ends. CMD is confined before it executes, with all that it starts. It "
    "finds "
    "CUDA_VISIBLE_DEVICES, NVIDIA_VISIBLE_DEVICES and PARTITA_LEASE in its environment; on an emulated node also the "
    "emulated libnvidia-ml.so.1. The exit status is CMD's. Users other than root need the daemon (partita serve).",
    {},
    kRunOptions,
    kRunExamples,
    TakesCommand::required};
inline constexpr Verb kServe = {
    "serve",
    "the daemon: leases for users without root, HTTP API, metrics",
    "Holds the node for its life, in the foreground. Users ask through the Unix socket and are known by their user "
    "ids; "
    "remote tools through TLS with a token (partita token). On SIGHUP reads the policy again; SIGTERM ends it, leases "
    "stay. Metrics are at /metrics, the description of the API at /v1/openapi.",
    {},
    kServeOptions,
    kServeExamples};
inline constexpr Verb kToken = {"token",
                                "make, list and revoke tokens for remote callers",
                                "Tokens open the daemon's TCP address. Only their hashes are kept.",
                                {},
                                {},
                                {}};
inline constexpr Verb kTokenCreate = {
    "token create",       "make a token; shown once", "Prints the secret. It is not kept and cannot be shown again.",
    kTokenNamePositional, kTokenCreateOptions,        kTokenCreateExamples};
inline constexpr Verb kTokenList = {
    "token list", "the tokens that there are", "Lists names, roles, users and times.", {}, {}, kTokenListExamples};
inline constexpr Verb kTokenRevoke = {
    "token revoke",      "make a token useless", "From the next request on it is refused.", kTokenPositional, {},
    kTokenRevokeExamples};

}  // namespace partita::cli
