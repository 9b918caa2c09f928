// plan and apply: each changed GPU before and after, the steps between, what stays and why.
#include <fmt/format.h>
#include <algorithm>

#include "base/text.h"
#include "cli/draw/draw.h"
#include "cli/draw/table.h"

namespace partita::cli {
namespace {

constexpr int kBarIndent = 7;  // "  now  ": so that a unit of eight is nine columns wide at 80, enough for "+1g.10gb"
constexpr int kIndent = 10;    // "  steps   "

std::string label(std::string_view word) { return fmt::format("  {:<{}}", word, kIndent - 2); }

const catalog::Board* board_of(const api::GpuChange& change) {
  return change.board ? change.board.get() : change.before.board.get();
}

const catalog::Profile* profile_of(const catalog::Board* board, int profile) {
  if (!board || profile < 0 || static_cast<std::size_t>(profile) >= board->profiles.size()) return nullptr;
  return &board->profiles[static_cast<std::size_t>(profile)];
}

// A bar line whose indentation is a word.
std::string labelled(std::string_view word, const std::string& bar) {
  return fmt::format("  {:<{}}", word, kBarIndent - 2) + bar.substr(static_cast<std::size_t>(kBarIndent));
}

std::string mig_off(std::string_view word) { return labelled(word, std::string(kBarIndent, ' ') + "MIG off\n"); }

std::string before_line(const Look& look, const api::GpuChange& change) {
  const auto& gpu = change.before;
  if (!gpu.mode || !gpu.mode->current || !gpu.board) return mig_off("now");
  const int units = gpu.board->placement_units;
  const auto cells = instance_cells(look, gpu, unit_width(look, units, kBarIndent), CellLines::one);
  return labelled("now", draw_bar(look, units, cells, kBarIndent));
}

bool stays(const api::GpuChange& change, const plan::Placed& placed) {
  return std::ranges::find(change.plan.kept, placed) != change.plan.kept.end();
}

bool was_there(const api::GpuChange& change, const plan::Placed& placed) {
  const auto at = [&](const layout::GpuInstance& instance) {
    return instance.profile == placed.profile && instance.placement.start == placed.start;
  };
  const bool destroyed = std::ranges::any_of(change.plan.steps, [&](const plan::Step& step) {
    return step.kind == plan::Step::Kind::destroy_gpu_instance && step.profile == placed.profile &&
           step.start == placed.start;
  });
  return !destroyed && std::ranges::any_of(change.before.instances, at);
}

bool mig_after(const api::GpuChange& change) {
  return change.set_mode.value_or(change.before.mode && change.before.mode->current);
}

// Kept instances look as they did before, new ones carry a plus, those whose compute instances change a ~.
std::vector<BarCell> cells_after(const Look& look, const api::GpuChange& change, int wide) {
  std::vector<BarCell> out;
  for (const auto& cell : instance_cells(look, change.before, wide, CellLines::one)) {
    const auto kept = [&](const auto& placed) { return placed.start == cell.start; };
    if (std::ranges::any_of(change.plan.kept, kept)) out.push_back(cell);
  }
  for (const auto& placed : change.plan.result) {
    const auto* profile = profile_of(board_of(change), placed.profile);
    if (!profile || stays(change, placed)) continue;
    const int size = profile->placement_size;
    const auto name = name_that_fits(profile->name, size * wide - 2);
    out.push_back({placed.start, size, {(was_there(change, placed) ? "~" : "+") + name}, Tone::good});
  }
  return out;
}

std::string after_line(const Look& look, const api::GpuChange& change) {
  const auto* board = board_of(change);
  if (!mig_after(change) || !board) return mig_off("then");
  const int units = board->placement_units;
  const auto cells = cells_after(look, change, unit_width(look, units, kBarIndent));
  return labelled("then", draw_bar(look, units, cells, kBarIndent));
}

std::string compute_text(const catalog::Profile& profile, const plan::Step& step) {
  const bool known = step.compute >= 0 && static_cast<std::size_t>(step.compute) < profile.compute.size();
  return fmt::format("{}@{}", known ? profile.compute[static_cast<std::size_t>(step.compute)].name : "?",
                     step.compute_start);
}

// Steps in order, where consecutive ones that do the same share a line: "create 1g.5gb@4, 1g.5gb@5".
struct StepLine {
  std::string verb;
  std::vector<std::string> objects;
};

void add(std::vector<StepLine>& lines, std::string verb, std::string object) {
  if (lines.empty() || lines.back().verb != verb) lines.push_back({std::move(verb), {}});
  if (!object.empty()) lines.back().objects.push_back(std::move(object));
}

bool same_place(const plan::Step& a, const plan::Step& b) { return a.profile == b.profile && a.start == b.start; }

// The steps of the other kind at the same place from `from` on.
std::size_t count_at(const std::vector<plan::Step>& steps, std::size_t from, plan::Step::Kind kind) {
  return static_cast<std::size_t>(
      std::count_if(steps.begin() + static_cast<std::ptrdiff_t>(from), steps.end(),
                    [&](const auto& step) { return step.kind == kind && same_place(step, steps[from]); }));
}

// A compute instance that takes its whole GPU instance goes without saying when both are made or destroyed.
void add_instance_steps(std::vector<StepLine>& lines, const catalog::Board* board,
                        const std::vector<plan::Step>& steps) {
  using Kind = plan::Step::Kind;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& step = steps[i];
    const auto* profile = profile_of(board, step.profile);
    if (!profile) continue;
    const auto place = layout::name_at(*board, step.profile, step.start);
    const auto compute = compute_text(*profile, step);
    const bool whole = compute == profile->name + "@0";
    const auto made_before = std::any_of(
        steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(i),
        [&](const auto& earlier) { return earlier.kind == Kind::create_gpu_instance && same_place(earlier, step); });
    switch (step.kind) {
      case Kind::destroy_gpu_instance:
        add(lines, "destroy", place);
        break;
      case Kind::destroy_compute:
        if (count_at(steps, i, Kind::destroy_gpu_instance) == 0)
          add(lines, "in " + place + " destroy", whole ? "its compute instance" : compute);
        break;
      case Kind::create_gpu_instance:
        add(lines, "create",
            place + (count_at(steps, i, Kind::create_compute) == 0 ? " without a compute instance" : ""));
        break;
      case Kind::create_compute:
        if (!(whole && made_before)) add(lines, "in " + place + " create", whole ? "its compute instance" : compute);
        break;
    }
  }
}

void add_mode_steps(std::vector<StepLine>& lines, const api::GpuChange& change, bool on) {
  add(lines, on ? "turn MIG mode on" : "turn MIG mode off", "");
  if (!change.needs_reset) return;
  if (change.reset_together.size() > 1)
    add(lines, "reset together", join(change.reset_together, ", "));
  else
    add(lines, "reset the GPU", "");
}

std::string steps_block(const Look& look, const api::GpuChange& change) {
  std::vector<StepLine> lines;
  if (change.set_mode == true) add_mode_steps(lines, change, true);
  add_instance_steps(lines, board_of(change), change.plan.steps);
  if (change.set_mode == false) add_mode_steps(lines, change, false);
  std::string out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto text = lines[i].objects.empty() ? lines[i].verb : lines[i].verb + " " + join(lines[i].objects, ", ");
    out += label(i == 0 ? "steps" : "") + fmt::format("{}  ", i + 1) +
           wrapped(text, look.width, kIndent + 5, kIndent + 3) + '\n';
  }
  return out;
}

// Which instances in use stay, and which a forced change hits.
std::string kept_block(const Look& look, const api::GpuChange& change) {
  Table table({{""}, {""}, {""}});
  std::string_view last;
  for (const auto& instance : change.before.instances) {
    if (!instance.pinned() || !change.before.board) continue;
    const auto stays_at = [&](const auto& placed) { return placed.start == instance.placement.start; };
    const bool hit = std::ranges::none_of(change.plan.kept, stays_at);
    const std::string_view word = hit ? "hits" : "keeps";
    const auto holding = holding_of(look, change.before, instance);
    table.add({{fmt::format("{:<6}", word == last ? "" : word), hit ? Tone::bad : Tone::plain},
               {layout::name_at(*change.before.board, instance.profile, instance.placement.start),
                hit ? Tone::bad : holding.tone},
               {holding.whole}});
    last = word;
  }
  return table.empty() ? "" : table.draw(look, 2);
}

std::string draw_body(const Look& look, const api::GpuChange& change) {
  return before_line(look, change) + after_line(look, change) + steps_block(look, change) + kept_block(look, change);
}

// GPUs that change alike are drawn once.
std::string draw_changes(const Look& look, const std::vector<api::GpuChange>& changes) {
  struct Group {
    const layout::Gpu* first;
    std::string body;
    std::vector<int> indices;
  };
  std::vector<Group> groups;
  for (const auto& change : changes) {
    auto body = draw_body(look, change);
    const auto same = [&](const auto& group) {
      return group.body == body && group.first->product == change.before.product;
    };
    if (const auto found = std::ranges::find_if(groups, same); found != groups.end())
      found->indices.push_back(change.before.index);
    else
      groups.push_back({&change.before, std::move(body), {change.before.index}});
  }
  std::ranges::sort(groups, {}, [](const Group& group) { return group.first->index; });
  std::string out;
  for (const auto& group : groups) {
    const bool alone = group.indices.size() == 1;
    out += paint(look, Tone::strong, layout::gpu_names(group.indices)) + "  " + printable(group.first->product);
    out += alone ? "  " + paint(look, Tone::faint, printable(group.first->uuid)) : ", each";
    out += '\n' + group.body + '\n';
  }
  return out;
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
  if (untouched > 0) out += fmt::format("; {} untouched", count_of(untouched, "GPU"));
  return out + '\n';
}

}  // namespace

std::string draw_plan(const Look& look, const api::NodePlanAnswer& answer) {
  std::string out;
  out += draw_changes(look, answer.changes);
  out += draw_warnings(look, answer.warnings);
  if (answer.changes.empty()) return out + "nothing to do: the node is already as asked\n";
  return out + summary(answer, false);
}

std::string draw_apply(const Look& look, const api::ApplyAnswer& answer) {
  std::string out;  // what recovery did was told when it did it
  std::vector<layout::Gpu> changed;
  for (const auto& change : answer.plan.changes) {
    const auto after = std::ranges::find(answer.after.gpus, change.before.uuid, &layout::Gpu::uuid);
    if (after != answer.after.gpus.end()) changed.push_back(*after);
  }
  std::ranges::sort(changed, {}, &layout::Gpu::index);
  for (const auto& gpu : changed) out += draw_gpu_briefly(look, gpu);
  out += draw_legend(look, changed);
  out += draw_warnings(look, answer.plan.warnings);
  for (const auto& uuid : answer.pending_reset)
    out += draw_warnings(look, {gpu_label(answer.after, uuid) + ": the new MIG mode waits for a GPU reset"}, "pending");
  if (answer.plan.changes.empty()) return out + "nothing to do: the node is already as asked\n";
  return out + summary(answer.plan, true);
}

}  // namespace partita::cli
