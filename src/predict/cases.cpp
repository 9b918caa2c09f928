#include "predict/cases.h"

#include <algorithm>

#include <fmt/format.h>

namespace partita::predict {
namespace {

std::string group_name(const Measurement& m) {
  const Settings& s = m.settings;
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", m.set, m.board, m.workload, s.sequence.value_or(0),
                     static_cast<int>(s.mode), static_cast<int>(s.matmul), static_cast<int>(s.convolution),
                     static_cast<int>(s.framework), static_cast<int>(s.optimizer), s.copy_inside_step, s.processes,
                     m.host);
}

// Calls use(predictor, case) for each case with an architecture; one predictor per group.
template <class Use>
Result<void> each_case(const Constants& constants, const std::vector<Case>& cases, Use use) {
  std::map<std::size_t, Predictor> predictors;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& one = cases[i];
    if (!one.workload) continue;
    auto it = predictors.find(one.group);
    if (it == predictors.end()) {
      const Host* host = constants.host(one.measured.host);
      Predictor made =
          TRY(Predictor::make(constants, *one.workload, one.measured.settings, *one.partition.board, host));
      it = predictors.emplace(one.group, std::move(made)).first;
    }
    TRY_VOID(use(i, it->second, one));
  }
  return {};
}

Result<void> resolve_place(Library& library, const Measurement& row, Case& one, std::vector<std::string>& assumed) {
  if (row.board.empty()) return fail(ErrorCode::not_found, "no board given");
  if (row.profile.empty()) return fail(ErrorCode::not_found, "no profile given");
  NamedPartition found = TRY(library.find(row.board, row.profile));
  if (!found.assumed.empty() && std::ranges::find(assumed, found.assumed) == assumed.end()) {
    assumed.push_back(found.assumed);
  }
  one.partition = found.partition;
  one.partition.busy_neighbours = row.neighbours;
  one.partition.virtualised = row.virtualised;
  one.measured.board = one.partition.board->id;
  one.measured.profile = one.partition.profile ? partition_name(one.partition) : "whole";
  return {};
}

Result<void> resolve_workload(Library& library, const Measurement& row, Case& one) {
  if (row.workload.empty()) return fail(ErrorCode::not_found, "no workload given");
  auto workload = library.workload(row.workload, row.settings.sequence);
  if (workload) {
    one.workload = *workload;
    one.measured.workload = (*workload)->name;
    if (!(*workload)->has_sequence) one.measured.settings.sequence.reset();
  } else if (workload.error().code == ErrorCode::not_found) {
    const std::string& why = workload.error().message;
    one.no_workload = why.substr(0, why.find("; there are"));
  } else {
    return std::unexpected(workload.error());
  }
  return {};
}

}  // namespace

Resolved resolve(Library& library, const std::vector<Measurement>& rows) {
  Resolved out;
  std::map<std::string, std::size_t> groups;
  for (const Measurement& row : rows) {
    Case one;
    one.measured = row;
    auto place = resolve_place(library, row, one, out.assumed);
    auto network = place ? resolve_workload(library, row, one) : place;
    if (!network) {
      out.unusable.push_back({row.line, network.error()});
      continue;
    }
    one.group = groups.try_emplace(group_name(one.measured), groups.size()).first->second;
    out.cases.push_back(std::move(one));
  }
  return out;
}

void keep_predictable(const Constants& constants, Resolved& resolved) {
  std::map<std::size_t, std::optional<Error>> groups;
  auto predictable = [&](const Case& one) -> Result<void> {
    TRY_VOID(device_of(constants, one.partition));
    auto it = groups.find(one.group);
    if (it == groups.end()) {
      it = groups.emplace(one.group, std::nullopt).first;
      if (one.workload) {
        auto made = Predictor::make(constants, *one.workload, one.measured.settings, *one.partition.board,
                                    constants.host(one.measured.host));
        if (!made) it->second = made.error();
      }
    }
    if (it->second) return std::unexpected(*it->second);
    return {};
  };
  std::vector<Case> kept;
  for (Case& one : resolved.cases) {
    auto found = predictable(one);
    if (found) {
      kept.push_back(std::move(one));
    } else {
      resolved.unusable.push_back({one.measured.line, found.error()});
    }
  }
  resolved.cases = std::move(kept);
}

Result<std::vector<StepTime>> step_times(const Constants& constants, const std::vector<Case>& cases,
                                         const std::vector<Factors>& factors) {
  std::vector<StepTime> out(cases.size());
  auto use = [&](std::size_t i, const Predictor& p, const Case& one) -> Result<void> {
    Factors f = one.group < factors.size() ? factors[one.group] : Factors{};
    out[i] = TRY(p.time(one.partition, one.measured.settings.batch, f));
    return {};
  };
  TRY_VOID(each_case(constants, cases, use));
  return out;
}

Result<std::vector<Prediction>> predictions(const Constants& constants, const std::vector<Case>& cases) {
  std::vector<Prediction> out(cases.size());
  auto use = [&](std::size_t i, const Predictor& p, const Case& one) -> Result<void> {
    out[i] = TRY(p.predict(one.partition, one.measured.settings.batch));
    return {};
  };
  TRY_VOID(each_case(constants, cases, use));
  return out;
}

}  // namespace partita::predict
