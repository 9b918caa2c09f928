// A board's rows, read strictly: unknown keys, wrong types, and rows that contradict each other are errors.
#include "catalog/board_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/yaml.h"
#include "catalog/attributes.h"
#include "catalog/fields.h"

namespace partita::catalog {

namespace {

constexpr int kMostSlices = 32;  // plans keep slices in a 32-bit mask
constexpr int kMostProfiles = 64;

Result<Attributes> read_attributes(const Fields& fields) {
  Attributes out;
  for (const std::string& word : TRY(fields.texts("attributes"))) {
    if (!set_attribute(out, word))
      return fields.error("attributes", fmt::format("expected me, me_all, gfx or no_me, found {}", quote(word)));
  }
  return out;
}

Result<Engines> read_engines(const Fields& profile) {
  Engines out;
  const auto fields = TRY(profile.child("engines", {}, kEngineKeys));
  if (!fields) return out;
  out.copy = TRY(fields->maybe_integer("copy", 0, 1000));
  out.decoder = TRY(fields->maybe_integer("decoder", 0, 1000));
  out.encoder = TRY(fields->maybe_integer("encoder", 0, 1000));
  out.jpeg = TRY(fields->maybe_integer("jpeg", 0, 1000));
  out.ofa = TRY(fields->maybe_integer("ofa", 0, 1000));
  return out;
}

// Starts: within [0, end), ascending when `sorted`, each once, and with room for `size`.
Result<std::vector<int>> read_starts(const Fields& fields, std::string_view key, int size, int end, bool sorted) {
  const auto starts = TRY(fields.integers(key, 0, end - 1));
  if (starts.empty()) return fields.error(key, "expected at least one start");
  if (sorted && !std::ranges::is_sorted(starts)) return fields.error(key, "expected ascending starts");
  auto copy = starts;
  std::ranges::sort(copy);
  if (std::ranges::adjacent_find(copy) != copy.end()) return fields.error(key, "a start is listed twice");
  if (copy.back() + size > end)
    return fields.error(key,
                        fmt::format("start {} with size {} ends after the last slice, {}", copy.back(), size, end - 1));
  return starts;
}

Result<ComputeProfile> read_compute(const Fields& fields, const Profile& profile) {
  ComputeProfile out;
  out.name = TRY(fields.text("name"));
  out.nvml_profile = TRY(fields.integer("nvml_profile", 0, 255));
  out.compute_slices = TRY(fields.integer("compute_slices", 1, profile.compute_slices));
  out.sm = TRY(fields.maybe_integer("sm", 1, 100'000));
  out.max_instances = TRY(fields.integer("max_instances", 1, kMostSlices));
  out.placement_size = TRY(fields.integer("placement_size", 1, profile.compute_slices));
  out.placements = TRY(read_starts(fields, "placements", out.placement_size, profile.compute_slices, true));
  out.is_default = TRY(fields.flag("is_default", false));
  out.confidence = TRY(fields.text_or("confidence", ""));
  return out;
}

Result<void> read_compute_rows(const Fields& fields, Profile& profile) {
  for (const Fields& row : TRY(fields.rows("compute", kComputeKeys, kComputeOptional))) {
    profile.compute.push_back(TRY(read_compute(row, profile)));
    const std::string& name = profile.compute.back().name;
    if (std::ranges::count(profile.compute, name, &ComputeProfile::name) > 1)
      return row.error("name", fmt::format("{} is listed twice", quote(name)));
  }
  if (std::ranges::count(profile.compute, true, &ComputeProfile::is_default) != 1)
    return fields.error("compute", "expected exactly one row with is_default: true");
  return {};
}

Result<Profile> read_profile(const Fields& fields, const Board& board) {
  Profile out;
  out.name = TRY(fields.text("name"));
  out.nvml_profile = TRY(fields.integer("nvml_profile", 0, 255));
  out.id = TRY(fields.maybe_integer("id", 0, 65'535));
  out.attributes = TRY(read_attributes(fields));
  out.compute_slices = TRY(fields.integer("compute_slices", 1, board.compute_slices));
  out.memory_slices = TRY(fields.integer("memory_slices", 1, board.memory_slices));
  out.max_instances = TRY(fields.integer("max_instances", 1, kMostSlices));
  out.memory = TRY(fields.maybe_mib("memory_mib"));
  out.sm = TRY(fields.maybe_integer("sm", 1, 100'000));
  out.sm_estimate = TRY(fields.maybe_integer("sm_estimate", 1, 100'000));
  out.engines = TRY(read_engines(fields));
  out.placement_size = TRY(fields.integer("placement_size", 1, board.placement_units));
  out.placements = TRY(read_starts(fields, "placements", out.placement_size, board.placement_units, true));
  out.driver_order = TRY(read_starts(fields, "driver_order", out.placement_size, board.placement_units, false));
  if (!std::ranges::is_permutation(out.placements, out.driver_order))
    return fields.error("driver_order", "expected the same starts as placements");
  out.placements_assumed = TRY(fields.flag("placements_assumed", false));
  out.confidence = TRY(fields.text("confidence"));
  out.note = TRY(fields.text_or("note", ""));
  TRY_VOID(fields.numbers("also_seen_gib"));
  TRY_VOID(read_compute_rows(fields, out));
  return out;
}

Result<VgpuType> read_vgpu(const Fields& fields, const Board& board) {
  VgpuType out;
  out.name = TRY(fields.text("name"));
  out.id = TRY(fields.maybe_integer("id", 0, 1'000'000));
  out.mig_backed = TRY(fields.flag("mig_backed", false));
  out.frame_buffer = TRY(fields.maybe_mib("frame_buffer_mib"));
  out.max_per_gpu = TRY(fields.maybe_integer("max_per_gpu", 1, 1000));
  out.max_per_gpu_mixed = TRY(fields.maybe_integer("max_per_gpu_mixed", 1, 1000));
  out.confidence = TRY(fields.text_or("confidence", ""));
  const std::string profile = TRY(fields.text_or("profile", ""));
  if (profile.empty()) return out;
  const auto found = std::ranges::find(board.profiles, profile, &Profile::name);
  if (found == board.profiles.end())
    return fields.error("profile", fmt::format("{} is none of this board's profiles", quote(profile)));
  out.profile = static_cast<int>(found - board.profiles.begin());
  return out;
}

Result<Specs> read_specs(const Fields& board) {
  Specs out;
  const auto fields = TRY(board.child("specs", kSpecKeys, kSpecOptional));
  if (!fields) return out;
  struct Number {
    std::string_view key;
    std::optional<double> Specs::* member;
  };
  constexpr std::array kNumbers = {Number{"fp64_tflops", &Specs::fp64_tflops},
                                   Number{"fp64_tensor_tflops", &Specs::fp64_tensor_tflops},
                                   Number{"fp32_tflops", &Specs::fp32_tflops},
                                   Number{"tf32_tensor_tflops", &Specs::tf32_tensor_tflops},
                                   Number{"fp16_tensor_tflops", &Specs::fp16_tensor_tflops},
                                   Number{"fp8_tensor_tflops", &Specs::fp8_tensor_tflops},
                                   Number{"fp4_tensor_tflops", &Specs::fp4_tensor_tflops},
                                   Number{"int8_tensor_tops", &Specs::int8_tensor_tops},
                                   Number{"memory_bandwidth_gb_per_s", &Specs::memory_bandwidth_gb_per_s},
                                   Number{"l2_mib", &Specs::l2_mib}};
  for (const auto& [key, member] : kNumbers) out.*member = TRY(fields->maybe_number(key));
  out.sm_count = TRY(fields->maybe_integer("sm_count", 1, 100'000));
  out.boost_mhz = TRY(fields->maybe_integer("boost_mhz", 1, 100'000));
  out.tdp_w = TRY(fields->maybe_integer("tdp_w", 1, 100'000));
  out.compute_capability = TRY(fields->text("compute_capability"));
  out.confidence = TRY(fields->text("confidence"));
  out.sources = TRY(fields->texts("sources"));
  TRY_VOID(fields->texts("confirmed_fields"));
  return out;
}

Result<void> read_mig(const Fields& fields, Board& board) {
  const auto mig = TRY(fields.child("mig", kMigKeys, kMigOptional));
  if (!mig) return {};
  board.placement_units = TRY(mig->integer("placement_units", 1, kMostSlices));
  board.compute_slices = TRY(mig->integer("compute_slices", 1, kMostSlices));
  board.memory_slices = TRY(mig->integer("memory_slices", 1, kMostSlices));
  board.mode_change_needs_reset = TRY(mig->flag("mode_change_needs_reset", false));
  board.mode_survives_reboot = TRY(mig->flag("mode_survives_reboot", false));
  board.copy_engines_in_mig = TRY(mig->maybe_integer("copy_engines", 1, 1000));
  return {};
}

Result<void> read_profiles(const Fields& fields, Board& board) {
  const auto rows = TRY(fields.rows("profiles", kProfileKeys, kProfileOptional));
  if (!rows.empty() && board.placement_units == 0) return fields.error("profiles", "expected none without key \"mig\"");
  if (rows.empty() && board.placement_units != 0) return fields.error("profiles", "expected at least one");
  if (rows.size() > kMostProfiles) return fields.error("profiles", fmt::format("more than {}", kMostProfiles));
  for (const Fields& row : rows) {
    board.profiles.push_back(TRY(read_profile(row, board)));
    if (std::ranges::count(board.profiles, board.profiles.back().name, &Profile::name) > 1)
      return row.error("name", fmt::format("{} is listed twice", quote(board.profiles.back().name)));
    if (std::ranges::count(board.profiles, board.profiles.back().nvml_profile, &Profile::nvml_profile) > 1)
      return row.error("nvml_profile", "another profile has the same number");
  }
  return {};
}

bool is_id(std::string_view id) {
  return !id.empty() && id.size() <= 64 && id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == id.npos;
}

}  // namespace

Result<Board> read_board(std::string_view text, const std::string& file) {
  const YamlDocument document =
      TRY(parse_yaml(text, file, {.max_bytes = 1u << 20, .max_nodes = 50'000, .max_depth = 16}));
  const Fields fields({&document, ""}, document.root);
  TRY_VOID(fields.only(kBoardKeys, kBoardOptional));
  Board board;
  board.id = TRY(fields.text("id"));
  if (!is_id(board.id)) return fields.error("id", "expected lower case letters, digits and \"-\"");
  board.product = TRY(fields.text("product"));
  board.pci_devices = TRY(read_pci_devices(fields));
  board.chip = TRY(fields.text("chip"));
  board.family = TRY(fields.text("family"));
  board.nominal_gb = TRY(fields.maybe_integer("nominal_gb", 1, 1'000'000));
  board.total_memory = TRY(fields.maybe_mib("total_memory_mib"));
  board.min_driver = TRY(fields.text_or("min_driver", ""));
  board.sources = TRY(fields.texts("sources"));
  board.note = TRY(fields.text_or("note", ""));
  TRY_VOID(read_mig(fields, board));
  board.specs = TRY(read_specs(fields));
  TRY_VOID(read_profiles(fields, board));
  for (const Fields& row : TRY(fields.rows("vgpu_types", kVgpuKeys, kVgpuOptional)))
    board.vgpu_types.push_back(TRY(read_vgpu(row, board)));
  return board;
}

}  // namespace partita::catalog
