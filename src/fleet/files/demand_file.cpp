#include "fleet/files/demand_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/csv.h"
#include "base/text.h"
#include "base/yaml.h"
#include "fleet/schedule/yaml_words.h"

namespace partita::fleet {

namespace {

constexpr YamlLimits kYaml{.max_bytes = 16u << 20, .max_nodes = 1'000'000, .max_depth = 12};
constexpr double kMostRate = 1e12;

Result<Goal> as_goal(const YamlPlace& place, const YamlNode& node) {
  const auto text = TRY(as_text(place, node));
  if (text == "cost") return Goal::cost;
  if (text == "touched") return Goal::touched;
  if (text == "disturbance") return Goal::disturbance;
  return yaml_fail(place, node, "expected cost, touched or disturbance, found " + quote(text));
}

Result<double> as_positive(const YamlPlace& place, const YamlNode& node, double most) {
  const double value = TRY(as_number(place, node));
  if (!(value > 0) || value > most)
    return yaml_fail(place, node, fmt::format("expected a number above 0 and up to {:g}, found {}", most, node.text));
  return value;
}

Result<double> as_between(const YamlPlace& place, const YamlNode& node, double least, double most) {
  const double value = TRY(as_number(place, node));
  if (!(value >= least) || value > most)
    return yaml_fail(place, node, fmt::format("expected from {:.6g} to {:.6g}, found {}", least, most, node.text));
  return value;
}

// Profiles with the least memory among those with at least so much of both; slices first.
std::vector<int> smallest_with(const catalog::Board& board, int compute, Bytes memory) {
  std::vector<int> out;
  std::pair<int, int> best{1 << 20, 1 << 20};
  for (std::size_t p = 0; p < board.profiles.size(); ++p) {
    const auto& profile = board.profiles[p];
    if (profile.attributes != catalog::Attributes{} || profile.compute_slices < compute) continue;
    if (memory.value > 0 && (!profile.memory || *profile.memory < memory)) continue;
    const std::pair size{profile.memory_slices, profile.compute_slices};
    if (size < best) out.clear();
    if (size <= best) {
      best = size;
      out.push_back(static_cast<int>(p));
    }
  }
  return out;
}

class Reader {
 public:
  explicit Reader(const Fleet& fleet) : fleet_(fleet) {
    for (const auto& kind : fleet.kinds) boards_.insert(kind.board->id);
  }

  Result<DemandFile> read(const YamlPlace& root, const YamlNode& node) {
    constexpr std::array<std::string_view, 1> required{"version"};
    constexpr std::array<std::string_view, 7> optional{"goal", "demand", "services", "points",
                                                       "jobs", "batch",  "leases"};
    TRY_VOID(require_keys(root, node, required, optional));
    TRY_VOID(require_version(root, node, "v1"));
    DemandFile out;
    if (const auto* goal = node.find("goal")) out.demand.goal = TRY(as_goal(root.at("goal"), *goal));
    if (const auto* list = node.find("demand")) TRY_VOID(lines(root.at("demand"), *list, out));
    if (const auto* list = node.find("services")) TRY_VOID(services(root.at("services"), *list, out));
    if (const auto* points = node.find("points")) out.points = TRY(read_points_key(root.at("points"), *points));
    if (const auto* list = node.find("jobs")) TRY_VOID(read_jobs(root.at("jobs"), *list, fleet_, out.batch));
    if (const auto* batch = node.find("batch")) TRY_VOID(read_batch(root.at("batch"), *batch, out.batch));
    if (const auto* list = node.find("leases")) out.leases = TRY(read_leases(root.at("leases"), *list, fleet_));
    if (!out.steady() && out.batch.jobs.empty() && out.leases.empty())
      return yaml_fail(root, node, "expected something under demand, services, jobs or leases, found nothing");
    if (node.find("batch") != nullptr && out.batch.jobs.empty())
      return yaml_fail(root.at("batch"), *node.find("batch"), "there are no jobs that it could be about");
    if (node.find("points") != nullptr && out.services.empty())
      return yaml_fail(root.at("points"), *node.find("points"), "there are no services that it could be about");
    if (node.find("goal") != nullptr && !out.steady())
      return yaml_fail(
          root.at("goal"), *node.find("goal"),
          "it is about demand and services, and there are none: jobs have one under batch, leases have the "
          "least cost");
    if (!out.services.empty() && !out.points) out.points.emplace();
    return out;
  }

 private:
  Result<void> lines(const YamlPlace& place, const YamlNode& node, DemandFile& out) {
    const auto* list = TRY(as_sequence(place, node));
    if (list->size() > kMostWants)
      return yaml_fail(place, node, fmt::format("expected at most {} lines, found {}", kMostWants, list->size()));
    for (std::size_t i = 0; i < list->size(); ++i) {
      auto want = TRY(line(place.at(i), (*list)[i]));
      if (!names_.insert(want.name).second)
        return yaml_fail(place.at(i), (*list)[i],
                         quote(want.name) + " is there already: add up the counts, or give it a name of its own");
      out.demand.wants.push_back(std::move(want));
    }
    return {};
  }

  Result<Want> line(const YamlPlace& place, const YamlNode& node) {
    constexpr std::array<std::string_view, 1> required{"count"};
    constexpr std::array<std::string_view, 5> optional{"profile", "compute", "memory", "boards", "name"};
    TRY_VOID(require_keys(place, node, required, optional));
    Want out;
    out.amount = static_cast<double>(TRY(as_integer(place.at("count"), *node.find("count"), 1, kMostInstances)));
    const auto only = TRY(named_boards(place, node));
    const auto *profile = node.find("profile"), *compute = node.find("compute"), *memory = node.find("memory");
    if ((profile != nullptr) == (compute != nullptr || memory != nullptr))
      return yaml_fail(place, node, "expected either profile, or compute and memory");
    if (profile != nullptr) {
      out.name = TRY(as_text(place.at("profile"), *profile));
      out.servers = TRY(read_servers(place.at("profile"), *profile, fleet_, out.name, only));
    } else {
      const int slices =
          compute != nullptr ? static_cast<int>(TRY(as_integer(place.at("compute"), *compute, 1, 64))) : 1;
      Bytes amount;
      if (memory != nullptr) amount = TRY(read_memory(place.at("memory"), *memory));
      out.name = fmt::format("{}g{}", slices, memory != nullptr ? "." + memory->text : "");
      for (std::size_t k = 0; k < fleet_.kinds.size(); ++k)
        if (only.empty() || only.contains(fleet_.kinds[k].board->id))
          for (const int p : smallest_with(*fleet_.kinds[k].board, slices, amount))
            out.servers.push_back({static_cast<int>(k), p, 1});
      if (out.servers.empty())
        return yaml_fail(place, node, "no board of the fleet has a profile with so much: ask for less");
    }
    if (const auto* name = node.find("name")) out.name = TRY(read_name(place.at("name"), *name));
    return out;
  }

  Result<std::set<std::string>> named_boards(const YamlPlace& place, const YamlNode& node) {
    std::set<std::string> out;
    const auto* list = node.find("boards");
    if (list == nullptr) return out;
    const auto here = place.at("boards");
    for (const auto& each : *TRY(as_sequence(here, *list))) {
      auto id = TRY(as_text(here, each));
      if (!boards_.contains(id))
        return yaml_fail(here, each,
                         "the fleet has no " + quote(id) +
                             did_you_mean(id, std::vector<std::string>(boards_.begin(), boards_.end())));
      out.insert(std::move(id));
    }
    if (out.empty()) return yaml_fail(here, *list, "expected at least one board, found none");
    return out;
  }

  Result<void> services(const YamlPlace& place, const YamlNode& node, DemandFile& out) {
    const auto* list = TRY(as_sequence(place, node));
    constexpr std::array<std::string_view, 3> required{"model", "rate_per_s", "limit_ms"};
    constexpr std::array<std::string_view, 1> optional{"name"};
    if (const auto all = list->size() + out.demand.wants.size(); all > kMostWants)
      return yaml_fail(place, node,
                       fmt::format("expected at most {} lines of demand and services, found {}", kMostWants, all));
    for (std::size_t i = 0; i < list->size(); ++i) {
      const auto here = place.at(i);
      const auto& each = (*list)[i];
      TRY_VOID(require_keys(here, each, required, optional));
      Service service;
      service.model = TRY(as_text(here.at("model"), *each.find("model")));
      service.rate_per_s = TRY(as_positive(here.at("rate_per_s"), *each.find("rate_per_s"), kMostRate));
      service.limit_ms = TRY(as_positive(here.at("limit_ms"), *each.find("limit_ms"), kMostRate));
      service.name = each.find("name") != nullptr ? TRY(read_name(here.at("name"), *each.find("name"))) : service.model;
      if (!names_.insert(service.name).second)
        return yaml_fail(here, each, quote(service.name) + " is there already: give it a name of its own");
      out.services.push_back(std::move(service));
    }
    return {};
  }

  static Result<PointsFile> read_points_key(const YamlPlace& place, const YamlNode& node) {
    constexpr std::array<std::string_view, 6> optional{"table",       "rule",        "quantile",
                                                       "variability", "time_margin", "without_suspect"};
    TRY_VOID(require_keys(place, node, {}, optional));
    PointsFile out;
    if (const auto* table = node.find("table")) out.table = TRY(as_text(place.at("table"), *table));
    if (const auto* rule = node.find("rule")) {
      const auto text = TRY(as_text(place.at("rule"), *rule));
      if (text != "queueing" && text != "saturated")
        return yaml_fail(place.at("rule"), *rule, "expected queueing or saturated, found " + quote(text));
      out.rule.kind = text == "saturated" ? ServiceRule::Kind::saturated : ServiceRule::Kind::queueing;
    }
    if (const auto* quantile = node.find("quantile"))
      out.rule.quantile = TRY(as_between(place.at("quantile"), *quantile, 0.5, 0.9999));
    if (const auto* each = node.find("variability"))
      out.rule.variability = TRY(as_positive(place.at("variability"), *each, 1000));
    if (const auto* each = node.find("time_margin"))
      out.rule.time_margin = TRY(as_between(place.at("time_margin"), *each, 1, 1000));
    if (const auto* each = node.find("without_suspect"))
      out.without_suspect = TRY(as_bool(place.at("without_suspect"), *each));
    if (out.rule.kind == ServiceRule::Kind::saturated)
      for (const auto* key : {"quantile", "variability", "time_margin"})
        if (const auto* each = node.find(key))
          return yaml_fail(place.at(key), *each, "only the rule queueing has it: leave it out, or change the rule");
    if (const auto* each = node.find("without_suspect"); each != nullptr && out.table.empty())
      return yaml_fail(place.at("without_suspect"), *each, "only a table has suspect rows: name one, or leave it out");
    return out;
  }

  const Fleet& fleet_;
  std::set<std::string> boards_, names_;
};

}  // namespace

Result<DemandFile> read_demand(std::string_view text, const std::string& file, const Fleet& fleet) {
  const auto document = TRY(parse_yaml(text, file, kYaml));
  const YamlPlace root{&document, ""};
  TRY_VOID(as_mapping(root, document.root));
  return Reader(fleet).read(root, document.root);
}

namespace {

// The first of these columns that the table has.
Result<std::size_t> either(const CsvTable& table, std::string_view first, std::string_view second) {
  if (const auto found = table.column(first)) return *found;
  return table.require(second);
}

}  // namespace

Result<std::vector<ServicePoint>> read_points(std::string_view text, const std::string& file, bool without_suspect) {
  const auto table = TRY(parse_csv(text, file));
  const auto model = TRY(table.require("model"));
  const auto slices = TRY(either(table, "gpc_slices", "compute_slices"));
  const auto batch = TRY(table.require("batch"));
  const auto processes = TRY(either(table, "procs", "processes"));
  const auto per_s = TRY(either(table, "throughput_total", "per_s"));
  const bool in_s = table.column("latency_s").has_value();
  const auto latency = TRY(either(table, "latency_s", "latency_ms"));
  const auto board = table.column("board"), not_run = table.column("not_run"), suspect = table.column("suspect");
  std::vector<ServicePoint> out;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const auto& row = table.rows[r];
    if (not_run && row[*not_run] == "1") continue;
    if (without_suspect && suspect && !row[*suspect].empty()) continue;
    std::array<double, 5> numbers{};
    const std::array<std::size_t, 5> columns{slices, batch, processes, per_s, latency};
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto value = TRY(table.number(r, columns[i]));
      if (!value || *value < 0 || *value > 1e12)
        return fail(ErrorCode::invalid, fmt::format("{}:{}: {}: expected a number from 0 to 1e12, found {}", file,
                                                    table.lines[r], table.columns[columns[i]], quote(row[columns[i]])));
      numbers[i] = *value;
    }
    for (std::size_t i = 0; i < 3; ++i)
      if (numbers[i] < 1 || numbers[i] > 1e6)
        return fail(ErrorCode::invalid, fmt::format("{}:{}: {}: expected from 1 to 1000000, found {}", file,
                                                    table.lines[r], table.columns[columns[i]], quote(row[columns[i]])));
    out.push_back({row[model], board ? row[*board] : "", static_cast<int>(numbers[0]), static_cast<int>(numbers[1]),
                   static_cast<int>(numbers[2]), numbers[3], numbers[4] * (in_s ? 1000 : 1)});
  }
  return out;
}

Result<std::vector<std::vector<ServiceChoice>>> add_services(const DemandFile& file,
                                                             const std::vector<ServicePoint>& points,
                                                             const Fleet& fleet, Demand& into) {
  std::vector<std::vector<ServiceChoice>> out;
  std::map<std::pair<std::string, double>, std::size_t> known;  // by what choices depend on
  for (const auto& service : file.services) {
    const auto [same, fresh] = known.try_emplace({service.model, service.limit_ms}, out.size());
    auto list =
        fresh ? TRY(choices(points, service, file.points ? file.points->rule : ServiceRule{})) : out[same->second];
    into.wants.push_back(TRY(want_of(service, list, fleet)));
    out.push_back(std::move(list));
  }
  return out;
}

}  // namespace partita::fleet
