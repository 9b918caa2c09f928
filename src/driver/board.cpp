// The driver's tables laid over the catalog's board.
#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "driver/tables.h"
#include "layout/profile_name.h"

namespace partita::driver {
namespace {

using catalog::Attributes;
using catalog::Board;
using catalog::ComputeProfile;
using catalog::Profile;

constexpr std::string_view kFromDriver = "driver";

// By the driver's name where it gives one, else by the profile number.
Attributes attributes_of(const GpuProfileRow& row) {
  if (!row.name.empty()) {
    if (auto parsed = layout::parse_profile_name(row.name)) return parsed->attributes;
  }
  Attributes attributes;
  switch (row.nvml_profile) {
    case kNvmlProfile1SliceMe:
    case kNvmlProfile2SliceMe:
      attributes.me = true;
      break;
    case kNvmlProfile1SliceGfx:
    case kNvmlProfile2SliceGfx:
    case kNvmlProfile4SliceGfx:
      attributes.gfx = true;
      break;
    case kNvmlProfile1SliceNoMe:
    case kNvmlProfile2SliceNoMe:
      attributes.no_me = true;
      break;
    case kNvmlProfile1SliceAllMe:
    case kNvmlProfile2SliceAllMe:
      attributes.me_all = true;
      break;
    default:
      break;
  }
  return attributes;
}

std::vector<int> starts_of(const std::vector<NvmlPlacement>& placements) {
  std::vector<int> starts;
  for (const auto& placement : placements) starts.push_back(static_cast<int>(placement.start));
  return starts;
}

// The name the driver prints; where it gives none, made by the same formula, or the catalog's while sizes are unknown.
std::string name_of(const GpuProfileRow& row, const Profile& profile, Bytes total) {
  if (!row.name.empty()) return row.name;
  if (row.memory_mib == 0 || total.value == 0) return profile.name;
  return layout::to_string(layout::ProfileName{.compute_slices_of_ci = std::nullopt,
                                               .compute_slices = row.slices,
                                               .gb = layout::name_gb(mib(row.memory_mib), total),
                                               .attributes = profile.attributes});
}

std::string compute_name(int slices, const Profile& profile) {
  return slices == profile.compute_slices ? profile.name : fmt::format("{}c.{}", slices, profile.name);
}

void overlay_compute(ComputeProfile& compute, const ComputeProfileRow& row, const Profile& profile) {
  compute.name = row.name.empty() ? compute_name(row.slices, profile) : row.name;
  compute.nvml_profile = row.nvml_profile;
  compute.compute_slices = row.slices;
  compute.sm = row.sm > 0 ? std::optional(row.sm) : compute.sm;
  compute.max_instances = row.instances;
  if (!row.placements.empty()) {
    compute.placements = starts_of(row.placements);
    compute.placement_size = static_cast<int>(row.placements.front().size);
  } else if (compute.placements.empty()) {  // not told: side by side from 0
    compute.placement_size = row.slices;
    for (int n = 0; n < row.instances; ++n) compute.placements.push_back(n * row.slices);
  }
}

// Keeps indices: see effective_board.
void overlay_compute_profiles(Profile& profile, const std::vector<ComputeProfileRow>& rows) {
  std::vector<bool> placed(rows.size(), false);
  std::vector<bool> listed(profile.compute.size(), false);
  const auto match = [&](auto same) {
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (std::size_t c = 0; c < listed.size() && !placed[r]; ++c) {
        if (listed[c] || !same(profile.compute[c], rows[r])) continue;
        overlay_compute(profile.compute[c], rows[r], profile);
        placed[r] = listed[c] = true;
      }
    }
  };
  match([](const ComputeProfile& c, const ComputeProfileRow& r) { return c.nvml_profile == r.nvml_profile; });
  match([](const ComputeProfile& c, const ComputeProfileRow& r) { return c.compute_slices == r.slices; });

  for (std::size_t c = 0; c < listed.size(); ++c) {
    if (listed[c]) continue;
    profile.compute[c].max_instances = 0;
    profile.compute[c].placements.clear();
    profile.compute[c].is_default = false;
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (placed[r]) continue;
    ComputeProfile compute;
    overlay_compute(compute, rows[r], profile);
    compute.confidence = kFromDriver;
    profile.compute.push_back(std::move(compute));
  }
}

// One default: the catalog's where the driver lists it, else the full-size one with the most SMs.
void choose_default(Profile& profile) {
  if (std::ranges::any_of(profile.compute, &ComputeProfile::is_default)) return;
  ComputeProfile* best = nullptr;
  for (auto& compute : profile.compute) {
    if (compute.max_instances == 0 || compute.compute_slices != profile.compute_slices) continue;
    if (best == nullptr || compute.sm.value_or(0) > best->sm.value_or(0)) best = &compute;
  }
  if (best != nullptr) best->is_default = true;
}

// NVML_COMPUTE_INSTANCE_PROFILE_* of the plain profile with so many slices.
int compute_profile_number(int slices) {
  switch (slices) {
    case 8:
      return 5;
    case 7:
      return 4;
    default:
      return slices == 6 ? 6 : slices - 1;
  }
}

// A profile whose compute instances are not known yet has at least the one that takes it all.
ComputeProfileRow full_size_row(const GpuProfileRow& row) {
  const int number = compute_profile_number(row.slices);
  return {.nvml_profile = number,
          .id = number,
          .name = "",
          .slices = row.slices,
          .instances = 1,
          .sm = row.sm,
          .placements = {}};
}

void overlay_numbers(Profile& profile, const GpuProfileRow& row) {
  profile.id = row.id;
  profile.compute_slices = row.slices;
  profile.max_instances = row.instances;
  if (row.memory_mib > 0) profile.memory = mib(row.memory_mib);
  if (row.sm > 0) {
    profile.sm = row.sm;
    profile.sm_estimate.reset();
  }
  profile.engines = {row.copy, row.decoder, row.encoder, row.jpeg, row.ofa};
}

void overlay_placements(Profile& profile, const GpuProfileRow& row) {
  if (row.placements.empty()) return;
  const auto starts = starts_of(row.placements);
  if (starts != profile.placements) profile.driver_order = starts;
  profile.placements = starts;
  profile.placement_size = static_cast<int>(row.placements.front().size);
  profile.placements_assumed = false;
  // Some drivers count more instances than there are places.
  profile.max_instances = std::min(profile.max_instances, static_cast<int>(starts.size()));
}

Profile overlay_profile(const Profile* known, const GpuProfileRow& row, const ProfileTables& tables, Bytes total) {
  Profile profile;
  if (known != nullptr) {
    profile = *known;
  } else {
    profile.nvml_profile = row.nvml_profile;
    profile.attributes = attributes_of(row);
    profile.confidence = kFromDriver;
  }
  overlay_numbers(profile, row);
  overlay_placements(profile, row);
  const std::string old_name = profile.name;
  profile.name = name_of(row, profile, total);
  if (known != nullptr && profile.name != old_name) profile.catalog_name = old_name;

  const auto compute = tables.compute.find(row.id);
  if (compute != tables.compute.end()) {
    overlay_compute_profiles(profile, compute->second);
  } else if (profile.compute.empty()) {
    overlay_compute_profiles(profile, {full_size_row(row)});
  } else if (profile.name != old_name) {  // "1c.1g.23gb" follows "1g.24gb"
    for (auto& c : profile.compute) c.name = compute_name(c.compute_slices, profile);
  }
  choose_default(profile);
  return profile;
}

const GpuProfileRow* find_row(const ProfileTables& tables, const Profile& profile) {
  const auto* row = tables.by_nvml_profile(profile.nvml_profile);
  return row != nullptr && row->slices == profile.compute_slices ? row : nullptr;
}

// The grid and slice counts follow from the largest profile, and memory slices from the placement sizes.
void derive_grid(Board& board) {
  int units = 0, slices = 0;
  for (const auto& profile : board.profiles) {
    slices = std::max(slices, profile.compute_slices);
    for (const int start : profile.placements) units = std::max(units, start + profile.placement_size);
  }
  if (units == 0) return;
  if (units != board.placement_units) {
    board.placement_units = units;
    board.memory_slices = slices == 7 ? 8 : slices;
  }
  board.compute_slices = std::max(board.compute_slices, slices);
  for (auto& profile : board.profiles) {
    if (profile.memory_slices == 0) profile.memory_slices = profile.placement_size * board.memory_slices / units;
  }
}

Board unknown_board(const GpuIdentity& identity) {
  Board board;
  board.id = fmt::format("pci-{:04x}", identity.pci_device);
  board.product = identity.product;
  board.pci_devices = {identity.pci_device};
  board.family = "unknown";
  board.mode_change_needs_reset = identity.mode_change_needs_reset;
  board.mode_survives_reboot = identity.mode_change_needs_reset;  // both are Ampere's way
  board.sources = {std::string(kFromDriver)};
  board.note = "not in the catalog; made from the driver's tables";
  return board;
}

}  // namespace

Board effective_board(const Board* known, const ProfileTables& tables, const GpuIdentity& identity) {
  Board board = known != nullptr ? *known : unknown_board(identity);
  if (identity.total_memory.value > 0) board.total_memory = identity.total_memory;

  board.profiles.clear();
  std::vector<std::optional<int>> new_index;
  std::vector<const GpuProfileRow*> taken;
  if (known != nullptr) {  // in the catalog's order, so that indices agree with a board seen before MIG was on
    for (const auto& profile : known->profiles) {
      const auto* row = find_row(tables, profile);
      new_index.push_back(row != nullptr ? std::optional(static_cast<int>(board.profiles.size())) : std::nullopt);
      if (row == nullptr) continue;
      board.profiles.push_back(overlay_profile(&profile, *row, tables, identity.total_memory));
      taken.push_back(row);
    }
  }
  for (const auto& row : tables.gpu) {
    if (std::ranges::find(taken, &row) != taken.end()) continue;
    board.profiles.push_back(overlay_profile(nullptr, row, tables, identity.total_memory));
  }
  for (auto& type : board.vgpu_types) {
    if (type.profile) type.profile = new_index.at(static_cast<std::size_t>(*type.profile));
  }
  derive_grid(board);
  return board;
}

}  // namespace partita::driver
