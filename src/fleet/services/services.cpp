#include "fleet/services/services.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "fleet/services/queueing.h"

namespace partita::fleet {

namespace {

constexpr double kShare = 0.9 / 2;
constexpr double kSurge = 1.05;   // near its limit a queue is very sensitive: the promise holds for so much more
constexpr double kJustIn = 1e-6;  // of a limit: what takes all of it is late as soon as anything is rounded
constexpr double kLate = 0.85;    // of what may be late: by chance more is late at times

double saturated_limit(double limit_ms) { return 0.9 * std::trunc(limit_ms) / 2; }

// The highest rate of one instance within the limit; 0: it does not meet it, or takes no more than `best`.
double rate_within(const ServicePoint& point, double limit_ms, const ServiceRule& rule, double best = 0) {
  if (rule.kind == ServiceRule::Kind::saturated) return point.latency_ms < saturated_limit(limit_ms) ? point.per_s : 0;
  const double service_ms = point.latency_ms * longest_factor(rule, point.sigma);
  const double quantile = 1 - (kLate * (1 - rule.quantile));
  const double limit = limit_ms * (1 - kJustIn);
  const double each = kSurge / point.processes;
  return highest_rate({service_ms, point.batch, limit, quantile, rule.variability}, best * each) / each;
}

// No rate is above this one: what a point takes when always busy.
double most(const ServicePoint& point, const ServiceRule& rule) {
  if (rule.kind == ServiceRule::Kind::saturated) return point.per_s;
  return 1000.0 * point.batch * point.processes / (point.latency_ms * longest_factor(rule, point.sigma));
}

std::string size_name(const ServicePoint& point) {
  return fmt::format("{}g, batch {}, {} process{}", point.compute_slices, point.batch, point.processes,
                     point.processes == 1 ? "" : "es");
}

// A limit that a point meets at some rate, though hardly the least one.
double limit_met(const ServicePoint& point, const ServiceRule& rule) {
  if (rule.kind == ServiceRule::Kind::saturated) return std::floor(point.latency_ms / kShare) + 1;
  const double service_ms = point.latency_ms * longest_factor(rule, point.sigma);
  const double group = mean_group(rule.variability);
  // As many of a group may be late as of all; those before them take so many batches behind the first request.
  const double before = group > 1 ? std::log(kLate * (1 - rule.quantile)) / std::log(1 - (1 / group)) : 0;
  return std::ceil((2 + std::ceil(before / point.batch)) * service_ms);
}

Error too_tight(const std::vector<const ServicePoint*>& points, const Service& service, const ServiceRule& rule) {
  const auto needed = [&](const ServicePoint* point) { return std::pair(limit_met(*point, rule), point->latency_ms); };
  const auto* nearest = *std::ranges::min_element(points, {}, needed);
  const double needs = limit_met(*nearest, rule);
  return {
      ErrorCode::impossible,
      fmt::format("service {}: nothing meets its latency limit of {:.12g} ms; the nearest takes {:g} ms per batch ({})",
                  service.name, service.limit_ms, nearest->latency_ms, size_name(*nearest)),
      {fmt::format("a limit of {:.12g} ms could be met", needs)}};
}

}  // namespace

double longest_factor(const ServiceRule& rule, double sigma) {
  return rule.time_margin * std::exp(kLongestSigmas * sigma);
}

Result<std::vector<ServiceChoice>> choices(const std::vector<ServicePoint>& points, const Service& service,
                                           const ServiceRule& rule) {
  std::map<std::pair<std::string, int>, std::vector<const ServicePoint*>> sizes;
  std::vector<const ServicePoint*> all;
  std::vector<std::string> names;
  for (const auto& point : points) {
    if (names.empty() || names.back() != point.model) names.push_back(point.model);
    if (point.model != service.model || point.per_s <= 0 || point.latency_ms <= 0) continue;
    sizes[{point.board, point.compute_slices}].push_back(&point);
    all.push_back(&point);
  }
  if (all.empty())
    return fail(ErrorCode::not_found, fmt::format("service {}: no measured points of {}{}", service.name,
                                                  quote(service.model), did_you_mean(service.model, names)));
  std::vector<ServiceChoice> out;
  for (auto& [place, list] : sizes) {
    std::ranges::stable_sort(list, [&](const auto* a, const auto* b) { return most(*a, rule) > most(*b, rule); });
    ServiceChoice best{place.first, place.second, 1, 1, 0, 0};
    for (const auto* point : list) {
      if (most(*point, rule) <= best.rate_per_s) break;  // nor does any of the rest beat it
      if (const double rate = rate_within(*point, service.limit_ms, rule, best.rate_per_s); rate > best.rate_per_s)
        best = {place.first, place.second, point->batch, point->processes, rate, point->latency_ms, point->sigma};
    }
    if (best.rate_per_s > 0) out.push_back(best);
  }
  if (out.empty()) return std::unexpected(too_tight(all, service, rule));
  return out;
}

namespace {

bool matches(const ServiceChoice& choice, const catalog::Board& board, const catalog::Profile& profile) {
  return (choice.board.empty() || choice.board == board.id) && choice.compute_slices == profile.compute_slices;
}

// The profile of a size: no attributes, least memory.
int profile_of_size(const catalog::Board& board, int compute_slices) {
  int best = -1;
  for (std::size_t p = 0; p < board.profiles.size(); ++p) {
    const auto& profile = board.profiles[p];
    if (profile.compute_slices != compute_slices || profile.attributes != catalog::Attributes{}) continue;
    if (best < 0 || profile.memory_slices < board.profiles[static_cast<std::size_t>(best)].memory_slices)
      best = static_cast<int>(p);
  }
  return best;
}

}  // namespace

Result<Want> want_of(const Service& service, const std::vector<ServiceChoice>& list, const Fleet& fleet) {
  Want out{service.name, service.rate_per_s, {}};
  for (std::size_t k = 0; k < fleet.kinds.size(); ++k) {
    const auto& board = *fleet.kinds[k].board;
    for (const auto& choice : list) {
      const int p = profile_of_size(board, choice.compute_slices);
      if (p >= 0 && matches(choice, board, board.profiles[static_cast<std::size_t>(p)]))
        out.servers.push_back({static_cast<int>(k), p, choice.rate_per_s});
    }
  }
  if (out.servers.empty())
    return fail(ErrorCode::not_found,
                fmt::format("service {}: its points are for other boards or sizes than the fleet's", service.name));
  return out;
}

const ServiceChoice* choice_of(const std::vector<ServiceChoice>& list, const Kind& kind, int profile) {
  const auto found = std::ranges::find_if(list, [&](const ServiceChoice& choice) {
    return matches(choice, *kind.board, kind.board->profiles[static_cast<std::size_t>(profile)]);
  });
  return found == list.end() ? nullptr : &*found;
}

}  // namespace partita::fleet
