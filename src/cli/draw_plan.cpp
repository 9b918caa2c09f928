// plan and apply: each changed GPU before and after, the steps between, what stays and why.
#include <fmt/format.h>
#include <algorithm>

#include "base/text.h"
#include "cli/draw.h"

namespace partita::cli {
namespace {

constexpr int kIndent = 10;  // "  before  "

std::string label(std::string_view word) { return fmt::format("  {:<{}}", word, kIndent - 2); }

const catalog::Board* board_of(const api::GpuChange& change) {
  return change.board ? change.board.get() : change.before.board.get();
}

const catalog::Profile* profile_of(const catalog::Board* board, int profile) {
  if (!board || profile < 0 || static_cast<std::size_t>(profile) >= board->profiles.size()) return nullptr;
  return &board->profiles[static_cast<std::size_t>(profile)];
}

// A bar line whose indentation is a label.
std::string labelled(std::string_view word, std::string bar) {
  return label(word) + bar.substr(static_cast<std::size_t>(kIndent));
}

std::string before_line(const Look& look, const api::GpuChange& change) {
  const auto& gpu = change.before;
  if (!gpu.mode || !gpu.mode->current || !gpu.board) return label("before") + "MIG off\n";
  const int units = gpu.board->placement_units;
  return labelled("before",
                  draw_bar(look, units, instance_cells(look, gpu, unit_width(look, units, kIndent)), kIndent));
}

bool stays(const api::GpuChange& change, const plan::Placed& placed) {
  return std::ranges::find(change.plan.kept, placed) != change.plan.kept.end();
}

bool mig_after(const api::GpuChange& change) {
  return change.set_mode.value_or(change.before.mode && change.before.mode->current);
}

// Kept instances look as they did before, new ones carry a plus.
std::vector<BarCell> cells_after(const Look& look, const api::GpuChange& change, int wide) {
  std::vector<BarCell> out;
  for (const auto& cell : instance_cells(look, change.before, wide)) {
    const auto kept = [&](const auto& placed) { return placed.start == cell.start; };
    if (std::ranges::any_of(change.plan.kept, kept)) out.push_back(cell);
  }
  for (const auto& placed : change.plan.result) {
    const auto* profile = profile_of(board_of(change), placed.profile);
    if (!profile || stays(change, placed)) continue;
    const int size = profile->placement_size;
    out.push_back({placed.start, size, {"+" + name_that_fits(profile->name, size * wide - 2)}, Tone::good});
  }
  return out;
}

std::string after_line(const Look& look, const api::GpuChange& change) {
  const auto* board = board_of(change);
  if (!mig_after(change) || !board) return label("after") + "MIG off\n";
  const int units = board->placement_units;
  return labelled("after", draw_bar(look, units, cells_after(look, change, unit_width(look, units, kIndent)), kIndent));
}

std::string compute_text(const catalog::Profile& profile, const plan::Step& step) {
  const bool known = step.compute >= 0 && static_cast<std::size_t>(step.compute) < profile.compute.size();
  if (!known) return "compute instance";
  const auto& compute = profile.compute[static_cast<std::size_t>(step.compute)];
  if (compute.name == profile.name) return "compute instance";
  return fmt::format("compute instance {}@{}", compute.name, step.compute_start);
}

std::string step_text(const catalog::Board* board, const plan::Step& step) {
  using Kind = plan::Step::Kind;
  const auto* profile = profile_of(board, step.profile);
  if (!profile) return "?";
  const auto place = layout::name_at(*board, step.profile, step.start);
  switch (step.kind) {
    case Kind::destroy_compute:
      return "destroy " + compute_text(*profile, step) + " of " + place;
    case Kind::destroy_gpu_instance:
      return "destroy " + place;
    case Kind::create_gpu_instance:
      return "create " + place;
    case Kind::create_compute:
      return "create " + compute_text(*profile, step) + " in " + place;
  }
  return "?";
}

bool same_place(const plan::Step& a, const plan::Step& b) { return a.profile == b.profile && a.start == b.start; }

// A GPU instance and the compute instances made or destroyed with it are one line: "create 3g.20gb@4".
std::vector<std::string> instance_steps(const catalog::Board* board, const std::vector<plan::Step>& steps) {
  using Kind = plan::Step::Kind;
  std::vector<std::string> out;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& step = steps[i];
    const auto whole = [&](const plan::Step& each) {
      const auto* profile = profile_of(board, each.profile);
      return profile && compute_text(*profile, each) == "compute instance";
    };
    if (step.kind == Kind::create_gpu_instance) {
      const bool with_compute = i + 1 < steps.size() && steps[i + 1].kind == Kind::create_compute &&
                                same_place(step, steps[i + 1]) && whole(steps[i + 1]);
      const bool bare =
          i + 1 >= steps.size() || steps[i + 1].kind != Kind::create_compute || !same_place(step, steps[i + 1]);
      out.push_back(step_text(board, step) + (bare ? " without a compute instance" : ""));
      if (with_compute) ++i;
      continue;
    }
    const bool goes_with_gpu_instance =
        step.kind == Kind::destroy_compute &&
        std::any_of(steps.begin() + static_cast<std::ptrdiff_t>(i), steps.end(), [&](const auto& later) {
          return later.kind == Kind::destroy_gpu_instance && same_place(step, later);
        });
    if (!goes_with_gpu_instance) out.push_back(step_text(board, step));
  }
  return out;
}

std::vector<std::string> all_steps(const api::GpuChange& change) {
  auto instances = instance_steps(board_of(change), change.plan.steps);
  if (!change.set_mode) return instances;
  std::vector<std::string> mode = {*change.set_mode ? "turn MIG mode on" : "turn MIG mode off"};
  if (change.needs_reset) {
    std::string reset = "reset the GPU";
    if (change.reset_together.size() > 1) reset = "reset the GPUs " + join(change.reset_together, ", ");
    mode.push_back(std::move(reset));
  }
  if (*change.set_mode) {
    mode.insert(mode.end(), instances.begin(), instances.end());
    return mode;
  }
  instances.insert(instances.end(), mode.begin(), mode.end());
  return instances;
}

std::string steps_block(const Look& look, const api::GpuChange& change) {
  std::string out;
  const auto steps = all_steps(change);
  for (std::size_t i = 0; i < steps.size(); ++i)
    out += label(i == 0 ? "steps" : "") + fmt::format("{:>2}  ", i + 1) +
           wrapped(steps[i], look.width, kIndent + 4, kIndent + 4) + '\n';
  return out;
}

std::string kept_block(const Look& look, const api::GpuChange& change) {
  std::string out;
  for (const auto& instance : change.before.instances) {
    if (!instance.pinned() || !change.before.board) continue;
    const bool hit = std::ranges::none_of(change.plan.kept,
                                          [&](const auto& placed) { return placed.start == instance.placement.start; });
    const auto holding = holding_of(look, change.before, instance);
    const auto name = layout::name_at(*change.before.board, instance.profile, instance.placement.start);
    out +=
        label(hit ? "hits" : "keeps") + paint(look, hit ? Tone::bad : holding.tone, name) + "  " + holding.whole + '\n';
  }
  return out;
}

std::string draw_change(const Look& look, const api::GpuChange& change) {
  const auto& gpu = change.before;
  return paint(look, Tone::strong, fmt::format("GPU {}", gpu.index)) + "  " + printable(gpu.product) + "  " +
         paint(look, Tone::faint, printable(gpu.uuid)) + '\n' + before_line(look, change) + after_line(look, change) +
         steps_block(look, change) + kept_block(look, change);
}

std::string summary(const api::NodePlanAnswer& answer, bool done) {
  const auto changed = answer.changes.size(), all = answer.before.gpus.size();
  const auto untouched = all > changed ? all - changed : 0;
  int modes = 0;
  for (const auto& change : answer.changes) modes += change.set_mode.has_value() ? 1 : 0;
  std::string out = fmt::format("{} {}, {} {}, {} {} on {}", done ? "kept" : "keeps", answer.gpu_instances_kept,
                                done ? "destroyed" : "destroys", answer.gpu_instances_destroyed,
                                done ? "created" : "creates", answer.gpu_instances_created, count_of(changed, "GPU"));
  if (modes > 0) out += fmt::format(", MIG mode {} on {}", done ? "changed" : "changes", modes);
  return out + fmt::format("; {} untouched\n", count_of(untouched, "GPU"));
}

}  // namespace

std::string draw_plan(const Look& look, const api::NodePlanAnswer& answer) {
  std::string out;
  for (const auto& change : answer.changes) out += draw_change(look, change) + '\n';
  out += draw_warnings(look, answer.warnings);
  if (answer.changes.empty()) return out + "nothing to do: the node is already as asked\n";
  if (answer.forced) out += paint(look, Tone::bad, "forced:") + " instances in use will be destroyed\n";
  return out + summary(answer, false);
}

std::string draw_apply(const Look& look, const api::ApplyAnswer& answer) {
  std::string out = draw_warnings(look, answer.recovered, "recovered");
  for (const auto& change : answer.plan.changes) {
    const auto after = std::ranges::find(answer.after.gpus, change.before.uuid, &layout::Gpu::uuid);
    if (after != answer.after.gpus.end()) out += draw_gpu_briefly(look, *after);
  }
  if (!out.empty()) out += draw_legend(look, answer.after.gpus);
  out += draw_warnings(look, answer.plan.warnings);
  for (const auto& uuid : answer.pending_reset)
    out += draw_warnings(look, {gpu_label(answer.after, uuid) + ": the new MIG mode waits for a GPU reset"}, "pending");
  if (answer.plan.changes.empty()) return out + "nothing to do: the node is already as asked\n";
  return out + summary(answer.plan, true);
}

}  // namespace partita::cli
