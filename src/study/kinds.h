// Kinds of study: shapes of questions. Each reads its own keys strictly, computes, and fills answer and sections of the
// report. Internal to study/.
#pragma once

#include "report/report.h"
#include "study/context.h"
#include "study/fields.h"

namespace partita::study {

using Kind = Result<void>(const Fields& study, Context& context, report::Report& report);

Kind predictions;     // one job on several places: rate, share, losses, memory, largest batch
Kind layouts;         // layouts of one GPU: total and per partition, and the batch that fills each partition
Kind simulation;      // scenarios of tenants: latency, throughput, isolation; timelines where layouts change
Kind fleet;           // many users on kinds of machine: how many are served, how many machines it takes
Kind recommendation;  // for each workload the profile to take
Kind modes;           // sizes of job and shapes of load against sharing modes: which wins where

// Keys that every study has.
inline constexpr std::string_view kHeadRequired[] = {"title", "question", "kind"};
inline constexpr std::string_view kHeadOptional[] = {"order", "sources", "assume", "host"};
// The study's own keys beside those of the head.
Result<void> only_keys(const Fields& study, Fields::Keys required, Fields::Keys optional = {});

}  // namespace partita::study
