// Measurements made ready for the model: board, partition and workload found.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "catalog/catalog.h"
#include "predict/dataset.h"
#include "predict/model.h"

namespace partita::predict {

// Boards and workloads by name, read once. Not thread safe.
class Library {
 public:
  static Result<Library> open();
  Result<const catalog::Board*> board(const std::string& id);
  Result<const Workload*> workload(const std::string& name, std::optional<int> sequence);
  // "3g.40gb", "1c.3g.40gb", "whole"; `not_found` names the profiles that the board has.
  Result<Partition> partition(const std::string& board, const std::string& profile);

 private:
  explicit Library(catalog::Catalog catalog) : catalog_(std::move(catalog)) {}
  catalog::Catalog catalog_;
  std::map<std::string, std::shared_ptr<const catalog::Board>> boards_;
  std::map<std::pair<std::string, int>, std::unique_ptr<Workload>> workloads_;
};

struct Case {
  Measurement measured;
  const Workload* workload = nullptr;  // nullptr: no architecture of that name
  Partition partition;
  std::size_t group = 0;  // cases that differ only in batch and partition
};

// All rows, those left out too. `invalid` or `not_found` names the set and line; a workload without architecture is no
// error.
Result<std::vector<Case>> resolve(Library& library, const std::vector<Measurement>& rows);

// One prediction of time per case; cases without architecture get a total of 0. `factors`: per group, or empty.
Result<std::vector<StepTime>> step_times(const Constants& constants, const std::vector<Case>& cases,
                                         const std::vector<Factors>& factors = {});

Result<std::vector<Prediction>> predictions(const Constants& constants, const std::vector<Case>& cases);

}  // namespace partita::predict
