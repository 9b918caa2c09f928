#include "two_opinions.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "emulator/control/compile.h"
#include "emulator/control/node_file.h"
#include "emulator/control/nvml_return.h"
#include "plan/fit.h"

namespace partita::agreement {

using emulator::GpuInstanceState;
using emulator::kInsufficientResources;
using emulator::kInvalidArgument;
using emulator::kNotFound;
using emulator::kSuccess;
using emulator::NvmlReturn;
using plan::Placed;

namespace {

template <class T>
T need(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

std::vector<Placed> with(std::vector<Placed> instances, const Placed& more) {
  instances.push_back(more);
  std::ranges::sort(instances, {}, &Placed::start);
  return instances;
}

}  // namespace

TwoOpinions::TwoOpinions(catalog::Catalog& catalog, const std::string& board, const std::string& settings)
    : board_(need(catalog.board(board))), geometry_(std::make_unique<plan::Geometry>(*board_)) {
  const std::string text = fmt::format("driver: \"999\"\ngpus: [{{board: {}, mig: enabled{}{}}}]", board,
                                       settings.empty() ? "" : ", ", settings);
  const emulator::NodeFile file = need(emulator::read_node_file(text, "test"));
  emulator::NodeSpec spec = need(emulator::compile(catalog, file, "test", "test"));
  spec.files = false;
  std::string pattern = (std::filesystem::temp_directory_path() / "partita-agreement-XXXXXX").string();
  if (!::mkdtemp(pattern.data())) throw std::runtime_error("no temporary folder");
  folder_ = pattern;
  if (const Result<void> made = emulator::Engine::create(folder_, spec); !made)
    throw std::runtime_error(made.error().message);
  engine_ = need(emulator::Engine::open(folder_));
}

TwoOpinions::~TwoOpinions() {
  engine_.reset();
  std::error_code none;
  std::filesystem::remove_all(folder_, none);
}

int TwoOpinions::id_of(int profile) const {
  return engine_->spec().gpus[0].profiles[static_cast<std::size_t>(profile)].id;
}

std::string TwoOpinions::create(int profile, std::optional<int> start) {
  const plan::GeometryProfile& kind = geometry_->profiles()[static_cast<std::size_t>(profile)];
  const catalog::Profile& facts = board_->profiles[static_cast<std::size_t>(profile)];
  history_ += fmt::format("  create {}{}\n", facts.name, start ? fmt::format("@{}", *start) : "");

  const auto possible = [&](int at) { return plan::valid(*geometry_, with(instances_, {profile, at})); };
  const bool listed =
      start && std::ranges::any_of(kind.placements, [&](const auto& place) { return place.start == *start; });
  NvmlReturn expected = kInsufficientResources;
  int place = 0;
  if (start) {
    place = *start;
    expected = !listed ? kInvalidArgument : possible(place) ? kSuccess : kInsufficientResources;
  } else if (const auto first = std::ranges::find_if(facts.driver_order, possible); first != facts.driver_order.end()) {
    place = *first;
    expected = kSuccess;
  }
  std::vector<int> counts(geometry_->profiles().size());
  counts[static_cast<std::size_t>(profile)] = 1;
  if (!start && plan::fits(*geometry_, instances_, counts) != (expected == kSuccess))
    return "plan::fits and plan::valid disagree";

  GpuInstanceState made;
  const NvmlReturn answer = engine_->create_gpu_instance(0, id_of(profile), start, made);
  if (answer != expected)
    return fmt::format("the driver answers {}, the planner expects {}", emulator::nvml_return_name(answer),
                       emulator::nvml_return_name(expected));
  if (answer != kSuccess) return compare_state();
  if (made.start != place) return fmt::format("the driver chose start {}, expected {}", made.start, place);
  instances_ = with(instances_, {profile, place});
  return compare_state();
}

std::string TwoOpinions::destroy(std::size_t which) {
  const Placed gone = instances_[which];
  history_ += fmt::format("  destroy {}\n", layout::name_at(*board_, gone.profile, gone.start));
  const GpuInstanceState state = instance_at(gone);
  for (const emulator::ComputeInstanceState& compute : state.compute)
    if (engine_->destroy_compute_instance(0, state.id, state.serial, compute.id, compute.serial) != kSuccess)
      return "the driver refuses to destroy an idle compute instance";
  if (const NvmlReturn answer = engine_->destroy_gpu_instance(0, state.id, state.serial); answer != kSuccess)
    return fmt::format("the driver answers {} to the destroying of an idle instance",
                       emulator::nvml_return_name(answer));
  instances_.erase(instances_.begin() + static_cast<std::ptrdiff_t>(which));
  return compare_state();
}

std::string TwoOpinions::destroy_what_is_not(Random& random) {
  history_ += "  destroy what is not\n";
  int id = pick(random, -2, emulator::kMaxGpuInstances + 1);
  std::uint32_t serial = 0;
  for (const GpuInstanceState& live : engine_->gpu(0).instances)
    if (live.id == id) serial = live.serial + 1000;
  if (const NvmlReturn answer = engine_->destroy_gpu_instance(0, id, serial); answer != kNotFound)
    return fmt::format("the driver answers {}, not NOT_FOUND, for id {}", emulator::nvml_return_name(answer), id);
  return compare_state();
}

std::string TwoOpinions::compare_state() const {
  std::vector<Placed> driver;
  std::set<int> ids;
  for (const GpuInstanceState& state : engine_->gpu(0).instances) {
    const auto kind = std::ranges::find(board_->profiles, state.profile, &catalog::Profile::nvml_profile);
    driver.push_back({static_cast<int>(kind - board_->profiles.begin()), state.start});
    if (!ids.insert(state.id).second) return fmt::format("two instances have the id {}", state.id);
  }
  std::ranges::sort(driver, {}, &Placed::start);
  if (driver != instances_) return "the driver has other instances than the planner";
  return plan::valid(*geometry_, instances_) ? "" : "the planner calls the driver's instances invalid";
}

std::string TwoOpinions::compare_capacity() const {
  for (int profile = 0; profile < static_cast<int>(board_->profiles.size()); ++profile) {
    std::vector<int> counts(board_->profiles.size());
    int& wanted = counts[static_cast<std::size_t>(profile)];
    while (++wanted < 16 && plan::fits(*geometry_, instances_, counts)) {
    }
    const int driver = engine_->remaining_capacity(0, id_of(profile));
    if (driver != wanted - 1)
      return fmt::format("the driver has room for {} more {}, the planner for {}", driver,
                         board_->profiles[static_cast<std::size_t>(profile)].name, wanted - 1);
  }
  return "";
}

GpuInstanceState TwoOpinions::instance_at(const Placed& placed) const {
  for (GpuInstanceState& state : engine_->gpu(0).instances)
    if (state.start == placed.start &&
        state.profile == board_->profiles[static_cast<std::size_t>(placed.profile)].nvml_profile)
      return std::move(state);
  throw std::runtime_error("no such instance");
}

layout::Gpu TwoOpinions::as_layout(const std::vector<bool>& pinned) const {
  layout::Gpu gpu;
  gpu.uuid = engine_->spec().gpus[0].uuid;
  gpu.board = board_;
  gpu.mode = layout::MigMode{true, true};
  for (std::size_t i = 0; i < instances_.size(); ++i) {
    const Placed& placed = instances_[i];
    const catalog::Profile& kind = board_->profiles[static_cast<std::size_t>(placed.profile)];
    const GpuInstanceState state = instance_at(placed);
    layout::GpuInstance instance{state.id, placed.profile, {state.start, state.size}, {}, {}};
    for (const emulator::ComputeInstanceState& compute : state.compute) {
      const auto found = std::ranges::find(kind.compute, compute.profile, &catalog::ComputeProfile::nvml_profile);
      instance.compute.push_back({compute.id,
                                  static_cast<int>(found - kind.compute.begin()),
                                  {compute.start, compute.size},
                                  compute.uuid,
                                  std::nullopt});
    }
    if (i < pinned.size() && pinned[i]) instance.pins.push_back({layout::Pin::Reason::busy, "pid 1 (test)"});
    gpu.instances.push_back(std::move(instance));
  }
  return gpu;
}

std::vector<int> TwoOpinions::compute_of(std::size_t which) const {
  std::vector<int> indices;
  const layout::Gpu gpu = as_layout({});
  for (const layout::ComputeInstance& compute : gpu.instances[which].compute) indices.push_back(compute.profile);
  std::ranges::sort(indices);
  return indices;
}

std::string TwoOpinions::step(const plan::Step& step) {
  const Placed placed{step.profile, step.start};
  const catalog::Profile& kind = board_->profiles[static_cast<std::size_t>(step.profile)];
  const auto compute_profile = [&] { return kind.compute[static_cast<std::size_t>(step.compute)].nvml_profile; };
  NvmlReturn answer = kNotFound;
  switch (step.kind) {
    case plan::Step::Kind::create_gpu_instance: {
      GpuInstanceState made;
      answer = engine_->create_gpu_instance(0, id_of(step.profile), step.start, made);
      if (answer == kSuccess) instances_ = with(instances_, placed);
      break;
    }
    case plan::Step::Kind::destroy_gpu_instance: {
      const GpuInstanceState state = instance_at(placed);
      answer = engine_->destroy_gpu_instance(0, state.id, state.serial);
      if (answer == kSuccess) std::erase(instances_, placed);
      break;
    }
    case plan::Step::Kind::create_compute: {
      const GpuInstanceState state = instance_at(placed);
      emulator::ComputeInstanceState made;
      answer = engine_->create_compute_instance(0, state.id, state.serial, compute_profile(), step.compute_start, made);
      break;
    }
    case plan::Step::Kind::destroy_compute: {
      const GpuInstanceState state = instance_at(placed);
      for (const emulator::ComputeInstanceState& compute : state.compute)
        if (compute.start == step.compute_start && compute.profile == compute_profile())
          answer = engine_->destroy_compute_instance(0, state.id, state.serial, compute.id, compute.serial);
      break;
    }
  }
  if (answer != kSuccess)
    return fmt::format("the driver answers {} to a planned step at {}", emulator::nvml_return_name(answer),
                       layout::name_at(*board_, step.profile, step.start));
  return compare_state();
}

std::string TwoOpinions::follow_plan(const std::vector<layout::WantedInstance>& wanted,
                                     const std::vector<bool>& pinned) {
  const layout::Gpu before = as_layout(pinned);
  history_ += "  plan for";
  for (const layout::WantedInstance& want : wanted)
    history_ += " " + board_->profiles[static_cast<std::size_t>(want.profile)].name;
  history_ += fmt::format(" beside {} pinned\n", std::ranges::count(pinned, true));
  const Result<plan::GpuPlan> plan = plan::transition(before, *geometry_, wanted);
  if (!plan) return "the planner finds no way to a layout that exists: " + plan.error().message;
  const int counted =
      plan->gpu_instances_destroyed + plan->gpu_instances_created + plan->compute_destroyed + plan->compute_created;
  if (static_cast<std::size_t>(counted) != plan->steps.size()) return "the plan counts other steps than it has";
  for (const plan::Step& step : plan->steps)
    if (std::string wrong = this->step(step); !wrong.empty()) return wrong;
  if (instances_ != plan->result) return "the plan's steps do not lead to its result";
  for (std::size_t i = 0; i < before.instances.size(); ++i) {
    const layout::GpuInstance& old = before.instances[i];
    if (!old.pinned()) continue;
    const Placed placed{old.profile, old.placement.start};
    if (std::ranges::find(instances_, placed) == instances_.end()) return "the plan moved a pinned instance";
  }
  std::vector<int> have(board_->profiles.size()), want(board_->profiles.size());
  for (const Placed& placed : instances_) ++have[static_cast<std::size_t>(placed.profile)];
  for (const layout::WantedInstance& item : wanted) ++want[static_cast<std::size_t>(item.profile)];
  return have == want ? "" : "the plan leads to other instances than wanted";
}

std::string TwoOpinions::clear() {
  while (!instances_.empty())
    if (std::string wrong = destroy(instances_.size() - 1); !wrong.empty()) return wrong;
  return "";
}

}  // namespace partita::agreement
