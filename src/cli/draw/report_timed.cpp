// Timelines of a fleet plan's page: who holds which slices of a GPU, over time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "cli/draw/explain_words.h"
#include "cli/draw/report_parts.h"
#include "fleet/schedule/moment.h"

namespace partita::cli {
namespace {

using report::Drawing;
using report::Kind;
using Fill = Drawing::Look::Fill;

constexpr std::size_t kMostGpus = 12;  // drawn
constexpr int kColours = 8;
constexpr double kNarrow = 0.01;  // of the length: runs on one instance that together are shorter become one block

std::size_t at(int i) { return static_cast<std::size_t>(i); }

struct TimeUnit {
  double seconds;
  const char* name;
};
TimeUnit unit_for(double length_s) {
  constexpr double kMinute = 60, kHour = 3600, kDay = 86'400;
  if (length_s > 3 * kDay) return {kDay, "days"};
  if (length_s > 3 * kHour) return {kHour, "hours"};
  return length_s > 10 * kMinute ? TimeUnit{kMinute, "minutes"} : TimeUnit{1, "seconds"};
}

// 1, 2 or 5 times a power of ten: about six of them.
double step_for(double length) {
  const double power = std::pow(10, std::floor(std::log10(length / 6)));
  for (const double times : {1.0, 2.0, 5.0})
    if (times * power * 7 >= length) return times * power;
  return 10 * power;
}

Drawing over_time(std::string title, double end_s, std::size_t gpus) {
  Drawing out;
  out.title = std::move(title);
  const auto unit = unit_for(end_s);
  out.length = std::max(end_s, 1e-6) / unit.seconds;
  out.step = step_for(out.length);
  out.scale = fmt::format("time ({})", unit.name);
  out.note = "Downwards: the memory slices of each GPU.";
  if (gpus > kMostGpus)
    out.note += fmt::format(" {} more are in the JSON output (-o json).", count_of(gpus - kMostGpus, "GPU"));
  return out;
}

Drawing::Row gpu_row(const FleetAnswer& answer, const fleet::Room& room, int kind, std::size_t number) {
  const auto& board = *room.fleet.kinds[at(kind)].board;
  return {timed_gpu_title(answer, number), board.id, board.placement_units, {}};
}

// "train-12" of "train": copies of a line share a colour.
std::string_view line_of(std::string_view name) {
  const auto end = name.find_last_not_of("0123456789");
  return end != std::string_view::npos && end + 1 < name.size() && name[end] == '-' ? name.substr(0, end) : name;
}

// A colour per line, in the order in which they come; none of the legend's names where there are too many.
class LineLooks {
 public:
  explicit LineLooks(Drawing& drawing) : drawing_(drawing) {}
  int of(std::string_view name) {
    const auto line = line_of(name);
    for (std::size_t i = 0; i < lines_.size(); ++i)
      if (lines_[i] == line) return std::min<int>(static_cast<int>(i), kColours - 1);
    lines_.emplace_back(line);
    const auto n = static_cast<int>(lines_.size());
    if (n <= kColours) drawing_.looks.push_back({lines_.back(), Fill::colour, n - 1});
    if (n == kColours + 1) drawing_.looks[kColours - 1].name = "others";
    return std::min(n, kColours) - 1;
  }
  // Behind the lines, once all are known.
  int cut() {
    drawing_.looks.push_back({"being created or destroyed", Fill::solid, 0});
    return static_cast<int>(drawing_.looks.size()) - 1;
  }

 private:
  Drawing& drawing_;
  std::vector<std::string> lines_;
};

Drawing::Block block_at(const plan::Placed& placed, int size, double from_s, double until_s, double per) {
  Drawing::Block out;
  out.from = from_s / per;
  out.until = until_s / per;
  out.top = placed.start;
  out.height = size;
  return out;
}

void add_runs(const fleet::BatchPlan& plan, const fleet::GpuSchedule& gpu, const fleet::TimedInstance& instance,
              double per, LineLooks& looks, Drawing::Row& row) {
  const auto& profile = profile_of(plan.room, gpu.kind, instance.placed.profile);
  const auto name = [&](const fleet::JobRun& run) { return plan.batch.jobs[at(run.job)].name; };
  const double narrow = kNarrow * plan.schedule.makespan_s;
  for (std::size_t i = 0; i < instance.runs.size();) {
    std::size_t next = i + 1;
    while (next < instance.runs.size() && instance.runs[next].end_s - instance.runs[i].begin_s < narrow) ++next;
    const auto& first = instance.runs[i];
    const auto& last = instance.runs[next - 1];
    auto block = block_at(instance.placed, profile.placement_size, first.begin_s, last.end_s, per);
    block.text = next == i + 1 ? name(first) : count_of(next - i, "job");
    block.detail = fmt::format("{}: {}, {:.1f} s to {:.1f} s", block.text, profile.name, first.begin_s, last.end_s);
    block.look = looks.of(name(first));
    row.blocks.push_back(std::move(block));
    i = next;
  }
}

void add_cuts(const fleet::BatchPlan& plan, const fleet::GpuSchedule& gpu, double per, int look, Drawing::Row& row) {
  for (const auto& instance : gpu.instances) {
    const auto& profile = profile_of(plan.room, gpu.kind, instance.placed.profile);
    const auto add = [&](double from, double until, std::string_view what) {
      auto block = block_at(instance.placed, profile.placement_size, from, until, per);
      block.detail = fmt::format("{} {}, {:.1f} s to {:.1f} s", profile.name, what, from, until);
      block.look = look;
      row.blocks.push_back(std::move(block));
    };
    if (!instance.there) add(instance.create_s, instance.ready_s, "is created");
    if (instance.destroy_s && instance.gone_s) add(*instance.destroy_s, *instance.gone_s, "is destroyed");
  }
}

Drawing jobs_drawing(const FleetAnswer& answer, const fleet::BatchPlan& plan, std::size_t first) {
  const auto& gpus = plan.schedule.gpus;
  auto out = over_time("Jobs over time", plan.schedule.makespan_s, gpus.size());
  out.kind = Kind::predicted;
  const double per = unit_for(plan.schedule.makespan_s).seconds;
  LineLooks looks(out);
  for (std::size_t g = 0; g < std::min(kMostGpus, gpus.size()); ++g) {
    out.rows.push_back(gpu_row(answer, plan.room, gpus[g].kind, first + g));
    for (const auto& instance : gpus[g].instances) add_runs(plan, gpus[g], instance, per, looks, out.rows.back());
  }
  const int cut = looks.cut();
  for (std::size_t g = 0; g < out.rows.size(); ++g) add_cuts(plan, gpus[g], per, cut, out.rows[g]);
  return out;
}

}  // namespace

report::Section jobs_section(const FleetAnswer& answer, const fleet::BatchPlan& plan) {
  const auto first = first_of_jobs(answer);
  report::Table table{"Jobs",
                      {"job", "GPU", "instance", "begins (s)", "ends (s)"},
                      {Kind::input, Kind::planned, Kind::planned, Kind::predicted, Kind::predicted},
                      {}};
  for (std::size_t g = 0; g < plan.schedule.gpus.size(); ++g)
    for (const auto& instance : plan.schedule.gpus[g].instances)
      for (const auto& run : instance.runs)
        table.rows.push_back(
            {plan.batch.jobs[at(run.job)].name, timed_gpu(answer, first + g),
             fmt::format("{}@{}", profile_of(plan.room, plan.schedule.gpus[g].kind, instance.placed.profile).name,
                         instance.placed.start),
             fmt::format("{:.1f}", run.begin_s), fmt::format("{:.1f}", run.end_s)});
  report::Section out{"Jobs", {}, {}};
  if (plan.added > 0)
    out.paragraphs.push_back(
        fmt::format("The jobs need {} beside what is in use; with fewer than {} no schedule meets the deadline.",
                    count_of(static_cast<std::size_t>(plan.added), "GPU"), plan.added_bound));
  if (const auto more = cut_rows(table, "runs"); !more.empty()) out.paragraphs.push_back(more);
  out.parts.emplace_back(jobs_drawing(answer, plan, first));
  out.parts.emplace_back(std::move(table));
  return out;
}

report::Section leases_section(const FleetAnswer& answer, const fleet::LeasePlan& plan) {
  const auto& gpus = plan.calendar.gpus;
  double end = 0;
  for (const auto& gpu : gpus)
    for (const auto& span : gpu.spans) end = std::max(end, span.until_s);
  auto drawing = over_time("Leases over time", end, gpus.size());
  const double per = unit_for(end).seconds;
  LineLooks looks(drawing);
  for (std::size_t g = 0; g < std::min(kMostGpus, gpus.size()); ++g) {
    auto& row = drawing.rows.emplace_back(gpu_row(answer, plan.room, gpus[g].kind, g));
    for (const auto& span : gpus[g].spans) {
      const auto& profile = profile_of(plan.room, gpus[g].kind, span.placed.profile);
      auto block = block_at(span.placed, profile.placement_size, span.from_s, span.until_s, per);
      block.text = plan.leases[at(span.lease)].name;
      block.detail = fmt::format("{}: {}@{}, {:.6g} s to {:.6g} s", block.text, profile.name, span.placed.start,
                                 span.from_s, span.until_s);
      block.look = looks.of(block.text);
      row.blocks.push_back(std::move(block));
    }
  }
  report::Section out{"Leases", {}, {}};
  out.paragraphs.push_back(
      fmt::format("Most room is needed at {}. Instances are cut within {:.2f} s of the begin of their lease.",
                  fleet::seconds_word(plan.calendar.peak_s), plan.calendar.longest_cut_s));
  out.parts.emplace_back(std::move(drawing));
  return out;
}

}  // namespace partita::cli
