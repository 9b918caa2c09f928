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

}  // namespace

Result<Library> Library::open() {
  catalog::Catalog catalog = TRY(catalog::Catalog::open());
  return Library(std::move(catalog));
}

Result<const catalog::Board*> Library::board(const std::string& id) {
  auto it = boards_.find(id);
  if (it == boards_.end()) {
    std::shared_ptr<const catalog::Board> board = TRY(catalog_.board(id));
    it = boards_.emplace(id, std::move(board)).first;
  }
  return it->second.get();
}

Result<const Workload*> Library::workload(const std::string& name, std::optional<int> sequence) {
  auto key = std::pair{name, sequence.value_or(0)};
  auto it = workloads_.find(key);
  if (it == workloads_.end()) {
    Workload workload = TRY(shipped_workload(name, sequence));
    it = workloads_.emplace(key, std::make_unique<Workload>(std::move(workload))).first;
  }
  return it->second.get();
}

Result<Partition> Library::partition(const std::string& board_id, const std::string& profile) {
  Partition out;
  out.board = TRY(board(board_id));
  if (profile == "whole") return out;
  std::string names = "whole";
  for (std::size_t i = 0; i < out.board->profiles.size(); ++i) {
    const catalog::Profile& p = out.board->profiles[i];
    names += ", " + p.name;
    for (std::size_t c = 0; c < p.compute.size(); ++c) {
      if (p.compute[c].name != profile && p.name != profile) continue;
      out.profile = static_cast<int>(i);
      if (p.name != profile) out.compute = static_cast<int>(c);
      return out;
    }
  }
  return fail(ErrorCode::not_found, fmt::format("board {} has no profile '{}'; it has {}", board_id, profile, names));
}

Result<std::vector<Case>> resolve(Library& library, const std::vector<Measurement>& rows) {
  std::vector<Case> out;
  std::map<std::string, std::size_t> groups;
  for (const Measurement& row : rows) {
    auto place = [&](Error error) {
      return std::unexpected(in_context(fmt::format("{}, line {}", row.set, row.line), std::move(error)));
    };
    Case one;
    one.measured = row;
    auto partition = library.partition(row.board, row.profile);
    if (!partition) return place(partition.error());
    one.partition = *partition;
    one.partition.busy_neighbours = row.neighbours;
    one.partition.virtualised = row.virtualised;
    auto workload = library.workload(row.workload, row.settings.sequence);
    if (workload) {
      one.workload = *workload;
    } else if (workload.error().code != ErrorCode::not_found) {
      return place(workload.error());
    }
    one.group = groups.try_emplace(group_name(row), groups.size()).first->second;
    out.push_back(std::move(one));
  }
  return out;
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
