// The verbs predict and study, a part of the table in verbs.cpp.
#pragma once

#include "cli/command_line/verbs.h"

namespace partita::cli {

inline constexpr std::string_view kPrecisions = "fp32 tf32 fp16 bf16 int8 fp8";

inline constexpr Positional kPredictPositionals[] = {
    {"WORKLOAD", "a shipped workload (predict --list), a workload file, or - for standard input", false,
     Completes::workload}};
inline constexpr Positional kValidatePositionals[] = {
    {"CSV", "measured data in the format of docs/prediction.md; without one, the data sets in this program", false,
     Completes::file, "", true}};
inline constexpr Positional kFitPositionals[] = {
    {"CSV", "measured data in the format of docs/prediction.md; without it, the data set in this program", false,
     Completes::file}};
inline constexpr Positional kStudyPositionals[] = {
    {"STUDY", "a shipped study (study --list) or a study file", false, Completes::study, "", true}};

inline constexpr Option kConstants = {
    "--constants", "FILE", "constants that predict fit wrote, instead of those in this program", "", Completes::file};
inline constexpr Option kPredictOptions[] = {
    {"--list", "", "the shipped workloads"},
    {"--training", "", "training steps instead of inference"},
    {"--batch", "N", "samples in a step (1), or a range 1..256: powers of two, and the knee of each profile"},
    {"--board", "BOARD", "predict for this board; without it, for the boards of this machine or of --emulate", "",
     Completes::board},
    {"--sequence", "N", "tokens in a sample, where the workload has them"},
    {"--precision", "P", "of products and convolutions (tf32)", "", Completes::words, kPrecisions},
    {"--framework", "F",
     "how the host launches: eager_overlapped (runs ahead), eager_serial (waits each time), graph (replays)", "",
     Completes::words, "eager_overlapped eager_serial graph"},
    {"--optimizer", "NAME", "of training (sgd_momentum)", "", Completes::words, "sgd sgd_momentum adam"},
    {"--copy-inside", "", "the copy of the input to the GPU is part of the step"},
    {"--processes", "N", "MPS processes of the workload in the partition (1)"},
    {"--host", "NAME", "a machine and its software as measured, named in the constants; without it, the reference"},
    {"--throughput", "X", "need: so many samples per second"},
    {"--latency", "MS", "need: a step takes at most so many milliseconds"},
    {"--share", "X", "need: this share, 0 to 1, of what the largest profile delivers at the same batch"},
    {"--measured", "POINTS", "CSV of your own points (profile,batch,latency_ms or throughput) that calibrate the model",
     "", Completes::file},
    {"--virtualised", "", "in a VM, through vGPU"},
    {"--neighbours", "X", "how busy the rest of the GPU is, 0 to 1 (0)"},
    {"--whole-gpu", "", "also the whole GPU without MIG"},
    {"--compute-instances", "", "also compute instances that are part of a GPU instance"},
    kConstants,
};
inline constexpr Option kMapping = {
    "--mapping", "FILE", "YAML that renames the columns of CSV and states what they leave out (docs/prediction.md)", "",
    Completes::file};
inline constexpr Option kSet = {
    "--set", "COLUMN=VALUE",     "a value for all rows that do not give one: board=a100-sxm4-80gb",
    "",      Completes::nothing, "",
    true};
inline constexpr Option kWorkloadFiles = {
    "--workload", "FILE", "your own workload file; rows name it by its name", "", Completes::file, "", true};
inline constexpr Option kFitOptions[] = {
    kMapping,
    kSet,
    kWorkloadFiles,
    {"-O,--output-file", "FILE", "write the constants to FILE instead of standard output", "", Completes::file}};
inline constexpr Option kValidateOptions[] = {
    kMapping,
    kSet,
    kWorkloadFiles,
    {"--page", "FILE", "write the whole page of documentation (docs/prediction.md) to FILE; - is standard output", "",
     Completes::file},
    kConstants,
};
inline constexpr Option kStudyOptions[] = {
    {"--list", "", "the shipped studies and what they ask"},
    {"--all", "", "all shipped studies, in one report"},
    {"-O,--output-file", "FILE",
     "write the report to FILE (report.html, report.md or report.json); - is standard output", "", Completes::file},
    {"--format", "FORMAT", "html, markdown or json; without it, as FILE ends", "", Completes::words,
     "html markdown json"},
    {"--seed", "N", "of the simulation (1); the same seed gives the same numbers"},
    {"--measure", "",
     "also run CMD for each tenant and show measured beside simulated: as plain processes, or on instances of "
     "--emulate"},
    {"--seconds", "N", "how long a measured run lasts (10)"},
    {"--warmup", "N", "seconds at the start of a measured run that do not count (0)"},
};

inline constexpr Example kPredictExamples[] = {
    {"partita predict resnet50 --training --batch 64 --board a100-sxm4-40gb", "each profile of a board"},
    {"partita predict bert-base --batch 8 --sequence 128 --latency 40 --board h100-sxm5-80gb",
     "the smallest profile that answers within 40 ms"},
    {"partita predict resnet50 --batch 1..256 --board a100-sxm4-40gb", "where a larger batch stops to pay"},
    {"partita predict model.yaml --batch 16 --board a30-24gb",
     "your own network, which partita-onnx model.onnx > model.yaml wrote"},
    {"partita predict resnet50 --measured points.csv --board a100-sxm4-80gb",
     "calibrated with your own points; says which to measure next"},
    {"partita predict --measured points.csv --board a100-sxm4-80gb",
     "no architecture: other profiles from the times on the largest and the smallest"},
    {"partita predict --list", "the shipped workloads"},
};
inline constexpr Example kFitExamples[] = {
    {"partita predict fit -O constants.yaml", "the constants of this program, computed anew"},
};
inline constexpr Example kValidateExamples[] = {
    {"partita predict validate", "how good predictions are, by data set, profile and workload"},
    {"partita predict validate mine.csv", "the same for your own measurements"},
    {"partita predict validate theirs.csv --mapping theirs.yaml --set board=a30-24gb -o json",
     "data of another laboratory, with its own column names; as JSON"},
};
inline constexpr Example kStudyExamples[] = {
    {"partita study --list", "what the shipped studies ask"},
    {"partita study noisy-neighbour", "answer one; the report is report.html"},
    {"partita study --all -O studies.html", "all of them on one page"},
    {"partita study mine.yaml --format markdown -O -", "your own study, as text"},
    {"partita study noisy-neighbour --measure --seconds 30 -- ./worker",
     "run ./worker as each tenant; it prints one JSON line per interval (docs/studies.md)"},
};

inline constexpr Verb kPredict = {
    "predict",
    "what each partition would deliver: throughput, time, memory",
    "Predicts for every profile of a board whether the workload fits its memory, its throughput and time per step with "
    "90 % intervals, and what bounds it: the host's launches, compute, memory bandwidth or the copy of the input. With "
    "a need (--throughput, --latency, --share; all must be met) names the smallest profile that meets it and says why "
    "a "
    "larger one would not help; exits with 3 when none does.\n\n"
    "Everything printed is predicted, never measured here. What lies beyond the measured data (A100, fp32 and tf32, "
    "eager frameworks) is marked as extrapolated, with wider intervals. docs/prediction.md shows how good predictions "
    "are.",
    kPredictPositionals,
    kPredictOptions,
    kPredictExamples};
inline constexpr Verb kPredictFit = {
    "predict fit",
    "compute the constants from measured data",
    "Fits the constants of the model and writes them as YAML, each with unit, standard error and source.",
    kFitPositionals,
    kFitOptions,
    kFitExamples};
inline constexpr Verb kPredictValidate = {
    "predict validate",
    "how far predictions lie from measurements",
    "Prints error tables as Markdown (or JSON): mean, median and 90th percentile, per workload and profile, against "
    "the "
    "naive rules, with the worst rows by name. Rows that cannot be used (an unknown board, profile or workload) are "
    "counted and named with their lines. Measured values serve for nothing else.",
    kValidatePositionals,
    kValidateOptions,
    kValidateExamples};
inline constexpr Verb kStudy = {
    "study",
    "answer a question about cutting by simulation, as a report",
    "Runs shipped studies or your own (docs/studies.md): predicts service times, simulates the tenants, and writes a "
    "report with figures, tables, an answer in words and what it rests on: one HTML page that needs no network, "
    "Markdown, or JSON. Prints the answer and where the file is. Simulated numbers are marked as such.",
    kStudyPositionals,
    kStudyOptions,
    kStudyExamples,
    TakesCommand::optional};

}  // namespace partita::cli
