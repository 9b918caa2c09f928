// Jobs and timed leases of plan --fleet: each GPU drawn over time, slices downwards.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "cli/draw/draw_fleet.h"
#include "cli/draw/table.h"
#include "fleet/schedule/moment.h"

namespace partita::cli {
namespace {

constexpr std::size_t kMostDrawn = 6;  // GPUs
constexpr std::size_t kMostLines = 40;

// Something that holds units of a GPU for a time.
struct Block {
  int start = 0, size = 0;
  double from = 0, until = 0;
  std::string text;
  bool cut = false;  // being created or destroyed
};

// One character per unit and column. Each block begins with a bar; its name stands in its first row.
class Canvas {
 public:
  Canvas(const Look& look, int units, double end) : look_(look), end_(std::max(end, 1e-9)) {
    columns_ = std::clamp(look.width - 7, 20, 160);
    rows_.assign(static_cast<std::size_t>(units),
                 std::vector<std::string>(static_cast<std::size_t>(columns_), look.unicode ? "·" : "."));
  }

  void add(const Block& block) {
    const int from = column(block.from);
    const int until = std::max(from + 1, column(block.until));
    const auto name = fitted(look_, printable(block.text), until - from - 1);
    std::vector<std::string> letters;
    for (std::size_t i = 0; i < name.size();) {
      std::size_t n = 1;
      while (i + n < name.size() && (static_cast<unsigned char>(name[i + n]) & 0xC0U) == 0x80U) ++n;
      letters.push_back(name.substr(i, n));
      i += n;
    }
    for (int row = block.start; row < block.start + block.size && row < static_cast<int>(rows_.size()); ++row)
      for (int c = from; c < until && c < columns_; ++c) {
        auto& cell = rows_[static_cast<std::size_t>(row)][static_cast<std::size_t>(c)];
        const auto letter = static_cast<std::size_t>(c - from - 1);
        if (block.cut)
          cell = look_.unicode ? "░" : "#";
        else if (c == from)
          cell = look_.unicode ? "│" : "|";
        else if (row == block.start && letter < letters.size())
          cell = letters[letter];
        else
          cell = " ";
      }
  }

  std::string draw() const {
    std::string out;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      out += fmt::format("{:>3} ", row);
      for (const auto& cell : rows_[row]) out += cell;
      out += look_.unicode ? "│\n" : "|\n";
    }
    return out;
  }

 private:
  int column(double time) const {
    return std::clamp(static_cast<int>(std::floor(time / end_ * columns_)), 0, columns_);
  }

  const Look& look_;
  double end_;
  int columns_ = 0;
  std::vector<std::vector<std::string>> rows_;
};

std::string axis(double end) {
  return fmt::format("    0 s to {}, one row per placement unit\n", fleet::seconds_word(std::round(end * 10) / 10));
}

std::string title(const Look& look, std::string_view what, const fleet::Room& room, int kind, const std::string& gpu) {
  return paint(look, Tone::strong,
               fmt::format("{}, {}  {}", what, gpu, room.fleet.kinds[static_cast<std::size_t>(kind)].board->id)) +
         '\n';
}

std::string draw_gpu(const Look& look, const fleet::BatchPlan& plan, const fleet::GpuSchedule& gpu) {
  Canvas canvas(look, plan.room.fleet.kinds[static_cast<std::size_t>(gpu.kind)].board->placement_units,
                plan.schedule.makespan_s);
  for (const auto& instance : gpu.instances) {
    const int size = profile_of(plan.room, gpu.kind, instance.placed.profile).placement_size;
    const int start = instance.placed.start;
    if (!instance.there) canvas.add({start, size, instance.create_s, instance.ready_s, "", true});
    if (instance.destroy_s && instance.gone_s)
      canvas.add({start, size, *instance.destroy_s, *instance.gone_s, "", true});
    for (const auto& run : instance.runs)
      canvas.add({start, size, run.begin_s, run.end_s, plan.batch.jobs[static_cast<std::size_t>(run.job)].name, false});
  }
  return canvas.draw();
}

std::string more(std::size_t gpus) {
  return gpus > kMostDrawn ? fmt::format("and {} more: see them with -o json\n", count_of(gpus - kMostDrawn, "GPU"))
                           : "";
}

std::string assumed(const FleetAnswer& answer) {
  if (answer.assumed_times.empty()) return "";
  return "times to create and destroy are not known for " + join(answer.assumed_times, ", ") +
         ": the longest known of other boards are taken\n";
}

Table runs_table(const FleetAnswer& answer, const fleet::BatchPlan& plan, std::size_t& left) {
  Table table({{"job"}, {"GPU", true}, {"instance"}, {"begins", true}, {"ends", true}});
  std::size_t rows = 0;
  for (std::size_t g = 0; g < plan.schedule.gpus.size(); ++g)
    for (const auto& instance : plan.schedule.gpus[g].instances)
      for (const auto& run : instance.runs) {
        if (++rows > kMostLines) continue;
        const auto& profile = profile_of(plan.room, plan.schedule.gpus[g].kind, instance.placed.profile);
        table.add({{printable(plan.batch.jobs[static_cast<std::size_t>(run.job)].name)},
                   {timed_gpu(answer, first_of_jobs(answer) + g)},
                   {fmt::format("{}@{}", profile.name, instance.placed.start)},
                   {fmt::format("{:.1f}", run.begin_s)},
                   {fmt::format("{:.1f}", run.end_s)}});
      }
  left = rows > kMostLines ? rows - kMostLines : 0;
  return table;
}

}  // namespace

std::size_t first_of_jobs(const FleetAnswer& answer) { return answer.leases ? answer.leases->calendar.gpus.size() : 0; }

std::string timed_gpu(const FleetAnswer& answer, std::size_t number) {
  const auto gpu = number < answer.timed.size() ? answer.timed[number] : fleet::TimedGpu{};
  if (gpu.group < 0) return std::to_string(number);
  const auto& group = answer.fleet.groups[static_cast<std::size_t>(gpu.group)];
  return fmt::format("{} {}", printable(group.name), group.live[static_cast<std::size_t>(gpu.place)].index);
}

std::string timed_gpu_title(const FleetAnswer& answer, std::size_t number) {
  auto out = timed_gpu(answer, number);
  const auto behind = out.rfind(' ');  // of the node's name
  return out.insert(behind == std::string::npos ? 0 : behind + 1, "GPU ");
}

GpusInAll gpus_in_all(const FleetAnswer& answer) {
  GpusInAll out;
  if (answer.steady) {
    const auto sums = fleet::totals(answer.fleet.fleet, answer.plan);
    out.steady = sums.gpus_used;
    out.cost = sums.cost;
  }
  // Pinned beside the steady plan is what serves it, or was pinned before.
  const auto fresh = [&](const auto& gpus, const fleet::Room& room) {
    return std::ranges::count_if(gpus, [&](const auto& gpu) {
      const auto& kind = room.fleet.kinds[static_cast<std::size_t>(gpu.kind)];
      const bool counts = !answer.steady || std::ranges::none_of(kind.state, &fleet::Occupant::pinned);
      if (counts) out.cost += kind.price;
      return counts;
    });
  };
  if (answer.leases) out.leases = fresh(answer.leases->calendar.gpus, answer.leases->room);
  if (answer.batch) out.jobs = fresh(answer.batch->schedule.gpus, answer.batch->room);
  out.cost = fleet::sum_of_prices(out.cost);
  return out;
}

const catalog::Profile& profile_of(const fleet::Room& room, int kind, int profile) {
  return room.fleet.kinds[static_cast<std::size_t>(kind)].board->profiles[static_cast<std::size_t>(profile)];
}

std::string draw_batch(const Look& look, const FleetAnswer& answer) {
  if (!answer.batch) return "";
  const auto& plan = *answer.batch;
  std::string out;
  for (std::size_t g = 0; g < std::min(kMostDrawn, plan.schedule.gpus.size()); ++g)
    out +=
        title(look, "jobs", plan.room, plan.schedule.gpus[g].kind, timed_gpu_title(answer, first_of_jobs(answer) + g)) +
        draw_gpu(look, plan, plan.schedule.gpus[g]);
  out += more(plan.schedule.gpus.size()) + axis(plan.schedule.makespan_s) + '\n';
  std::size_t left = 0;
  out += runs_table(answer, plan, left).draw(look);
  if (left > 0) out += fmt::format("and {} more: see them with -o json\n", count_of(left, "run"));
  const auto& schedule = plan.schedule;
  const double value = schedule.value(plan.batch.goal);
  out += fmt::format("\n{} on {}: the last ends at {:.1f} s, mean completion {:.1f} s\n",
                     count_of(plan.batch.jobs.size(), "job"), count_of(schedule.gpus.size(), "GPU"),
                     schedule.makespan_s, schedule.mean_completion_s);
  out +=
      fmt::format("{}: {} {:.1f} s{}", schedule.optimal(plan.batch.goal) ? "optimal" : "best found",
                  plan.batch.goal == fleet::JobGoal::makespan ? "makespan" : "mean completion", value,
                  schedule.optimal(plan.batch.goal) ? " (proven least)"
                                                    : fmt::format(" (at least {:.1f}, gap {:.2f} %)", schedule.bound_s,
                                                                  100 * (value - schedule.bound_s) / value));
  if (schedule.stopped) out += "; stopped by the clock: another run may find another schedule";
  out += '\n';
  if (plan.added > 0)
    out += fmt::format("needs {} beside what is in use; with fewer than {} no schedule meets the deadline\n",
                       count_of(static_cast<std::size_t>(plan.added), "GPU"), plan.added_bound);
  return out + assumed(answer);
}

std::string draw_leases(const Look& look, const FleetAnswer& answer) {
  if (!answer.leases) return "";
  const auto& plan = *answer.leases;
  const auto& calendar = plan.calendar;
  double end = 0;
  for (const auto& gpu : calendar.gpus)
    for (const auto& span : gpu.spans) end = std::max(end, span.until_s);
  std::string out;
  for (std::size_t g = 0; g < std::min(kMostDrawn, calendar.gpus.size()); ++g) {
    const auto& gpu = calendar.gpus[g];
    Canvas canvas(look, plan.room.fleet.kinds[static_cast<std::size_t>(gpu.kind)].board->placement_units, end);
    for (const auto& span : gpu.spans)
      canvas.add({span.placed.start, profile_of(plan.room, gpu.kind, span.placed.profile).placement_size, span.from_s,
                  span.until_s, plan.leases[static_cast<std::size_t>(span.lease)].name, false});
    out += title(look, "leases", plan.room, gpu.kind, timed_gpu_title(answer, g)) + canvas.draw();
  }
  out += more(calendar.gpus.size()) + axis(end) + '\n';
  out +=
      fmt::format("leases never wait on {}: at most {} at once, most needed at {}; ",
                  count_of(calendar.gpus.size(), "GPU"), calendar.most_at_once, fleet::seconds_word(calendar.peak_s));
  out +=
      calendar.optimal() ? "proven least\n" : fmt::format("cost {:g}, at least {:g}\n", calendar.cost, calendar.bound);
  out += fmt::format("instances are cut within {:.2f} s of their lease's begin\n", calendar.longest_cut_s);
  return out + (answer.batch ? "" : assumed(answer));
}

}  // namespace partita::cli
