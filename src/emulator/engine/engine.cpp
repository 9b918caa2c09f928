#include "emulator/engine/engine.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>
#include <utility>

#include "emulator/engine/behaviour.h"
#include "emulator/engine/engine_impl.h"
#include "emulator/engine/processes.h"
#include "emulator/engine/rules.h"
#include "emulator/engine/spec_codec.h"
#include "emulator/engine/uuid.h"

namespace partita::emulator {

namespace {

std::uint64_t new_boot_id() {
  std::uint64_t id = 0;
  while (id == 0) {
    if (::getrandom(&id, sizeof id, 0) != sizeof id) id = static_cast<std::uint64_t>(::getpid()) + 1;
  }
  return id;
}

}  // namespace

ComputeInstanceState to_state(const ComputeRecord& record) {
  return {record.id,    record.profile, record.start, record.size, record.slices, "MIG-" + to_text(record.uuid),
          record.serial};
}

GpuInstanceState to_state(const GpuSpec& gpu, const InstanceRecord& record) {
  const ProfileSpec& profile = gpu.profiles[record.profile];
  GpuInstanceState state{record.id, profile.nvml_profile, profile.id, record.start, record.size, record.serial, {}};
  for (std::size_t i = 0; i < record.compute_count; ++i) state.compute.push_back(to_state(record.compute[i]));
  return state;
}

Engine::Impl::Impl(std::filesystem::path where, NodeSpec what, std::unique_ptr<StateFile> state, Timing time)
    : folder(std::move(where)),
      spec(std::move(what)),
      file(std::move(state)),
      files(folder, spec),
      timing(std::move(time)) {
  struct stat info{};
  if (::stat(folder.c_str(), &info) == 0) owner = info.st_uid;
  driver_major = std::atoi(spec.driver_version.c_str());
}

std::int64_t Engine::Impl::now_ms(const NodeRecord& node) const {
  const Clock& clock = timing.clock != nullptr ? *timing.clock : system_clock;
  return clock.now().time_since_epoch().count() + node.clock_offset_ms;
}

void Engine::Impl::wait(std::chrono::milliseconds time) const {
  if (time.count() <= 0) return;
  if (timing.wait) return timing.wait(time);
  std::this_thread::sleep_for(time);
}

void Engine::Impl::snapshot(int index, GpuRecord& record) const {
  file->read_gpu(index, record);
  const std::size_t known = gpu(index).profiles.size();
  for (std::size_t i = 0; i < record.instance_count; ++i) {
    if (record.instances[i].profile >= known) record.instance_count = static_cast<std::uint8_t>(i);  // damaged state
  }
}

bool Engine::Impl::may_change_mode() const {
  const uid_t user = ::geteuid();
  return user == 0 || user == owner;
}

bool Engine::Impl::may_change_instances() const {
  if (may_change_mode()) return true;
  const auto node = folder / "root/dev/nvidia-caps" / ("nvidia-cap" + std::to_string(kConfigMinor));
  return ::faccessat(AT_FDCWD, node.c_str(), R_OK, AT_EACCESS) == 0;
}

NvmlReturn Engine::Impl::refuses_instances(int index) const {
  if (!has(index)) return kInvalidArgument;
  const GpuHead now = file->read_gpu_summary(index);
  if (now.lost != 0) return kGpuIsLost;
  if (now.reset_required != 0) return kResetRequired;
  if (gpu(index).units == 0 || now.mig_current == 0) return kNotSupported;
  return may_change_instances() ? kSuccess : kNoPermission;
}

void Engine::Impl::repair_files() {
  const NodeRecord node = file->read_node();
  bool good = files.write_fixed(node);
  GpuRecord record;
  for (int index = 0; good && has(index); ++index) {
    snapshot(index, record);
    good = files.write_instances(index, record);
  }
  if (good) file->set_files_change(node.change);
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;

Result<void> Engine::create(const std::filesystem::path& folder, const NodeSpec& spec) {
  TRY_VOID(check(spec));
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail(ErrorCode::denied, folder.string() + ": cannot make the node's folder: " + error.message());
  std::vector<GpuRecord> gpus(spec.gpus.size());
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    gpus[i].mig_current = gpus[i].mig_pending = spec.gpus[i].units > 0 && spec.gpus[i].mig_enabled ? 1 : 0;
    start_meters(gpus[i], SystemClock().now().time_since_epoch().count());
  }
  NodeRecord node;
  node.boot_id = new_boot_id();
  node.change = 1;  // the files under root/ are behind until the first open() writes them
  TRY_VOID(StateFile::create(folder, encode(spec), gpus, node));
  TRY(open(folder));
  return {};
}

Result<Engine> Engine::open(const std::filesystem::path& folder, Timing timing) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(folder, error);
  auto file = TRY(StateFile::open(error ? folder : absolute));
  auto spec = TRY(decode(file->immutable()));
  if (static_cast<int>(spec.gpus.size()) != file->gpu_count()) {
    return fail(ErrorCode::invalid, folder.string() + ": damaged: the number of GPUs differs; start the node again");
  }
  TRY_VOID(check(spec));
  Engine engine(std::make_unique<Impl>(error ? folder : absolute, std::move(spec), std::move(file), std::move(timing)));
  Impl& impl = *engine.impl_;
  if (impl.spec.files && impl.file->writable() && impl.may_change_mode() &&
      impl.file->files_change() != impl.file->read_node().change) {
    const StateFile::Transaction turn(*impl.file);
    if (turn && impl.file->files_change() != impl.file->read_node().change) impl.repair_files();
  }
  return engine;
}

const NodeSpec& Engine::spec() const { return impl_->spec; }
std::uint64_t Engine::boot_id() const { return impl_->file->read_node().boot_id; }
void Engine::snapshot(int gpu, GpuRecord& record) const { impl_->snapshot(gpu, record); }
GpuHead Engine::summary(int gpu) const { return impl_->file->read_gpu_summary(gpu); }
bool Engine::instance(int gpu, int id, InstanceRecord& found) const {
  return impl_->file->read_instance(gpu, id, found) && found.profile < impl_->gpu(gpu).profiles.size();
}
std::uint64_t Engine::reader_retries() const { return impl_->file->retries(); }

GpuState Engine::gpu(int index) const {
  GpuRecord record;
  impl_->snapshot(index, record);
  GpuState state;
  state.mig_current = record.mig_current != 0;
  state.mig_pending = record.mig_pending != 0;
  state.condition = condition_of(record);
  for (std::size_t i = 0; i < record.instance_count; ++i) {
    state.instances.push_back(to_state(impl_->gpu(index), record.instances[i]));
  }
  for (std::size_t i = 0; i < record.holder_count; ++i) {
    const HolderRecord& h = record.holders[i];
    if (!process_lives(h.pid, h.start_time)) continue;
    state.holders.push_back({h.pid, h.start_time, h.memory_bytes, instance_id(h.gpu_instance),
                             instance_id(h.compute_instance), Time(std::chrono::milliseconds(h.since_ms)), h.load});
  }
  return state;
}

int Engine::remaining_capacity(int gpu, int profile_id) const {
  const ProfileSpec* profile = impl_->has(gpu) ? find_profile(impl_->gpu(gpu), profile_id) : nullptr;
  if (profile == nullptr) return 0;
  GpuRecord record;
  impl_->snapshot(gpu, record);
  return remaining_instances(impl_->gpu(gpu), record, *profile, impl_->driver_major);
}

int Engine::remaining_compute_capacity(int gpu, int gi, int profile) const {
  if (!impl_->has(gpu)) return 0;
  GpuRecord record;
  impl_->snapshot(gpu, record);
  const InstanceRecord* instance = record.instance(gi);
  if (instance == nullptr) return 0;
  const ComputeProfileSpec* kind = find_compute_profile(impl_->gpu(gpu).profiles[instance->profile], profile);
  return kind == nullptr ? 0 : remaining_compute(*instance, *kind);
}

}  // namespace partita::emulator
