#include "driver/driver.h"

#include <fmt/core.h>

#include <algorithm>

#include "driver/errors.h"
#include "driver/session.h"

namespace partita::driver {

Driver::Driver(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Driver::Driver(Driver&&) noexcept = default;
Driver& Driver::operator=(Driver&&) noexcept = default;
Driver::~Driver() = default;

Result<Driver> Driver::open(catalog::Catalog& catalog, const Options& options) {
  auto library = TRY(NvmlLibrary::open(options.library));
  return Driver(std::make_unique<Impl>(catalog, options, std::move(library)));
}

Result<void> Driver::reopen() {
  impl_->known.clear();
  impl_->made_boards.clear();
  {
    const NvmlLibrary closed = std::move(impl_->library);
  }  // shut down first: a second session would keep the old one
  impl_->library = TRY(NvmlLibrary::open(impl_->options.library));
  return {};
}

Result<ModeChange> Driver::set_mig_mode(std::string_view gpu_uuid, bool enabled) {
  const NvmlDevice device = TRY(impl_->device(gpu_uuid));
  const auto& nvml = impl_->nvml();
  impl_->forget(gpu_uuid);

  const auto refused = [&](int answer, const char* function) {
    return std::unexpected(nvml_error(answer, function, impl_->describe(device, gpu_uuid)));
  };
  int activation = kNvmlSuccess;
  const int answer = nvml.set_mig_mode(device, enabled ? 1 : 0, &activation);
  if (answer == kNvmlInUse || activation == kNvmlInUse) return ModeChange::in_use;
  if (answer != kNvmlSuccess && answer != kNvmlResetRequired) return refused(answer, nvml.set_mig_mode.name);

  // What it came to is read, not believed: drivers give several reasons for a change that waits.
  U32 current = 0, pending = 0;
  if (const int read = nvml.mig_mode(device, &current, &pending); read != kNvmlSuccess) {
    return refused(read, nvml.mig_mode.name);
  }
  if ((current != 0) == enabled) return ModeChange::done;
  if ((pending != 0) == enabled || answer == kNvmlResetRequired) return ModeChange::reset_required;
  return refused(activation, nvml.set_mig_mode.name);
}

Result<void> Session::ready() const {
  if (library.is_open()) return {};
  return fail(ErrorCode::unavailable, "the NVIDIA driver could not be opened again; run the command anew");
}

std::string Session::describe(NvmlDevice device, std::string_view uuid) const {
  layout::Gpu gpu;
  U32 index = 0;
  NvmlPciInfo pci{};
  if (nvml().device_index(device, &index) != kNvmlSuccess) return std::string(uuid);
  if (nvml().device_pci(device, &pci) == kNvmlSuccess) gpu.pci_bus_id = pci.bus_id;
  gpu.index = static_cast<int>(index);
  return gpu_text(gpu);
}

Result<NvmlDevice> Session::device(std::string_view uuid) {
  TRY_VOID(ready());
  NvmlDevice found = nullptr;
  const std::string text(uuid);
  const int answer = nvml().device_by_uuid(text.c_str(), &found);
  if (answer == kNvmlSuccess) return found;
  if (answer == kNvmlNotFound || answer == kNvmlInvalidArgument) {
    return fail(ErrorCode::not_found, fmt::format("the driver knows no GPU {}; \"partita status\" lists them", uuid));
  }
  return std::unexpected(nvml_error(answer, nvml().device_by_uuid.name, uuid));
}

NvmlResult<Session::Known*> Session::tables_of(const std::string& uuid, NvmlDevice device) {
  if (const auto it = known.find(uuid); it != known.end()) return &it->second;
  auto rows = TRY(read_gpu_profiles(nvml(), device));
  auto& entry = known[uuid];
  entry.tables.gpu = std::move(rows);
  return &entry;
}

NvmlResult<void> Session::learn_compute(Known& known_gpu, int profile_id, NvmlGpuInstance instance) {
  if (known_gpu.tables.compute.contains(profile_id)) return {};
  known_gpu.tables.compute[profile_id] = TRY(read_compute_profiles(nvml(), instance));
  known_gpu.board.reset();
  return {};
}

NvmlResult<const std::vector<ComputeProfileRow>*> Session::compute_rows_of(const std::string& uuid, NvmlDevice device,
                                                                           NvmlGpuInstance instance) {
  auto* known_gpu = TRY(tables_of(uuid, device));
  NvmlGpuInstanceInfo info{};
  if (const int answer = nvml().gpu_instance_info(instance, &info); answer != kNvmlSuccess) {
    return std::unexpected(NvmlRefusal{answer, nvml().gpu_instance_info.name});
  }
  const int profile_id = static_cast<int>(info.profile_id);
  TRY_VOID(learn_compute(*known_gpu, profile_id, instance));
  return &known_gpu->tables.compute.at(profile_id);
}

std::shared_ptr<const catalog::Board> Session::board_of(Known& known_gpu,
                                                        std::shared_ptr<const catalog::Board> catalog_board,
                                                        const GpuIdentity& identity) {
  if (known_gpu.board) return known_gpu.board;
  const auto same = [&](const MadeBoard& made) {
    return made.catalog_board == catalog_board && made.identity == identity && made.tables == known_gpu.tables;
  };
  auto made = std::ranges::find_if(made_boards, same);
  if (made == made_boards.end()) {
    std::erase_if(made_boards, [](const MadeBoard& old) { return old.board.use_count() == 1; });  // shown by no GPU
    auto board =
        std::make_shared<const catalog::Board>(effective_board(catalog_board.get(), known_gpu.tables, identity));
    made_boards.push_back({std::move(catalog_board), identity, known_gpu.tables, std::move(board)});
    made = std::prev(made_boards.end());
  }
  return known_gpu.board = made->board;
}

void Session::forget(std::string_view uuid) {
  if (const auto it = known.find(uuid); it != known.end()) known.erase(it);
}

}  // namespace partita::driver
