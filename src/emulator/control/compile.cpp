#include "emulator/control/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <vector>

#include "base/text.h"
#include "emulator/control/driver_names.h"
#include "emulator/control/identity.h"
#include "emulator/control/limits.h"
#include "emulator/engine/engine.h"

namespace partita::emulator {

namespace {

using catalog::Board;
using catalog::Profile;

constexpr std::uint16_t kNvidia = 0x10DE;
constexpr std::uint64_t kGranuleMib = 128;  // the driver gives instances whole granules

struct Entry {
  const NodeFile& file;
  const NodeGpus& gpus;
  std::size_t number;

  std::unexpected<Error> wrong(std::string_view key, std::string_view message,
                               ErrorCode code = ErrorCode::invalid) const {
    return fail(code, fmt::format("{}:{}: gpus[{}].{}: {}", file.file, gpus.line, number, key, message));
  }
};

// "3g.20gb+me" -> 20.
std::optional<int> gb_of(std::string_view name) {
  const std::size_t dot = name.rfind("g.");
  if (dot == std::string_view::npos) return std::nullopt;
  int gb = 0;
  const auto [end, status] = std::from_chars(name.data() + dot + 2, name.data() + name.size(), gb);
  if (status != std::errc{} || !std::string_view(end, name.data() + name.size()).starts_with("gb")) return std::nullopt;
  return gb > 0 ? std::optional(gb) : std::nullopt;
}

// What the file's driver shows of the board otherwise than the catalog; the file's own keys go before.
struct Shown {
  std::optional<Bytes> total_memory;
  std::vector<ProfileOverride> profiles;
  std::vector<std::string> absent;

  const ProfileOverride* find(const Profile& profile) const {
    const auto found = std::ranges::find(profiles, profile.name, &ProfileOverride::name);
    return found == profiles.end() ? nullptr : &*found;
  }
};

Result<Shown> shown_by_driver(const NodeFile& file, const NodeGpus& gpus) {
  Shown shown{gpus.total_memory, gpus.profiles, {}};
  const int branch = driver_branch(file.driver);
  for (const DriverNames& row : TRY(driver_names())) {
    if (!row.holds(gpus.board, branch)) continue;
    if (!shown.total_memory) shown.total_memory = row.total_memory;
    for (const DriverProfile& profile : row.profiles) {
      if (profile.absent)
        shown.absent.push_back(profile.name);
      else
        shown.profiles.push_back({profile.name, profile.spelling, profile.memory});
    }
  }
  return shown;
}

Bytes memory_of(const Board& board, const std::optional<Bytes>& shown) {
  if (shown) return *shown;
  if (board.total_memory) return *board.total_memory;
  if (!board.has_mig()) return Bytes{0};  // GB10: the CPU's memory, the driver reports none
  for (const Profile& profile : board.profiles)
    if (profile.memory_slices == board.memory_slices)
      if (const std::optional<int> gb = gb_of(profile.name)) return gib(static_cast<std::uint64_t>(*gb));
  return gib(static_cast<std::uint64_t>(board.nominal_gb.value_or(0)));
}

std::vector<int> version(std::string_view text) {
  std::vector<int> numbers;
  if (text.starts_with('R')) text.remove_prefix(1);
  for (const std::string& part : split(text, '.')) {
    int number = 0;
    std::from_chars(part.data(), part.data() + part.size(), number);
    numbers.push_back(number);
  }
  return numbers;
}

ComputeProfileSpec compile_compute(const catalog::ComputeProfile& from, const Profile& profile,
                                   const std::string& spelling) {
  ComputeProfileSpec to;
  to.nvml_profile = from.nvml_profile;
  to.slices = from.compute_slices;
  to.sm = from.sm.value_or(0);
  to.max_instances = from.max_instances;
  to.size = from.placement_size;
  to.starts = from.placements;
  to.name = from.name;
  if (to.name.ends_with(profile.name))
    to.name.replace(to.name.size() - profile.name.size(), std::string::npos, spelling);
  return to;
}

int id_of(const Profile& profile) { return profile.id.value_or(100 + profile.nvml_profile); }

ProfileSpec compile_profile(const Board& board, const Profile& from, const ProfileOverride* change, Bytes total) {
  ProfileSpec to;
  to.nvml_profile = from.nvml_profile;
  to.id = id_of(from);
  to.name = change && change->spelling ? *change->spelling : from.name;
  to.compute_slices = from.compute_slices;
  to.memory_slices = from.memory_slices;
  to.max_instances = from.max_instances;
  const std::uint64_t share = in_mib(total) * static_cast<std::uint64_t>(from.memory_slices) /
                              static_cast<std::uint64_t>(std::max(1, board.memory_slices));
  to.memory_mib = share - share % kGranuleMib;
  if (from.memory) to.memory_mib = in_mib(*from.memory);
  if (change && change->memory) to.memory_mib = in_mib(*change->memory);
  to.sm = from.sm.value_or(from.sm_estimate.value_or(0));
  to.copy = from.engines.copy.value_or(0);
  to.decoder = from.engines.decoder.value_or(0);
  to.encoder = from.engines.encoder.value_or(0);
  to.jpeg = from.engines.jpeg.value_or(0);
  to.ofa = from.engines.ofa.value_or(0);
  to.me = from.attributes.me;
  to.me_all = from.attributes.me_all;
  to.no_me = from.attributes.no_me;
  to.gfx = from.attributes.gfx;
  to.size = from.placement_size;
  to.starts = from.placements;
  to.driver_order = from.driver_order;
  for (const catalog::ComputeProfile& compute : from.compute)
    to.compute.push_back(compile_compute(compute, from, to.name));
  return to;
}

Result<void> check_board(const Entry& entry, const Board& board) {
  const NodeGpus& gpus = entry.gpus;
  if (version(entry.file.driver) < version(board.min_driver))
    return entry.wrong("board", fmt::format("{} needs driver {} or newer, but the file says driver {}", board.id,
                                            board.min_driver, entry.file.driver));
  if (gpus.mig_enabled && !board.has_mig()) return entry.wrong("mig", fmt::format("{} has no MIG", board.id));
  if (gpus.mirrored && board.placement_units != 8)
    return entry.wrong("mirrored", fmt::format("only boards of 8 memory slices are mirrored, {} has a grid of {}",
                                               board.id, board.placement_units));
  std::vector<std::string> names;
  for (const Profile& profile : board.profiles) names.push_back(profile.name);
  for (const ProfileOverride& change : gpus.profiles)
    if (std::ranges::find(names, change.name) == names.end())
      return entry.wrong(
          "profiles",
          fmt::format("{} has no profile {}{}", board.id, quote(change.name), did_you_mean(change.name, names)),
          ErrorCode::not_found);
  return {};
}

void set_memory(GpuSpec& gpu, Bytes total) {
  gpu.memory_mib = in_mib(total);
  gpu.bar1_mib = gpu.memory_mib == 0 ? 0 : std::bit_ceil(gpu.memory_mib);
}

GpuSpec plain_gpu(const NodeGpus& gpus, const PlainGpu& from) {
  GpuSpec gpu;
  gpu.product = from.product;
  gpu.pci_device_id = static_cast<std::uint32_t>(from.pci_device) << 16 | kNvidia;
  gpu.sm = from.sm;
  gpu.compute_capability_major = from.compute_capability_major;
  gpu.compute_capability_minor = from.compute_capability_minor;
  gpu.architecture = from.architecture;
  set_memory(gpu, gpus.total_memory.value_or(Bytes{0}));
  return gpu;
}

VgpuTypeSpec compile_vgpu_type(const Board& board, const catalog::VgpuType& from, int id) {
  VgpuTypeSpec type;
  type.id = id;
  type.name = from.name;
  type.frame_buffer_mib = in_mib(from.frame_buffer.value_or(Bytes{0}));
  type.max_instances = from.max_per_gpu.value_or(0);
  if (from.profile) type.profile_id = id_of(board.profiles[static_cast<std::size_t>(*from.profile)]);
  return type;
}

Result<GpuSpec> board_gpu(catalog::Catalog& catalog, const Entry& entry) {
  const NodeGpus& gpus = entry.gpus;
  const auto found = catalog.board(gpus.board);
  if (!found) return entry.wrong("board", found.error().message, found.error().code);
  const Board& board = **found;
  TRY_VOID(check_board(entry, board));
  GpuSpec gpu;
  gpu.product = board.product;
  gpu.chip_id = chip_id(board.chip);
  if (!board.pci_devices.empty()) gpu.pci_device_id = static_cast<std::uint32_t>(board.pci_devices[0]) << 16 | kNvidia;
  gpu.units = board.has_mig() ? board.placement_units : 0;
  gpu.compute_slices = board.compute_slices;
  gpu.memory_slices = board.memory_slices;
  gpu.mode_change_needs_reset = board.mode_change_needs_reset;
  gpu.mode_survives_reboot = board.mode_survives_reboot;
  gpu.mirrored = gpus.mirrored;
  gpu.mig_enabled = gpus.mig_enabled;
  gpu.reset_group = gpus.reset_group;
  gpu.nvlinks = gpus.nvlinks;
  gpu.sm = board.specs.sm_count.value_or(0);
  const std::vector<int> capability = version(board.specs.compute_capability);
  gpu.compute_capability_major = capability[0];
  gpu.compute_capability_minor = capability.size() > 1 ? capability[1] : 0;
  gpu.architecture = split(board.family, '-')[0];
  TRY_VOID(set_power_and_clocks(gpu, board));
  const Shown shown = TRY(shown_by_driver(entry.file, gpus));
  const Bytes total = memory_of(board, shown.total_memory);
  set_memory(gpu, total);
  for (const Profile& profile : board.profiles)
    if (std::ranges::find(shown.absent, profile.name) == shown.absent.end())
      gpu.profiles.push_back(compile_profile(board, profile, shown.find(profile), total));
  TRY_VOID(set_measured_times(gpu, board));
  for (const catalog::VgpuType& type : board.vgpu_types)
    if (type.id) gpu.vgpu_types.push_back(compile_vgpu_type(board, type, *type.id));
  return gpu;
}

}  // namespace

Result<NodeSpec> compile(catalog::Catalog& catalog, const NodeFile& file, const std::string& name,
                         const std::string& type) {
  NodeSpec node;
  node.name = name;
  node.type = type;
  node.driver_version = file.driver;
  node.cuda_version = file.cuda;
  node.vgpu_host = file.vgpu_host;
  for (std::size_t number = 0; number < file.gpus.size(); ++number) {
    const NodeGpus& gpus = file.gpus[number];
    const GpuSpec one = gpus.plain ? plain_gpu(gpus, *gpus.plain) : TRY(board_gpu(catalog, Entry{file, gpus, number}));
    for (int i = 0; i < gpus.count; ++i) {
      GpuSpec gpu = one;
      const int index = static_cast<int>(node.gpus.size());
      Identity who = identity(name, index);
      gpu.uuid = std::move(who.uuid);
      gpu.pdi = who.pdi;
      gpu.serial = std::move(who.serial);
      gpu.minor = index;
      gpu.pci_bus_id = gpus.bus_ids.empty() ? fmt::format("00000000:{:02X}:00.0", 8 * index + 7)
                                            : gpus.bus_ids[static_cast<std::size_t>(i)];
      gpu.pci_subsystem_id = gpus.subsystem.value_or(gpu.pci_device_id);
      node.gpus.push_back(std::move(gpu));
    }
  }
  for (std::size_t i = 0; i < node.gpus.size(); ++i)  // given and made-up bus ids may meet
    for (std::size_t j = 0; j < i; ++j)
      if (node.gpus[i].pci_bus_id == node.gpus[j].pci_bus_id)
        return fail(ErrorCode::invalid,
                    fmt::format("{}: GPUs {} and {} have the same bus id {}; give every entry a `pci` list", file.file,
                                j, i, node.gpus[i].pci_bus_id));
  return node;
}

}  // namespace partita::emulator
