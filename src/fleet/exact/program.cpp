#include "fleet/exact/program.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

namespace partita::fleet {

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// The greatest number that all prices are multiples of, or 0.
double common_grain(const std::vector<Bin>& bins) {
  std::int64_t grain = 0;
  for (const auto& bin : bins) {
    const double cents = bin.price * 10'000;
    if (cents > 1e15 || std::abs(cents - std::round(cents)) > 1e-6) return 0;
    grain = std::gcd(grain, static_cast<std::int64_t>(std::llround(cents)));
  }
  return static_cast<double>(grain) / 10'000;
}

}  // namespace

Program::Program(const Fleet& fleet, const Demand& demand)
    : classes(classes_of(fleet, demand)), fleet_(fleet), demand_(demand) {
  find_options();
  join_kinds();
  add_option_columns();
  add_service_rows();
  if (demand.goal == Goal::disturbance) add_created();
}

void Program::find_options() {
  for (std::size_t k = 0; k < fleet_.kinds.size(); ++k) {
    const auto& kind = fleet_.kinds[k];
    auto& geometry = geometries_[kind.board.get()];
    if (!geometry) geometry = std::make_unique<plan::Geometry>(*kind.board);
    std::vector<int> profiles;
    for (std::size_t p = 0; p < kind.board->profiles.size(); ++p)
      if (classes.of[k][p] >= 0) profiles.push_back(static_cast<int>(p));
    auto& refills = refills_[{kind.board.get(), profiles}];
    if (!refills) refills = std::make_unique<Refills>(*geometry, profiles);
    classes_of_kind.push_back(classes.of_kind(k));
    std::vector<int> places(kind.board->profiles.size(), -1);
    for (const int p : profiles)
      places[at(p)] =
          static_cast<int>(std::ranges::find(classes_of_kind[k], classes.of[k][at(p)]) - classes_of_kind[k].begin());
    options.push_back(options_of(kind, places, *refills, demand_.goal));
  }
}

void Program::join_kinds() {
  using Signature = std::tuple<Counts, Counts, int, bool, bool>;
  std::map<std::tuple<bool, double, std::vector<int>, std::vector<Signature>>, std::size_t> known;
  for (std::size_t k = 0; k < fleet_.kinds.size(); ++k) {
    const auto& kind = fleet_.kinds[k];
    std::vector<Signature> signature;
    for (const auto& o : options[k]) signature.emplace_back(o.supply, o.lost, o.destroyed, o.touched, o.used);
    const auto [found, fresh] =
        known.try_emplace({kind.count.has_value(), kind.price, classes_of_kind[k], std::move(signature)}, bins.size());
    if (fresh) bins.push_back({{}, kind.count ? std::optional<std::int64_t>(0) : std::nullopt, kind.price, {}});
    auto& bin = bins[found->second];
    bin.kinds.push_back(static_cast<int>(k));
    if (bin.count) bin.count = *bin.count + kind.count.value_or(0);
  }
}

void Program::add_option_columns() {
  for (auto& bin : bins) {
    const auto& list = options[at(bin.kinds.front())];
    const double most = static_cast<double>(bin.count.value_or(kMostGpus));
    IntegerProgram::Row row;
    if (bin.count) row.lower = row.upper = most;
    for (std::size_t o = 0; o < list.size(); ++o) {
      bin.columns.push_back(base.add_column({0, 0, most, true}));
      row.terms.push_back({bin.columns.back(), 1});
    }
    if (bin.count) base.add_row(std::move(row));
  }
}

// Where any instance is more than enough, the amount is one that the solver's tolerances do not lose.
double Program::amount(int want) const {
  constexpr double kFaint = 1e-3;
  double least = std::numeric_limits<double>::infinity();
  for (const auto& server : demand_.wants[at(want)].servers) least = std::min(least, server.weight);
  return std::max(demand_.wants[at(want)].amount, kFaint * least);
}

// Instances of a weight that a want needs, when it has no others.
double Program::needed(int want, double weight) const { return std::ceil((amount(want) / weight) - 1e-9); }

void Program::add_supply(std::vector<IntegerProgram::Row>& rows, Counts Option::* counts, double sign) const {
  for (const auto& bin : bins) {
    const auto k = at(bin.kinds.front());
    for (std::size_t o = 0; o < bin.columns.size(); ++o)
      for (std::size_t i = 0; i < classes_of_kind[k].size(); ++i)
        if (const auto n = (options[k][o].*counts)[i]; n > 0)
          rows[at(classes_of_kind[k][i])].terms.push_back({bin.columns[o], sign * n});
  }
}

// Supply of a class covers what serves from it; what serves a want covers its amount.
void Program::add_service_rows() {
  std::vector<int> classes_of_want(demand_.wants.size());
  for (const auto& type : classes.classes)
    for (const auto& use : type.uses) ++classes_of_want[at(use.want)];
  std::vector<IntegerProgram::Row> supply(classes.classes.size()), wants(demand_.wants.size());
  want_rows.assign(demand_.wants.size(), -1);
  add_supply(supply, &Option::supply, 1);
  for (std::size_t c = 0; c < classes.classes.size(); ++c) {
    const auto& uses = classes.classes[c].uses;
    auto& row = supply[c];
    row.lower = 0;
    const bool own = uses.size() == 1 && classes_of_want[at(uses.front().want)] == 1;
    for (const auto& use : uses) {
      Service service{static_cast<int>(c), use.want, use.weight, -1};
      if (own) {
        row.lower = needed(use.want, use.weight);
        want_rows[at(use.want)] = static_cast<int>(base.rows.size());
      } else {
        // Rates are scaled, so that the solver's tolerances mean the same for all; whole numbers stay whole.
        const double amount = this->amount(use.want);
        const double scale = use.weight == 1 && amount == std::floor(amount) ? 1 : 1000 / amount;
        service.column = base.add_column({0, 0, needed(use.want, use.weight), true});
        row.terms.push_back({service.column, -1});
        wants[at(use.want)].lower = amount * scale;
        wants[at(use.want)].terms.push_back({service.column, use.weight * scale});
      }
      services.push_back(service);
    }
    base.add_row(std::move(row));
  }
  for (std::size_t w = 0; w < wants.size(); ++w) {
    if (wants[w].terms.empty()) continue;
    want_rows[w] = static_cast<int>(base.rows.size());
    base.add_row(std::move(wants[w]));
  }
}

double Program::row_unit(std::size_t w) const {
  for (const auto& service : services)
    if (service.want == static_cast<int>(w) && service.column < 0) return service.weight;  // the row counts instances
  return amount(static_cast<int>(w)) / base.rows[at(want_rows[w])].lower;
}

double Program::price_of(std::size_t w, const LinearSolution& relaxed) const {
  return relaxed.row_prices[at(want_rows[w])] / row_unit(w);
}

// created(c) >= what serves - what is idle now + what is destroyed.
void Program::add_created() {
  std::vector<IntegerProgram::Row> rows(classes.classes.size());
  add_supply(rows, &Option::lost, -1);
  for (auto& row : rows) row.lower = 0;
  for (std::size_t k = 0; k < fleet_.kinds.size(); ++k)
    for (const auto& occupant : fleet_.kinds[k].state)
      if (const int c = classes.of[k][at(occupant.placed.profile)]; c >= 0 && !occupant.pinned)
        rows[at(c)].lower -= static_cast<double>(fleet_.kinds[k].count.value_or(0));
  for (const auto& service : services) {
    auto& row = rows[at(service.type)];
    if (service.column < 0)
      row.lower += needed(service.want, service.weight);
    else
      row.terms.push_back({service.column, -1});
  }
  for (auto& row : rows) {
    created_columns_.push_back(base.add_column({}));
    row.terms.push_back({created_columns_.back(), 1});
    base.add_row(std::move(row));
  }
}

std::vector<Program::Level> Program::levels(Goal goal) const {
  Level cost{"cost", {}, 0, common_grain(bins)};
  Level touched{"GPUs touched", {}, 0, 1};
  Level destroyed{"instances destroyed", {}, 0, 1};
  Level created{"instances created", {}, 0, 1};
  Level added{"cost of added GPUs", {}, 0, common_grain(bins)};
  Level slices{"compute slices", {}, 0, 1};
  for (const auto& bin : bins) {
    const auto& list = options[at(bin.kinds.front())];
    for (std::size_t o = 0; o < list.size(); ++o) {
      if (!bin.count && list[o].created != Counts{}) added.terms.push_back({bin.columns[o], bin.price});
      if (list[o].used) cost.terms.push_back({bin.columns[o], bin.price});
      if (list[o].touched) touched.terms.push_back({bin.columns[o], 1});
      if (list[o].destroyed > 0) destroyed.terms.push_back({bin.columns[o], static_cast<double>(list[o].destroyed)});
    }
  }
  for (const auto& kind : fleet_.kinds)
    if (std::ranges::any_of(kind.state, &Occupant::pinned))
      cost.constant += kind.price * static_cast<double>(kind.count.value_or(0));
  for (const int column : created_columns_) created.terms.push_back({column, 1});
  for (const auto& service : services) {
    const double each = classes.classes[at(service.type)].compute_slices;
    if (service.column >= 0)
      slices.terms.push_back({service.column, each});
    else
      slices.constant += each * needed(service.want, service.weight);
  }
  switch (goal) {
    case Goal::cost:
      return {cost, destroyed, slices};
    case Goal::touched:
      return {touched, destroyed};
    case Goal::disturbance:
      if (added.terms.empty()) return {destroyed, created};
      return {destroyed, created, added};
  }
  return {};
}

std::vector<std::vector<std::int64_t>> Program::served(const std::vector<double>& values) const {
  std::vector<std::vector<std::int64_t>> out(classes.classes.size(), std::vector<std::int64_t>(demand_.wants.size()));
  for (const auto& service : services)
    out[at(service.type)][at(service.want)] =
        std::llround(service.column >= 0 ? values[at(service.column)] : needed(service.want, service.weight));
  return out;
}

}  // namespace partita::fleet
