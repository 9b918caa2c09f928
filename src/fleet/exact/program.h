// A demand on a fleet as an integer program. Inside fleet/ only.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "base/error.h"
#include "fleet/exact/fleet.h"
#include "fleet/exact/patterns.h"
#include "fleet/solver/integer_program.h"

namespace partita::fleet {

// Kinds with the same price and options that differ in nothing that counts.
struct Bin {
  std::vector<int> kinds;
  std::optional<std::int64_t> count;  // GPUs of all of them; nullopt: as many as are needed
  double price = 1;
  std::vector<int> columns;  // per option
};

class Program {
 public:
  Program(const Fleet& fleet, const Demand& demand);

  // Columns: per bin and option how many GPUs; per class and want how many instances (unless the want has one class of
  // its own); per class how many are created (Goal::disturbance).
  IntegerProgram base;
  Classes classes;
  std::vector<Bin> bins;
  std::vector<std::vector<Option>> options;       // per kind
  std::vector<std::vector<int>> classes_of_kind;  // what Option::supply counts

  struct Service {
    int type = 0;  // class
    int want = 0;
    double weight = 0;
    int column = -1;  // -1: all of the want's amount
  };
  std::vector<Service> services;
  std::vector<int> want_rows;
  // How much of want w one unit of its row's bound is.
  double row_unit(std::size_t w) const;
  // What one more of want w costs in a relaxation.
  double price_of(std::size_t w, const LinearSolution& relaxed) const;

  struct Level {
    std::string name;
    std::vector<IntegerProgram::Term> terms;
    double constant = 0;  // part that no plan can change
    double grain = 0;     // all values are multiples
  };
  std::vector<Level> levels(Goal goal) const;

  // Per class and want: instances that serve.
  std::vector<std::vector<std::int64_t>> served(const std::vector<double>& values) const;

 private:
  void find_options();
  void join_kinds();
  void add_option_columns();
  void add_supply(std::vector<IntegerProgram::Row>& rows, Counts Option::* counts, double sign) const;
  double amount(int want) const;
  double needed(int want, double weight) const;
  void add_service_rows();
  void add_created();

  const Fleet& fleet_;
  const Demand& demand_;
  std::map<std::pair<const catalog::Board*, std::vector<int>>, std::unique_ptr<Refills>> refills_;
  std::map<const catalog::Board*, std::unique_ptr<plan::Geometry>> geometries_;
  std::vector<int> created_columns_;  // per class
};

}  // namespace partita::fleet
