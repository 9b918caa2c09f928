#include "fleet/schedule/timed_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ranges>
#include <set>

#include "base/csv.h"
#include "base/text.h"
#include "fleet/schedule/yaml_words.h"

namespace partita::fleet {

namespace {

constexpr std::size_t kMostCopies = kMostJobs;

Result<double> number_of(const YamlPlace& place, const YamlNode& node, std::string_view key, double least,
                         double most) {
  const auto& member = *node.find(key);
  const double value = TRY(as_number(place.at(key), member));
  if (!(value >= least) || value > most)
    return yaml_fail(place.at(key), member,
                     fmt::format("expected a number from {:g} to {:g}, found {}", least, most, member.text));
  return value;
}

std::optional<int> slices_of(const std::string& text) {
  int out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size() && out >= 1 && out <= 64 ? std::optional(out)
                                                                                           : std::nullopt;
}

// The plain profile of a size with the least memory that has so much; nullopt: the board has none.
std::optional<int> plain_profile(const catalog::Board& board, int slices, Bytes memory) {
  std::optional<int> best;
  for (std::size_t p = 0; p < board.profiles.size(); ++p) {
    const auto& profile = board.profiles[p];
    if (profile.attributes != catalog::Attributes{} || profile.compute_slices != slices) continue;
    if (memory.value > 0 && (!profile.memory || *profile.memory < memory)) continue;
    if (!best || profile.memory_slices < board.profiles[static_cast<std::size_t>(*best)].memory_slices)
      best = static_cast<int>(p);
  }
  return best;
}

Result<std::vector<JobWay>> ways_of(const YamlPlace& place, const YamlNode& node, Bytes memory, const Fleet& fleet) {
  TRY_VOID(as_mapping(place, node));
  std::vector<JobWay> out;
  for (const auto& [key, value] : node.members) {
    const double seconds = TRY(number_of(place, node, key, 1e-6, kMostSeconds));
    const auto slices = slices_of(key);
    if (!slices) {
      for (const auto& server : TRY(read_servers(place, value, fleet, key)))
        out.push_back({server.kind, server.profile, seconds});
      continue;
    }
    for (std::size_t k = 0; k < fleet.kinds.size(); ++k)
      if (const auto profile = plain_profile(*fleet.kinds[k].board, *slices, memory))
        out.push_back({static_cast<int>(k), *profile, seconds});
  }
  if (!out.empty()) return out;
  if (memory.value > 0 && ways_of(place, node, {}, fleet))
    return yaml_fail(place, node,
                     "none of these sizes has so much memory on a board of the fleet: ask for less memory, or give the "
                     "time of a larger size");
  return yaml_fail(place, node, "expected times for at least one size that a board of the fleet has, found none");
}

Result<PredictedWork> work_of(const YamlPlace& place, const YamlNode& node) {
  PredictedWork out;
  out.workload = TRY(as_text(place.at("workload"), *node.find("workload")));
  if (node.find("samples") == nullptr) return yaml_fail(place, node, "a workload needs samples: how many it works on");
  out.samples = TRY(number_of(place, node, "samples", 1, 1e15));
  if (const auto* each = node.find("training")) out.training = TRY(as_bool(place.at("training"), *each));
  if (const auto* each = node.find("batch"))
    out.batch = static_cast<int>(TRY(as_integer(place.at("batch"), *each, 1, 65'536)));
  return out;
}

// A name for what has none: the usual one, numbered where it is taken.
std::string free_name(const std::string& usual, std::int64_t count, const std::set<std::string>& names) {
  const auto taken = [&](const std::string& name) {
    if (count == 1) return names.contains(name);
    return std::ranges::any_of(std::views::iota(std::int64_t{1}, count + 1),
                               [&](auto n) { return names.contains(fmt::format("{}-{}", name, n)); });
  };
  auto name = usual;
  for (int n = 2; taken(name); ++n) name = fmt::format("{}-{}", usual, n);
  return name;
}

Result<void> read_job(const YamlPlace& place, const YamlNode& node, const Fleet& fleet, BatchFile& into,
                      std::set<std::string>& names) {
  constexpr std::array<std::string_view, 10> optional{"name",     "times_s",  "count", "release_s", "priority",
                                                      "workload", "training", "batch", "samples",   "memory"};
  TRY_VOID(require_keys(place, node, {}, optional));
  const auto *times = node.find("times_s"), *workload = node.find("workload");
  if ((times == nullptr) == (workload == nullptr))
    return yaml_fail(place, node, "expected either times_s, or workload and samples");
  for (const auto* key : {"training", "batch", "samples"})
    if (workload == nullptr && node.find(key) != nullptr)
      return yaml_fail(place.at(key), *node.find(key), "only a workload has it");
  if (workload != nullptr && node.find("memory") != nullptr)
    return yaml_fail(place.at("memory"), *node.find("memory"), "the memory of a workload is predicted: leave it out");
  Job job;
  if (node.find("release_s") != nullptr) job.release_s = TRY(number_of(place, node, "release_s", 0, kMostSeconds));
  if (node.find("priority") != nullptr) job.priority = TRY(number_of(place, node, "priority", 1e-6, 1e6));
  if (times != nullptr) {
    Bytes memory;
    if (const auto* each = node.find("memory")) memory = TRY(read_memory(place.at("memory"), *each));
    job.ways = TRY(ways_of(place.at("times_s"), *times, memory, fleet));
  }
  std::int64_t count = 1;
  if (const auto* each = node.find("count"))
    count = TRY(as_integer(place.at("count"), *each, 1, static_cast<std::int64_t>(kMostCopies)));
  if (into.jobs.size() + static_cast<std::size_t>(count) > kMostJobs)
    return yaml_fail(place, node, fmt::format("expected at most {} jobs in all, found more", kMostJobs));
  auto name =
      free_name(workload != nullptr ? workload->text : fmt::format("job-{}", into.jobs.size() + 1), count, names);
  if (const auto* each = node.find("name")) name = TRY(read_name(place.at("name"), *each));
  for (std::int64_t n = 1; n <= count; ++n) {
    job.name = count > 1 ? fmt::format("{}-{}", name, n) : name;
    if (!names.insert(job.name).second)
      return yaml_fail(place, node, "another job is called " + quote(job.name) + ": give it a name of its own");
    if (workload != nullptr) {
      auto work = TRY(work_of(place, node));
      work.job = into.jobs.size();
      into.predicted.push_back(std::move(work));
    }
    into.jobs.push_back(job);
  }
  return {};
}

Result<std::map<int, double>> seconds_by_slices(const YamlPlace& place, const YamlNode& node) {
  TRY_VOID(as_mapping(place, node));
  std::map<int, double> out;
  for (const auto& [key, value] : node.members) {
    const auto slices = slices_of(key);
    if (!slices) return yaml_fail(place.at(key), value, "expected a number of compute slices, found " + quote(key));
    out[*slices] = TRY(number_of(place, node, key, 0, kMostSeconds));
  }
  if (out.empty()) return yaml_fail(place, node, "expected at least one size, found none");
  return out;
}

// The entry of a size, else of the next larger one, else of the largest.
double nearest(const std::map<int, double>& by_slices, int slices) {
  const auto at = by_slices.lower_bound(slices);
  return at == by_slices.end() ? by_slices.rbegin()->second : at->second;
}

struct MeasuredTimes {
  std::map<int, double> create_s, destroy_s;
};

Result<std::map<std::string, MeasuredTimes>> measured_times(std::string_view text, const std::string& file) {
  const auto table = TRY(parse_csv(text, file));
  const auto gpu = TRY(table.require("gpu")), slices = TRY(table.require("gpc_slices"));
  const auto create = TRY(table.require("create_s")), destroy = TRY(table.require("destroy_s"));
  std::map<std::string, MeasuredTimes> out;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    auto& one = out[table.rows[r][gpu]];
    const int size = static_cast<int>(TRY(table.number(r, slices)).value_or(0));
    one.create_s[size] = TRY(table.number(r, create)).value_or(0);
    one.destroy_s[size] = TRY(table.number(r, destroy)).value_or(0);
  }
  if (out.empty()) return fail(ErrorCode::invalid, file + ": expected times to create and destroy, found none");
  return out;
}

}  // namespace

Result<void> read_jobs(const YamlPlace& place, const YamlNode& node, const Fleet& fleet, BatchFile& into) {
  const auto* list = TRY(as_sequence(place, node));
  std::set<std::string> names;
  for (std::size_t i = 0; i < list->size(); ++i) TRY_VOID(read_job(place.at(i), (*list)[i], fleet, into, names));
  if (into.jobs.empty()) return yaml_fail(place, node, "expected at least one job, found none");
  return {};
}

Result<void> read_batch(const YamlPlace& place, const YamlNode& node, BatchFile& into) {
  constexpr std::array<std::string_view, 4> optional{"goal", "deadline_s", "create_s", "destroy_s"};
  TRY_VOID(require_keys(place, node, {}, optional));
  if (const auto* goal = node.find("goal")) {
    const auto text = TRY(as_text(place.at("goal"), *goal));
    if (text != "makespan" && text != "mean_completion")
      return yaml_fail(place.at("goal"), *goal, "expected makespan or mean_completion, found " + quote(text));
    into.goal = text == "makespan" ? JobGoal::makespan : JobGoal::mean_completion;
  }
  if (node.find("deadline_s") != nullptr) into.deadline_s = TRY(number_of(place, node, "deadline_s", 1e-3, 1e10));
  if (const auto* each = node.find("create_s")) into.create_s = TRY(seconds_by_slices(place.at("create_s"), *each));
  if (const auto* each = node.find("destroy_s")) into.destroy_s = TRY(seconds_by_slices(place.at("destroy_s"), *each));
  return {};
}

Result<std::vector<TimedLease>> read_leases(const YamlPlace& place, const YamlNode& node, const Fleet& fleet) {
  constexpr std::array<std::string_view, 3> required{"profile", "from_s", "for_s"};
  constexpr std::array<std::string_view, 2> optional{"count", "name"};
  const auto* list = TRY(as_sequence(place, node));
  std::vector<TimedLease> out;
  std::set<std::string> names;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const auto here = place.at(i);
    const auto& each = (*list)[i];
    TRY_VOID(require_keys(here, each, required, optional));
    TimedLease lease;
    const auto profile = TRY(as_text(here.at("profile"), *each.find("profile")));
    lease.servers = TRY(read_servers(here.at("profile"), *each.find("profile"), fleet, profile));
    lease.from_s = TRY(number_of(here, each, "from_s", 0, kLastSecond));
    lease.for_s = TRY(number_of(here, each, "for_s", 1e-3, kLastSecond));
    if (const auto* count = each.find("count")) lease.count = TRY(as_integer(here.at("count"), *count, 1, kMostLeases));
    lease.name = free_name(profile, 1, names);
    if (const auto* name = each.find("name")) lease.name = TRY(read_name(here.at("name"), *name));
    if (!names.insert(lease.name).second)
      return yaml_fail(here, each, "another lease is called " + quote(lease.name) + ": give it a name of its own");
    sum += lease.count;
    if (sum > kMostLeases)
      return yaml_fail(here, each, fmt::format("expected at most {} leases in all, found more", kMostLeases));
    out.push_back(std::move(lease));
  }
  if (out.empty()) return yaml_fail(place, node, "expected at least one lease, found none");
  return out;
}

Result<std::vector<std::vector<ReconfigureTime>>> reconfigure_times(std::string_view table, const std::string& file,
                                                                    const Fleet& fleet, const BatchFile& batch,
                                                                    std::vector<std::string>& assumed) {
  const auto measured = TRY(measured_times(table, file));
  MeasuredTimes longest;
  for (const auto& [gpu, times] : measured) {
    for (const auto& [size, s] : times.create_s) longest.create_s[size] = std::max(longest.create_s[size], s);
    for (const auto& [size, s] : times.destroy_s) longest.destroy_s[size] = std::max(longest.destroy_s[size], s);
  }
  std::vector<std::vector<ReconfigureTime>> out;
  for (const auto& kind : fleet.kinds) {
    const MeasuredTimes* times = nullptr;
    for (const auto& [gpu, each] : measured)
      if (kind.board->product.find(gpu) != std::string::npos) times = &each;
    if (times == nullptr) {
      times = &longest;
      if ((batch.create_s.empty() || batch.destroy_s.empty()) &&
          std::ranges::find(assumed, kind.board->id) == assumed.end())
        assumed.push_back(kind.board->id);
    }
    out.emplace_back();
    for (const auto& profile : kind.board->profiles)
      out.back().push_back(
          {nearest(batch.create_s.empty() ? times->create_s : batch.create_s, profile.compute_slices),
           nearest(batch.destroy_s.empty() ? times->destroy_s : batch.destroy_s, profile.compute_slices)});
  }
  return out;
}

}  // namespace partita::fleet
