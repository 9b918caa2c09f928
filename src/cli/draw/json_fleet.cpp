// plan --fleet for programs.
#include <nlohmann/json.hpp>

#include "cli/draw/draw_fleet.h"

namespace partita::cli {

namespace {

using Json = nlohmann::ordered_json;
using fleet::Instance;

std::string_view word(Instance::Is is) {
  switch (is) {
    case Instance::Is::pinned:
      return "pinned";
    case Instance::Is::kept:
      return "kept";
    case Instance::Is::created:
      return "created";
  }
  return "created";
}

Json group_json(const FleetAnswer& answer, const fleet::Group& group) {
  const auto& board = *kind_of(answer, group.kind).board;
  const auto name = [&](int p) { return board.profiles[static_cast<std::size_t>(p)].name; };
  Json out{{"board", board.id}, {"gpus", group.count}, {"instances", Json::array()}, {"destroyed", Json::array()}};
  for (const auto& instance : group.instances) {
    Json one{{"profile", name(instance.placed.profile)}, {"start", instance.placed.start}, {"is", word(instance.is)}};
    one["serves"] =
        instance.want >= 0 ? Json(answer.demand.wants[static_cast<std::size_t>(instance.want)].name) : Json(nullptr);
    out["instances"].push_back(std::move(one));
  }
  for (const auto& placed : group.destroyed)
    out["destroyed"].push_back({{"profile", name(placed.profile)}, {"start", placed.start}});
  return out;
}

Json want_json(const FleetAnswer& answer, std::size_t w) {
  const auto& want = answer.demand.wants[w];
  Json out{{"name", want.name}, {"amount", want.amount}, {"served_by", Json::array()}};
  for (const auto& by : served(answer, w)) {
    const auto& board = *kind_of(answer, by.kind).board;
    Json one{{"board", board.id},
             {"profile", board.profiles[static_cast<std::size_t>(by.profile)].name},
             {"instances", by.instances},
             {"amount", by.amount}};
    if (const auto* choice = choice_behind(answer, w, by)) {
      one["batch"] = choice->batch;
      one["processes"] = choice->processes;
      one["rate_per_s_each"] = choice->rate_per_s;
      one["batch_latency_ms"] = choice->latency_ms;
    }
    out["served_by"].push_back(std::move(one));
  }
  return out;
}

Json levels_json(const std::vector<fleet::Level>& levels) {
  Json out = Json::array();
  for (const auto& level : levels)
    out.push_back({{"name", level.name}, {"value", level.value}, {"bound", level.bound}, {"proven", level.proven()}});
  return out;
}

Json otherwise_json(const fleet::Otherwise& otherwise) { return otherwise ? levels_json(*otherwise) : Json(nullptr); }

Json explanation_json(const FleetAnswer& answer) {
  if (!answer.explanation) return nullptr;
  const bool cost = answer.demand.goal == fleet::Goal::cost;
  const auto for_cost = [&](const std::optional<double>& value) {
    return cost && value ? Json(*value) : Json(nullptr);
  };
  Json out{{"bindings", Json::array()},
           {"margins", Json::array()},
           {"gpus", Json::array()},
           {"stopped_by_clock", answer.explanation->stopped}};
  for (const auto& each : answer.explanation->bindings)
    out["bindings"].push_back({{"resource", each.resource}, {"least_cost", each.least_cost}, {"binds", each.binds}});
  for (const auto& each : answer.explanation->margins)
    out["margins"].push_back({{"name", answer.demand.wants[static_cast<std::size_t>(each.want)].name},
                              {"left_out", otherwise_json(each.without)},
                              {"fits_with_one_gpu_less", for_cost(each.cheaper)},
                              {"fits_as_planned", for_cost(each.here)},
                              {"fits_with_one_gpu_more", for_cost(each.roomier)},
                              {"cost_of_one_more", for_cost(each.price)}});
  for (const auto& each : answer.explanation->gpus)
    out["gpus"].push_back({{"board", each.board},
                           {"with_one_less", otherwise_json(each.less)},
                           {"with_one_more", otherwise_json(each.more)}});
  return out;
}

Json seconds_or_null(const std::optional<double>& time) { return time ? Json(*time) : Json(nullptr); }

// Which one it is, for a live node.
Json timed_gpu_json(const FleetAnswer& answer, const fleet::Room& room, int kind, std::size_t number) {
  Json out{{"board", room.fleet.kinds[static_cast<std::size_t>(kind)].board->id}, {"node", nullptr}, {"gpu", nullptr}};
  const auto gpu = number < answer.timed.size() ? answer.timed[number] : fleet::TimedGpu{};
  if (gpu.group < 0) return out;
  const auto& group = answer.fleet.groups[static_cast<std::size_t>(gpu.group)];
  out["node"] = group.name;
  out["gpu"] = group.live[static_cast<std::size_t>(gpu.place)].index;
  return out;
}

Json jobs_json(const FleetAnswer& answer) {
  if (!answer.batch) return nullptr;
  const auto& plan = *answer.batch;
  Json out{{"optimal", plan.schedule.optimal(plan.batch.goal)},
           {"goal", plan.batch.goal == fleet::JobGoal::makespan ? "makespan" : "mean_completion"},
           {"makespan_s", plan.schedule.makespan_s},
           {"mean_completion_s", plan.schedule.mean_completion_s},
           {"bound_s", plan.schedule.bound_s},
           {"search_steps", plan.schedule.steps},
           {"stopped_by_clock", plan.schedule.stopped},
           {"gpus_added", plan.added},
           {"gpus_added_bound", plan.added_bound},
           {"explanation", nullptr},
           {"gpus", Json::array()}};
  if (const auto& margin = answer.batch_margin)
    out["explanation"] = {{"last", plan.batch.jobs[static_cast<std::size_t>(margin->last)].name},
                          {"alone_s", margin->alone_s},
                          {"board", margin->board},
                          {"with_one_gpu_less_s", seconds_or_null(margin->less)},
                          {"with_one_gpu_more_s", seconds_or_null(margin->more)},
                          {"stopped_by_clock", margin->stopped}};
  std::size_t number = first_of_jobs(answer);
  for (const auto& gpu : plan.schedule.gpus) {
    Json instances = Json::array();
    for (const auto& each : gpu.instances) {
      Json one{{"profile", profile_of(plan.room, gpu.kind, each.placed.profile).name},
               {"start", each.placed.start},
               {"there", each.there},
               {"create_s", each.create_s},
               {"ready_s", each.ready_s},
               {"destroy_s", seconds_or_null(each.destroy_s)},
               {"gone_s", seconds_or_null(each.gone_s)},
               {"runs", Json::array()}};
      for (const auto& run : each.runs)
        one["runs"].push_back({{"job", plan.batch.jobs[static_cast<std::size_t>(run.job)].name},
                               {"begin_s", run.begin_s},
                               {"end_s", run.end_s}});
      instances.push_back(std::move(one));
    }
    out["gpus"].push_back(timed_gpu_json(answer, plan.room, gpu.kind, number++));
    out["gpus"].back()["instances"] = std::move(instances);
  }
  return out;
}

Json leases_json(const FleetAnswer& answer) {
  if (!answer.leases) return nullptr;
  const auto& plan = *answer.leases;
  const auto& calendar = plan.calendar;
  Json out{{"optimal", calendar.optimal()},
           {"cost", calendar.cost},
           {"bound", calendar.bound},
           {"peak_s", calendar.peak_s},
           {"most_at_once", calendar.most_at_once},
           {"longest_cut_s", calendar.longest_cut_s},
           {"explanation", Json::array()},
           {"gpus", Json::array()}};
  for (const auto& margin : answer.lease_margins)
    out["explanation"].push_back({{"lease", plan.leases[static_cast<std::size_t>(margin.lease)].name},
                                  {"runs_at_peak", margin.at_peak},
                                  {"cost_without", margin.cost_without}});
  std::size_t number = 0;
  for (const auto& gpu : calendar.gpus) {
    Json spans = Json::array();
    for (const auto& span : gpu.spans)
      spans.push_back({{"lease", plan.leases[static_cast<std::size_t>(span.lease)].name},
                       {"profile", profile_of(plan.room, gpu.kind, span.placed.profile).name},
                       {"start", span.placed.start},
                       {"from_s", span.from_s},
                       {"until_s", span.until_s}});
    out["gpus"].push_back(timed_gpu_json(answer, plan.room, gpu.kind, number++));
    out["gpus"].back()["leases"] = std::move(spans);
  }
  return out;
}

Json confirmed_json(const FleetAnswer& answer) {
  Json out = Json::array();
  for (const auto& each : answer.confirmed)
    out.push_back({{"name", each.name},
                   {"runs", each.runs},
                   {"met", each.met},
                   {"late_share", each.late_share},
                   {"worst_share", each.worst_share}});
  return out;
}

}  // namespace

std::string to_json(const FleetAnswer& answer) {
  const auto sums = fleet::totals(answer.fleet.fleet, answer.plan);
  const auto in_all = gpus_in_all(answer);
  Json out{{"optimal", answer.steady ? Json(answer.plan.optimal()) : Json(nullptr)},
           {"method", answer.steady ? Json(answer.plan.method) : Json(nullptr)},
           {"search_nodes", answer.plan.nodes},
           {"stopped_by_clock", answer.plan.stopped},
           {"levels", levels_json(answer.plan.levels)},
           {"gpus_used", sums.gpus_used},
           {"gpus_touched", sums.gpus_touched},
           {"instances_created", sums.created},
           {"instances_destroyed", sums.destroyed},
           {"compute_slices", sums.compute_slices},
           {"cost", sums.cost},
           {"gpus_in_all", in_all.sum()},
           {"cost_in_all", in_all.cost},
           {"groups", Json::array()},
           {"demand", Json::array()},
           {"nodes", Json::array()}};
  for (const auto& group : answer.plan.groups) out["groups"].push_back(group_json(answer, group));
  for (std::size_t w = 0; w < answer.demand.wants.size(); ++w) out["demand"].push_back(want_json(answer, w));
  for (const auto& node : answer.nodes) {
    Json gpus = Json::array();
    for (const int group : node.gpus) gpus.push_back(group >= 0 ? Json(group) : Json(nullptr));
    const auto& group = answer.fleet.groups[static_cast<std::size_t>(node.group)];
    Json indices = group.live.empty() ? Json(nullptr) : Json::array();
    for (const auto& gpu : group.live) indices.push_back(gpu.index);
    out["nodes"].push_back({{"name", group.name},
                            {"nodes", node.nodes},
                            {"gpus", std::move(indices)},
                            {"groups_of_gpus", std::move(gpus)}});
  }
  out["turn_mig_on"] = Json::array();
  for (const auto& each : answer.turn_on)
    out["turn_mig_on"].push_back(
        {{"node", answer.fleet.groups[static_cast<std::size_t>(each.group)].name}, {"gpus", each.gpus}});
  out["explanation"] = explanation_json(answer);
  out["simulated"] = confirmed_json(answer);
  out["leases"] = leases_json(answer);
  out["jobs"] = jobs_json(answer);
  out["reconfiguration_assumed_for"] = answer.assumed_times;
  out["files"] = answer.written;
  return out.dump(2) + "\n";
}

}  // namespace partita::cli
