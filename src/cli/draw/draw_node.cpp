// status: each GPU's memory to scale, with who holds what.
#include <fmt/format.h>
#include <algorithm>

#include "base/text.h"
#include "cli/draw/draw.h"
#include "cli/draw/table.h"
#include "layout/layout.h"

namespace partita::cli {
namespace {

constexpr int kIndent = 2;
constexpr std::size_t kFewGpus = 2;  // nodes of so few are shown in detail

struct FreeSlices {
  int memory = 0, compute = 0;
};

FreeSlices free_slices(const layout::Gpu& gpu) {
  const auto& board = *gpu.board;
  int units = board.placement_units, compute = board.compute_slices;
  for (const auto& instance : gpu.instances) {
    units -= instance.placement.size;
    if (static_cast<std::size_t>(instance.profile) < board.profiles.size())
      compute -= board.profiles[static_cast<std::size_t>(instance.profile)].compute_slices;
  }
  const int memory = board.placement_units > 0 ? units * board.memory_slices / board.placement_units : 0;
  return {std::max(0, memory), std::max(0, compute)};
}

bool cut(const layout::Gpu& gpu) { return gpu.mode && gpu.mode->current && gpu.board && gpu.board->has_mig(); }

Cell mode_of(const layout::Gpu& gpu) {
  if (gpu.fault) return {"fault: " + printable(*gpu.fault), Tone::bad};
  if (!gpu.mode) return {"no MIG on this GPU", Tone::faint};
  const auto& mode = *gpu.mode;
  if (mode.current != mode.pending)
    return {mode.current ? "MIG on, off after a reset" : "MIG off, on after a reset", Tone::warning};
  if (!mode.current) return {"MIG off", Tone::faint};
  return gpu.instances.empty() ? Cell{"MIG enabled, empty", Tone::good} : Cell{"MIG on", Tone::good};
}

std::string short_uuid(const std::string& uuid) {
  return printable(uuid.substr(0, std::min<std::size_t>(12, uuid.size())));
}

// A lost GPU answers nothing, not even its name.
std::string product_of(const layout::Gpu& gpu) { return gpu.product.empty() ? "?" : printable(gpu.product); }

std::string brief_product(const layout::Gpu& gpu) {
  const auto product = product_of(gpu);
  return product.starts_with("NVIDIA ") ? product.substr(7) : product;
}

std::string memory_in_use(const layout::Gpu& gpu) {
  const auto total = gpu.total_memory.value > 0 ? to_string(gpu.total_memory) : "?";  // GB10 shares the host's
  return gpu.used_memory ? to_string(*gpu.used_memory) + " of " + total + " used" : total + " memory";
}

// What stands beside the mode in one line per GPU.
std::string brief_room(const layout::Gpu& gpu) {
  if (gpu.fault) return {};
  const bool unused = !gpu.used_memory || gpu.used_memory->value == 0;
  if (!cut(gpu) && unused) return gpu.total_memory.value > 0 ? to_string(gpu.total_memory) : "";
  if (!cut(gpu)) return memory_in_use(gpu);
  const auto free = free_slices(gpu);
  return fmt::format("free {}/{} memory {}/{} compute", free.memory, gpu.board->memory_slices, free.compute,
                     gpu.board->compute_slices);
}

// Processes that run on the GPU as a whole.
std::string whole_gpu_line(const Look& look, const layout::Gpu& gpu) {
  std::vector<std::string> texts;
  for (const auto& process : gpu.processes) {
    auto text = "pid " + std::to_string(process.pid);
    if (!process.name.empty()) text += " (" + printable(process.name) + ")";
    if (process.memory) text += " " + to_string(*process.memory);
    texts.push_back(std::move(text));
  }
  const std::string margin(kIndent, ' ');
  if (texts.empty()) return {};
  const auto text = (look.unicode ? "●" : "*") + std::string("whole GPU: ") + join(texts, ", ");
  return margin + paint(look, Tone::busy, fitted(look, text, look.width - kIndent)) + '\n';
}

std::string body(const Look& look, const layout::Gpu& gpu, bool box) {
  if (gpu.fault) return {};
  if (!cut(gpu)) return whole_gpu_line(look, gpu);
  const int units = gpu.board->placement_units;
  const int wide = unit_width(look, units, kIndent);
  if (box) return draw_box(look, units, instance_cells(look, gpu, wide, CellLines::two), kIndent);
  if (holders_fit(look, gpu, wide))
    return draw_bar(look, units, instance_cells(look, gpu, wide, CellLines::one), kIndent);
  return draw_bar(look, units, instance_cells(look, gpu, wide, CellLines::two), kIndent, 2);
}

std::string detailed_room(const layout::Gpu& gpu) {
  if (gpu.fault) return {};
  if (!cut(gpu)) return memory_in_use(gpu);
  const auto free = free_slices(gpu);
  return fmt::format("free: {} of {} memory, {} of {} compute slices", free.memory, gpu.board->memory_slices,
                     free.compute, gpu.board->compute_slices);
}

std::string slices_text(const layout::Placement& placement) {
  return placement.size == 1 ? std::to_string(placement.start)
                             : fmt::format("{}-{}", placement.start, placement.start + placement.size - 1);
}

std::string device_text(const layout::Gpu& gpu, const catalog::Profile& profile,
                        const layout::ComputeInstance& compute) {
  const bool known = compute.profile >= 0 && static_cast<std::size_t>(compute.profile) < profile.compute.size();
  const auto name = known ? profile.compute[static_cast<std::size_t>(compute.profile)].name : "?";
  auto out = fmt::format("CI {}  {}", compute.id, compute.uuid.empty() ? "no MIG device" : printable(compute.uuid));
  if (compute.mig_index) out += fmt::format("  {}:{}", gpu.index, *compute.mig_index);
  if (name != profile.name) out += "  " + name;
  return out;
}

std::string instance_table(const Look& look, const layout::Gpu& gpu) {
  Table table({{"GI", true}, {"profile"}, {"slices"}, {"memory", true}, {"SMs", true}, {"held by"}});
  for (const auto& instance : gpu.instances) {
    static const catalog::Profile kUnknown{};
    const bool known = static_cast<std::size_t>(instance.profile) < gpu.board->profiles.size();
    const auto& profile = known ? gpu.board->profiles[static_cast<std::size_t>(instance.profile)] : kUnknown;
    const auto holding = holding_of(look, gpu, instance);
    table.add({{std::to_string(instance.id)},
               {known ? profile.name : "?", Tone::strong},
               {slices_text(instance.placement)},
               {profile.memory ? to_string(*profile.memory) : "?"},
               {profile.sm            ? std::to_string(*profile.sm)
                : profile.sm_estimate ? fmt::format("~{}", *profile.sm_estimate)
                                      : "?"},
               {holding.whole, holding.tone}});
    for (const auto& compute : instance.compute) table.add_note({device_text(gpu, profile, compute), Tone::faint});
    if (instance.compute.empty()) table.add_note({"no compute instance: nothing can run on it", Tone::warning});
  }
  return table.empty() ? "" : table.draw(look, kIndent);
}

std::string draw_gpu_in_detail(const Look& look, const layout::Gpu& gpu) {
  const auto mode = mode_of(gpu);
  const auto title = fmt::format("GPU {}", gpu.index);
  const auto margin = std::string(static_cast<std::size_t>(width_of(title)) + 2, ' ');
  std::string out =
      paint(look, Tone::strong, title) + "  " + product_of(gpu) + "  " + paint(look, mode.tone, mode.text) + '\n';
  std::vector<std::string> names;
  for (const auto& name : {gpu.uuid, gpu.pci_bus_id})
    if (!name.empty()) names.push_back(printable(name));
  if (gpu.utilization_percent) names.push_back(fmt::format("{} % busy", *gpu.utilization_percent));
  if (!names.empty()) out += margin + join(names, "  ") + '\n';
  if (const auto room = detailed_room(gpu); !room.empty()) out += margin + room + '\n';
  out += body(look, gpu, true);
  if (!gpu.fault && cut(gpu)) out += instance_table(look, gpu);
  return out;
}

std::string title_of(const Look& look, const api::StatusAnswer& answer, std::size_t gpu_count) {
  std::string out = paint(look, Tone::strong, printable(answer.node));
  if (answer.emulated) out += " (emulated)";
  out += "  driver " + (answer.state.driver_version.empty() ? "?" : printable(answer.state.driver_version));
  return out + "  " + count_of(gpu_count, "GPU") + '\n';
}

}  // namespace

std::string draw_gpu_briefly(const Look& look, const layout::Gpu& gpu) {
  const auto mode = mode_of(gpu);
  const auto title = fmt::format("GPU {}", gpu.index);
  const auto uuid = short_uuid(gpu.uuid);
  const auto room = brief_room(gpu);
  const auto mode_text = mode.text == "MIG enabled, empty" ? "enabled, empty" : mode.text;
  // The product is what gives way when the line is short of room.
  constexpr int kGap = 2, kShortestProduct = 8;
  const int taken = width_of(title) + width_of(uuid) + width_of(mode_text) + width_of(room) + 4 * kGap;
  const auto product = fitted(look, brief_product(gpu), std::max(kShortestProduct, look.width - taken));
  const int spare = std::max(kGap, look.width - taken + kGap - width_of(product));
  std::string out = paint(look, Tone::strong, title) + "  " + product;
  if (!uuid.empty()) out += "  " + paint(look, Tone::faint, uuid);
  out += "  " + paint(look, mode.tone, mode_text);
  if (!room.empty()) out += std::string(static_cast<std::size_t>(spare), ' ') + room;
  return out + '\n' + body(look, gpu, false);
}

std::string draw_legend(const Look& look, const std::vector<layout::Gpu>& gpus) {
  bool busy = false, leased = false, foreign = false, room = false;
  for (const auto& gpu : gpus) {
    room |= cut(gpu) && free_slices(gpu).memory > 0;
    for (const auto& instance : gpu.instances) {
      const auto tone = holding_of(look, gpu, instance).tone;
      busy |= tone == Tone::busy;
      leased |= tone == Tone::leased;
      foreign |= tone == Tone::foreign;
    }
  }
  std::vector<std::string> parts;
  if (busy) parts.push_back(paint(look, Tone::busy, look.unicode ? "●" : "*") + " in use");
  if (leased) parts.push_back(paint(look, Tone::leased, look.unicode ? "◆" : "+") + " leased");
  if (foreign) parts.push_back(paint(look, Tone::foreign, look.unicode ? "○" : "?") + " not made by partita");
  if (room) parts.push_back(paint(look, Tone::faint, look.unicode ? "·" : ".") + " free");
  return parts.empty() ? "" : std::string(kIndent, ' ') + join(parts, "   ") + '\n';
}

std::string draw_status(const Look& look, const api::StatusAnswer& answer, bool detailed, std::size_t gpu_count) {
  const auto& gpus = answer.state.gpus;
  detailed |= gpus.size() <= kFewGpus;
  std::string out = title_of(look, answer, gpu_count);
  for (const auto& gpu : gpus) out += detailed ? '\n' + draw_gpu_in_detail(look, gpu) : draw_gpu_briefly(look, gpu);
  if (detailed) out += '\n';
  out += draw_legend(look, gpus);
  return out + draw_warnings(look, answer.notes, "note");
}

std::string draw_warnings(const Look& look, const std::vector<std::string>& warnings, std::string_view label) {
  std::string out;
  for (const auto& warning : warnings)
    out += paint(look, Tone::warning, std::string(label) + ":") + " " + printable(warning) + '\n';
  return out;
}

}  // namespace partita::cli
