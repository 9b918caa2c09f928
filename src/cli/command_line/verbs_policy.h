// The verbs policy and defrag, a part of the table in verbs.cpp.
#pragma once

#include "cli/command_line/verbs.h"

namespace partita::cli {

inline constexpr std::string_view kRules = "first-fit best-fit tight-fit least-fragmentation potential";

inline constexpr Positional kTracePositional[] = {
    {"TRACE", "CSV of requests: arrival, duration (seconds), profile; - is standard input", true, Completes::file}};
inline constexpr Positional kTunePositional[] = {
    {"TRACE", "tune on this trace (as for policy simulate) instead of mixes", false, Completes::file}};

inline constexpr Option kPolicyBoard = {"--board", "BOARD", "the GPUs' board", "", Completes::board};
inline constexpr Option kColumns = {
    "--columns", "LIST",
    "where TRACE has other columns: arrival=created,end=deleted,share=milli/1000,gpus=num (docs/fleets.md); openb is "
    "Alibaba's GPU trace of 2023"};
inline constexpr Option kWait = {"--wait", "DURATION", "a request that finds no room waits so long (0s)"};

inline constexpr Option kSimulateOptions[] = {
    kPolicyBoard,
    {"--gpus", "N", "how many GPUs there are"},
    kColumns,
    {"--policy", "POLICY", "a policy, or a file of weights that policy tune wrote; without it, all policies", "",
     Completes::words, kRules, true},
    kWait,
    {"--migrate", "PAUSE",
     "also serve with moves: an instance that may be moved makes room, at most one per accepted request; its job ends "
     "PAUSE later"},
    {"--movable", "", "all requests may be moved; without it, those whose column movable says so"},
    {"-O,--output-file", "FILE",
     "write a report with figures to FILE (report.html, report.md or report.json); - is standard output", "",
     Completes::file},
    {"--format", "FORMAT", "of the report: html, markdown or json; without it, as FILE ends", "", Completes::words,
     "html markdown json"},
};
inline constexpr Option kTuneOptions[] = {
    kPolicyBoard,
    {"--gpus", "N", "how many GPUs there are (100)"},
    kColumns,
    kWait,
    {"--mix", "LIST", "shares of profiles: \"1g.5gb=30,7g.40gb=10\"; without it, four mixes of all plain profiles", "",
     Completes::nothing, "", true},
    {"--load", "X", "memory slices asked for over those there are; without it 0.85, 1 and 1.3", "", Completes::nothing,
     "", true},
    {"--start", "FILE", "weights to start from, or plain: a guess that knows nothing; without it, the shipped ones", "",
     Completes::file},
    {"--generations", "N", "of the search (70)"},
    {"--requests", "N", "per mix and sample (80000), twice as many in the last third"},
    {"--seed", "N", "of traces and search (1); the same seed gives the same weights"},
    {"-O,--output-file", "FILE", "write the weights to FILE instead of standard output", "", Completes::file},
};

inline constexpr Example kSimulateExamples[] = {
    {"partita policy simulate trace.csv --board a100-sxm4-40gb --gpus 64", "accepted by each policy and profile"},
    {"partita policy simulate trace.csv --board a30-24gb --gpus 8 --wait 1h -O report.html",
     "with waiting, as a page with figures"},
    {"partita policy simulate trace.csv --board a30-24gb --gpus 8 --movable --migrate 30s", "with moves"},
    {"partita policy simulate pods.csv --columns openb --board h100-sxm5-80gb --gpus 60",
     "Alibaba's trace: shares of a GPU become profiles"},
};
inline constexpr Example kTuneExamples[] = {
    {"partita policy tune trace.csv --board a100-sxm4-40gb --gpus 64 -O weights.yaml", "weights for your own trace"},
    {"partita policy tune --board a30-24gb --mix 1g.6gb=70,4g.24gb=30 --load 0.9", "for a mix"},
};

inline constexpr Option kDefragOptions[] = {
    {"--for", "PROFILE", "make room for this profile, as much as there can be, or so much: 3g.20gb=2"},
    {"--max-moves", "N", "move at most N instances"},
    {"--leases", "",
     "leases without a process, and without a GPU of their choice, may be moved, too: parked meanwhile"},
    {"-O,--output-file", "FILE", "write the layout afterwards to FILE, for apply", "", Completes::file},
};
inline constexpr Example kDefragExamples[] = {
    {"partita defrag", "the most room for all profiles"},
    {"partita defrag --for 3g.20gb --max-moves 2 -O plan.json",
     "room for a 3g.20gb; partita apply -f plan.json does it"},
};
inline constexpr Verb kDefrag = {
    "defrag",
    "which instances to re-create where, so that room appears; changes nothing",
    "Finds the moves after which most fits on the node: the most room, then the fewest moves that a holder notices, "
    "then "
    "the fewest moves, with a proof. Instances that are idle may move; busy and foreign ones stay, leased ones unless "
    "--leases. Without --for, room counts for all profiles without attributes: how many of each would fit, were it "
    "alone, times its memory slices. Instances move between GPUs of one board.\n\n"
    "The plan shows each move with what it costs its holder, and the commands that bring it about. Exits with 3 when "
    "no "
    "move makes the room that --for asks for.",
    {},
    kDefragOptions,
    kDefragExamples};

inline constexpr Verb kPolicyVerb = {
    "policy", "online placement policies: how they would serve a trace, and tuning one", "", {}, {}, {}};
inline constexpr Verb kPolicySimulate = {
    "policy simulate",
    "how placement policies would have served a trace",
    "Serves the requests of TRACE one by one on empty GPUs, none knowing what comes next, and tells what each policy "
    "accepts, by requests, memory slices and profile, how long requests wait, and how fragmented the GPUs are over "
    "time. Everything printed is simulated.\n\n"
    "first-fit: the lowest GPU. best-fit: the fewest free compute slices. tight-fit: and then the fewest free memory "
    "slices and the start that leaves most. least-fragmentation: the least rise of blocked places that would fit by "
    "number. potential: the least fall of a weighed sum of what GPUs can still take (data/policies).",
    kTracePositional,
    kSimulateOptions,
    kSimulateExamples};
inline constexpr Verb kPolicyTune = {"policy tune",
                                     "find weights for the potential, for a board, a mix or a trace",
                                     "Searches weights by simulation: on mixes of profiles with Poisson arrivals, or "
                                     "on a trace of yours. It takes minutes of "
                                     "one core.",
                                     kTunePositional,
                                     kTuneOptions,
                                     kTuneExamples};

}  // namespace partita::cli
