// boards: what a board can be cut into, with placements to scale.
#include <fmt/format.h>
#include <algorithm>

#include "base/text.h"
#include "cli/draw/draw.h"
#include "cli/draw/table.h"

namespace partita::cli {
namespace {

constexpr int kIndent = 2;

template <class T>
std::string known(const std::optional<T>& value, std::string_view unit = "") {
  return value ? fmt::format("{}{}", *value, unit) : "?";
}

std::string sm_text(const catalog::Profile& profile) {
  if (profile.sm) return std::to_string(*profile.sm);
  return profile.sm_estimate ? fmt::format("~{}", *profile.sm_estimate) : "?";
}

std::string engines_text(const catalog::Engines& engines) {
  std::vector<std::string> parts;
  const auto add = [&](const std::optional<int>& count, std::string_view name) {
    if (!count)
      parts.push_back(fmt::format("?{}", name));
    else if (*count > 0)
      parts.push_back(fmt::format("{}{}", *count, name));
  };
  add(engines.copy, " copy");
  add(engines.decoder, " dec");
  add(engines.encoder, " enc");
  add(engines.jpeg, " jpg");
  add(engines.ofa, " ofa");
  return join(parts, " ");
}

// Rows of bars on which every placement of a profile appears once, none over another.
std::vector<std::vector<int>> rows_of_placements(const catalog::Profile& profile) {
  std::vector<std::vector<int>> rows;
  for (const int start : profile.placements) {
    const auto row =
        std::ranges::find_if(rows, [&](const auto& each) { return each.back() + profile.placement_size <= start; });
    if (row == rows.end())
      rows.push_back({start});
    else
      row->push_back(start);
  }
  return rows;
}

std::string placements_drawing(const Look& look, const catalog::Board& board) {
  std::size_t widest = 0;
  for (const auto& profile : board.profiles) widest = std::max(widest, profile.name.size());
  const int indent = kIndent + static_cast<int>(widest) + 2;
  std::string out;
  for (const auto& profile : board.profiles) {
    bool first = true;
    for (const auto& starts : rows_of_placements(profile)) {
      std::vector<BarCell> cells;
      for (const int start : starts)
        cells.push_back({start,
                         profile.placement_size,
                         {fmt::format(" @{}{}", start, profile.placements_assumed ? "~" : "")},
                         Tone::idle});
      const auto bar = draw_bar(look, board.placement_units, cells, indent);
      out += padded(look, std::string(kIndent, ' ') + (first ? profile.name : ""), indent) +
             bar.substr(static_cast<std::size_t>(indent));
      first = false;
    }
  }
  return out;
}

std::string profiles_table(const Look& look, const catalog::Board& board) {
  Table table({{"profile"},
               {"id", true},
               {"max", true},
               {"compute", true},
               {"memory", true},
               {"size", true},
               {"SMs", true},
               {"engines"},
               {"known"}});
  for (const auto& profile : board.profiles)
    table.add({{profile.name, Tone::strong},
               {known(profile.id)},
               {std::to_string(profile.max_instances)},
               {std::to_string(profile.compute_slices)},
               {std::to_string(profile.memory_slices)},
               {profile.memory ? to_string(*profile.memory) : "?"},
               {sm_text(profile)},
               {engines_text(profile.engines)},
               {profile.confidence, profile.confidence == "verified" ? Tone::good : Tone::warning}});
  return table.draw(look, kIndent);
}

std::string compute_table(const Look& look, const catalog::Board& board) {
  Table table({{"in"}, {"compute instance"}, {"id", true}, {"max", true}, {"SMs", true}, {"starts"}});
  for (const auto& profile : board.profiles)
    for (const auto& compute : profile.compute)
      table.add({{profile.name},
                 {compute.name + (compute.is_default ? " *" : "")},
                 {std::to_string(compute.nvml_profile)},
                 {std::to_string(compute.max_instances)},
                 {known(compute.sm)},
                 {fmt::format("{}", fmt::join(compute.placements, " "))}});
  return table.empty() ? "" : table.draw(look, kIndent);
}

std::string vgpu_table(const Look& look, const catalog::Board& board) {
  Table table({{"vGPU type"}, {"id", true}, {"frame buffer", true}, {"max", true}, {"mixed", true}, {"backed by"}});
  for (const auto& type : board.vgpu_types)
    table.add({{type.name},
               {known(type.id)},
               {type.frame_buffer ? to_string(*type.frame_buffer) : "?"},
               {known(type.max_per_gpu)},
               {type.mig_backed ? "" : known(type.max_per_gpu_mixed)},
               {type.profile      ? profile_name(&board, *type.profile)
                : type.mig_backed ? "?"
                                  : "time slices"}});
  return table.empty() ? "" : table.draw(look, kIndent);
}

std::string pci_text(const std::vector<std::uint16_t>& devices) {
  std::vector<std::string> parts;
  for (const auto device : devices) parts.push_back(fmt::format("0x{:04X}", device));
  return join(parts, " ");
}

std::string facts(const Look& look, const catalog::Board& board) {
  Table table({{""}, {""}});
  const auto& specs = board.specs;
  const auto row = [&](std::string name, std::string value) {
    if (!value.empty()) table.add({{std::move(name), Tone::faint}, {std::move(value)}});
  };
  row("PCI device", pci_text(board.pci_devices));
  row("chip", fmt::format("{}, compute capability {}", board.chip,
                          specs.compute_capability.empty() ? "?" : specs.compute_capability));
  row("whole GPU", fmt::format("{} SMs, {}, {}, {}", known(specs.sm_count),
                               board.total_memory ? to_string(*board.total_memory) : "? memory",
                               known(specs.memory_bandwidth_gb_per_s, " GB/s"), known(specs.tdp_w, " W")));
  row("peak", fmt::format("{} fp16 tensor, {} tf32, {} fp32, {} fp64", known(specs.fp16_tensor_tflops, " TFLOPS"),
                          known(specs.tf32_tensor_tflops), known(specs.fp32_tflops), known(specs.fp64_tflops)));
  if (board.has_mig()) {
    row("slices", fmt::format("{} compute, {} memory{}", board.compute_slices, board.memory_slices,
                              board.placement_units != board.memory_slices
                                  ? fmt::format(", placed on a grid of {}", board.placement_units)
                                  : ""));
    row("MIG mode",
        fmt::format("{}, {}", board.mode_change_needs_reset ? "changes with a GPU reset" : "changes without a reset",
                    board.mode_survives_reboot ? "survives a reboot" : "off after a reboot"));
  }
  row("driver", board.min_driver.empty() ? "" : "from " + board.min_driver);
  row("note", printable(board.note));
  row("sources", join(board.sources, ", "));
  return table.draw(look, kIndent);
}

std::string section(const Look& look, std::string_view title, const std::string& text) {
  return text.empty() ? "" : '\n' + paint(look, Tone::strong, title) + '\n' + text;
}

}  // namespace

std::string draw_boards(const Look& look, const std::vector<std::shared_ptr<const catalog::Board>>& boards) {
  Table table({{"board"}, {"memory", true}, {"slices"}, {"PCI device"}, {"product"}});
  for (const auto& board : boards)
    table.add({{board->id, Tone::strong},
               {known(board->nominal_gb, " GB")},
               {board->has_mig() ? fmt::format("{}/{}", board->compute_slices, board->memory_slices) : "no MIG"},
               {pci_text(board->pci_devices)},
               {board->product}});
  return table.draw(look) + "\n  slices: compute/memory   ? not known\n";
}

std::string draw_board(const Look& look, const catalog::Board& board) {
  std::string out = paint(look, Tone::strong, board.id) + "  " + board.product + '\n' + facts(look, board);
  if (!board.has_mig()) return out + "\n  no MIG on this board\n";
  out += section(look, "GPU instance profiles (compute and memory in slices)", profiles_table(look, board));
  out += section(look, "placements", placements_drawing(look, board));
  out += section(look, "compute instances (* is the usual one)", compute_table(look, board));
  return out + section(look, "vGPU types", vgpu_table(look, board)) + "\n  ? not known   ~ estimated or assumed\n";
}

}  // namespace partita::cli
