#include "fleet/program.h"

#include <algorithm>
#include <cmath>
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
    options.push_back(options_of(kind, classes.of[k], classes.classes.size(), *refills, demand_.goal));
  }
}

void Program::join_kinds() {
  using Signature = std::tuple<Counts, Counts, int, bool, bool>;
  std::map<std::tuple<bool, double, std::vector<Signature>>, std::size_t> known;
  for (std::size_t k = 0; k < fleet_.kinds.size(); ++k) {
    const auto& kind = fleet_.kinds[k];
    // Alike, whatever the order in which they were found.
    std::ranges::sort(options[k], {}, [](const Option& o) {
      return std::tuple(o.used, o.touched, o.destroyed, o.supply, o.lost);
    });
    std::vector<Signature> signature;
    for (const auto& o : options[k]) signature.emplace_back(o.supply, o.lost, o.destroyed, o.touched, o.used);
    if (demand_.goal != Goal::disturbance)
      for (auto& each : signature) std::get<1>(each).clear();
    const auto [found, fresh] =
        known.try_emplace({kind.count.has_value(), kind.price, std::move(signature)}, bins.size());
    if (fresh) bins.push_back({{}, kind.count ? std::optional<std::int64_t>(0) : std::nullopt, kind.price, {}});
    auto& bin = bins[found->second];
    bin.kinds.push_back(static_cast<int>(k));
    if (bin.count) *bin.count += *kind.count;
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

// Supply of a class covers what serves from it; what serves a want covers its amount.
void Program::add_service_rows() {
  std::vector<int> classes_of_want(demand_.wants.size());
  for (const auto& type : classes.classes)
    for (const auto& use : type.uses) ++classes_of_want[at(use.want)];
  std::vector<IntegerProgram::Row> wants(demand_.wants.size());
  want_rows.assign(demand_.wants.size(), -1);
  for (std::size_t c = 0; c < classes.classes.size(); ++c) {
    const auto& uses = classes.classes[c].uses;
    IntegerProgram::Row row;
    row.lower = 0;
    for (const auto& bin : bins) {
      const auto& list = options[at(bin.kinds.front())];
      for (std::size_t o = 0; o < list.size(); ++o)
        if (list[o].supply[c] > 0) row.terms.push_back({bin.columns[o], static_cast<double>(list[o].supply[c])});
    }
    const bool own = uses.size() == 1 && classes_of_want[at(uses.front().want)] == 1;
    for (const auto& use : uses) {
      const double amount = demand_.wants[at(use.want)].amount;
      const double needed = std::ceil((amount / use.weight) - 1e-9);
      Service service{static_cast<int>(c), use.want, use.weight, -1};
      if (own) {
        row.lower = needed;
        want_rows[at(use.want)] = static_cast<int>(base.rows.size());
      } else {
        service.column = base.add_column({0, 0, needed, true});
        row.terms.push_back({service.column, -1});
        auto& want = wants[at(use.want)];
        // Whole numbers stay whole; rates are scaled, so that tolerances mean the same for all.
        const double scale = use.weight == 1 && amount == std::floor(amount) ? 1 : 1000 / amount;
        want.lower = amount * (scale == 1 ? 1 : scale);
        want.terms.push_back({service.column, use.weight * scale});
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

// created(c) >= what serves - what is idle now + what is destroyed.
void Program::add_created() {
  for (std::size_t c = 0; c < classes.classes.size(); ++c) {
    IntegerProgram::Row row;
    double idle = 0;
    for (std::size_t k = 0; k < fleet_.kinds.size(); ++k)
      for (const auto& occupant : fleet_.kinds[k].state)
        if (!occupant.pinned && classes.of[k][at(occupant.placed.profile)] == static_cast<int>(c))
          idle += static_cast<double>(fleet_.kinds[k].count.value_or(0));
    row.lower = -idle;
    for (const auto& service : services) {
      if (service.type != static_cast<int>(c)) continue;
      if (service.column < 0)
        row.lower += std::ceil((demand_.wants[at(service.want)].amount / service.weight) - 1e-9);
      else
        row.terms.push_back({service.column, -1});
    }
    for (const auto& bin : bins) {
      const auto& list = options[at(bin.kinds.front())];
      for (std::size_t o = 0; o < list.size(); ++o)
        if (list[o].lost[c] > 0) row.terms.push_back({bin.columns[o], -static_cast<double>(list[o].lost[c])});
    }
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
  Level slices{"compute slices", {}, 0, 1};
  for (const auto& bin : bins) {
    const auto& list = options[at(bin.kinds.front())];
    for (std::size_t o = 0; o < list.size(); ++o) {
      if (list[o].used) cost.terms.push_back({bin.columns[o], bin.price});
      if (list[o].touched) touched.terms.push_back({bin.columns[o], 1});
      if (list[o].destroyed > 0)
        destroyed.terms.push_back({bin.columns[o], static_cast<double>(list[o].destroyed)});
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
      slices.constant += each * std::ceil((demand_.wants[at(service.want)].amount / service.weight) - 1e-9);
  }
  switch (goal) {
    case Goal::cost:
      return {cost, destroyed, slices};
    case Goal::touched:
      return {touched, destroyed};
    case Goal::disturbance:
      return {destroyed, created};
  }
  return {};
}

std::vector<std::vector<std::int64_t>> Program::served(const std::vector<double>& values) const {
  std::vector<std::vector<std::int64_t>> out(classes.classes.size(), std::vector<std::int64_t>(demand_.wants.size()));
  for (const auto& service : services)
    out[at(service.type)][at(service.want)] = std::llround(
        service.column >= 0 ? values[at(service.column)]
                            : std::ceil((demand_.wants[at(service.want)].amount / service.weight) - 1e-9));
  return out;
}

}  // namespace partita::fleet
