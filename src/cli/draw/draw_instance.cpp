// What status, plan and apply show of one instance: its name, its holder, its cell in a bar.
#include <algorithm>

#include "base/text.h"
#include "cli/draw/draw.h"

namespace partita::cli {
namespace {

std::string process_text(const layout::Process& process) {
  std::string out = "pid " + std::to_string(process.pid);
  if (!process.name.empty()) out += " (" + printable(process.name) + ")";
  if (process.memory) out += " " + to_string(*process.memory);
  return out;
}

std::vector<const layout::Process*> processes_on(const layout::Gpu& gpu, const layout::GpuInstance& instance) {
  std::vector<const layout::Process*> out;
  for (const auto& process : gpu.processes)
    if (process.gpu_instance == instance.id) out.push_back(&process);
  return out;
}

const layout::Pin* pin_for(const layout::GpuInstance& instance, layout::Pin::Reason reason) {
  const auto found = std::ranges::find(instance.pins, reason, &layout::Pin::reason);
  return found == instance.pins.end() ? nullptr : &*found;
}

std::vector<std::string> brief_processes(const std::vector<const layout::Process*>& processes) {
  const auto count = std::to_string(processes.size());
  if (processes.size() > 1) return {count + " processes", "(" + count + ")"};
  const auto pid = std::to_string(processes.front()->pid);
  const auto name = printable(processes.front()->name);
  if (name.empty()) return {"pid " + pid, pid};
  return {name + " " + pid, name};
}

std::string first_that_fits(const std::vector<std::string>& wordings, int columns) {
  for (const auto& wording : wordings)
    if (width_of(wording) <= columns) return wording;
  return wordings.empty() ? "" : wordings.back();
}

void append_if_it_fits(std::string& text, const std::string& more, int columns) {
  if (!more.empty() && width_of(text) + 1 + width_of(more) <= columns) text += " " + more;
}

}  // namespace

Holding holding_of(const Look& look, const layout::Gpu& gpu, const layout::GpuInstance& instance) {
  using Reason = layout::Pin::Reason;
  Holding out;
  out.mark = " ";
  std::vector<std::string> parts;
  if (const auto* foreign = pin_for(instance, Reason::foreign)) {
    out.tone = Tone::foreign;
    out.mark = look.unicode ? "○" : "?";
    out.brief = {"foreign"};
    parts.push_back(printable(foreign->holder));
  }
  if (const auto* lease = pin_for(instance, Reason::leased)) {
    out.tone = Tone::leased;
    out.mark = look.unicode ? "◆" : "+";
    auto name = printable(lease->holder);
    if (name.starts_with("lease ")) name.erase(0, 6);
    out.brief = {std::move(name)};
    parts.insert(parts.begin(), printable(lease->holder));
  }
  const auto processes = processes_on(gpu, instance);
  const auto* busy = pin_for(instance, Reason::busy);
  if (busy || !processes.empty()) {
    out.tone = Tone::busy;
    out.mark = look.unicode ? "●" : "*";
    out.brief = processes.empty() ? std::vector{printable(busy->holder)} : brief_processes(processes);
    std::vector<std::string> texts;
    for (const auto* process : processes) texts.push_back(process_text(*process));
    if (processes.empty()) texts.push_back(printable(busy->holder));
    parts.insert(parts.begin(), texts.begin(), texts.end());
  }
  out.whole = parts.empty() ? "idle" : join(parts, ", ");
  return out;
}

std::string name_that_fits(const std::string& name, int columns) {
  if (width_of(name) <= columns) return name;
  const auto gb = name.find("gb");
  const auto dot = name.rfind('.', gb);
  if (gb == std::string::npos || dot == std::string::npos) return name;
  return name.substr(0, dot) + name.substr(gb + 2);
}

std::string profile_name(const catalog::Board* board, int profile) {
  if (!board || profile < 0 || static_cast<std::size_t>(profile) >= board->profiles.size()) return "?";
  return board->profiles[static_cast<std::size_t>(profile)].name;
}

std::vector<BarCell> instance_cells(const Look& look, const layout::Gpu& gpu, int wide, CellLines lines) {
  std::vector<BarCell> out;
  for (const auto& instance : gpu.instances) {
    const auto holding = holding_of(look, gpu, instance);
    const int columns = instance.placement.size * wide - 1;
    const auto id = instance.id < 0 ? "" : "#" + std::to_string(instance.id);  // below 0: not made yet
    auto title = holding.mark + name_that_fits(profile_name(gpu.board.get(), instance.profile), columns - 1);
    const auto before_holder = id.empty() ? id : id + " ";
    if (lines == CellLines::one) append_if_it_fits(title, id, columns);
    if (instance.compute.size() > 1) append_if_it_fits(title, count_of(instance.compute.size(), "CI"), columns);
    if (instance.compute.empty()) append_if_it_fits(title, "bare", columns);
    const std::vector<std::string> nobody = {instance.compute.empty() ? "bare" : "idle", ""};
    const auto holder = first_that_fits(holding.brief.empty() ? nobody : holding.brief,
                                        columns - 1 - width_of(lines == CellLines::one ? title : id));
    if (lines == CellLines::one && !holding.brief.empty()) append_if_it_fits(title, holder, columns);
    out.push_back({instance.placement.start, instance.placement.size, {title, before_holder + holder}, holding.tone});
  }
  return out;
}

bool holders_fit(const Look& look, const layout::Gpu& gpu, int wide) {
  const auto cells = instance_cells(look, gpu, wide, CellLines::one);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto brief = holding_of(look, gpu, gpu.instances[i]).brief;
    const auto shown = [&](const auto& wording) { return cells[i].texts.front().ends_with(" " + wording); };
    if (!brief.empty() && std::ranges::none_of(brief, shown)) return false;
  }
  return true;
}

std::string gpu_label(const layout::NodeState& node, const std::string& uuid) {
  const auto found = std::ranges::find(node.gpus, uuid, &layout::Gpu::uuid);
  return found == node.gpus.end() ? uuid : "GPU " + std::to_string(found->index);
}

}  // namespace partita::cli
