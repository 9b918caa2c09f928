#include "two_opinions.h"

#include <fmt/format.h>

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

}  // namespace

std::vector<Placed> with(std::vector<Placed> instances, const Placed& more) {
  instances.push_back(more);
  std::ranges::sort(instances, {}, &Placed::start);
  return instances;
}

TwoOpinions::TwoOpinions(catalog::Catalog& catalog, const std::string& board, const std::string& settings,
                         const std::function<void(emulator::GpuSpec&)>& falsify)
    : board_(need(catalog.board(board))), geometry_(std::make_unique<plan::Geometry>(*board_)) {
  const std::string text = fmt::format("driver: \"999\"\ngpus: [{{board: {}, mig: enabled{}{}}}]", board,
                                       settings.empty() ? "" : ", ", settings);
  const emulator::NodeFile file = need(emulator::read_node_file(text, "test"));
  emulator::NodeSpec spec = need(emulator::compile(catalog, file, "test", "test"));
  spec.files = false;
  if (falsify) falsify(spec.gpus[0]);
  if (const Result<void> made = emulator::Engine::create(folder_.path(), spec); !made)
    throw std::runtime_error(made.error().message);
  engine_ = need(emulator::Engine::open(folder_.path()));
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

std::string TwoOpinions::create_compute(std::size_t which, int compute, int start) {
  const Placed& placed = instances_[which];
  const catalog::ComputeProfile& kind =
      board_->profiles[static_cast<std::size_t>(placed.profile)].compute[static_cast<std::size_t>(compute)];
  history_ +=
      fmt::format("  create {}@{} in {}\n", kind.name, start, layout::name_at(*board_, placed.profile, placed.start));
  const std::vector<plan::Step> step = {
      {plan::Step::Kind::create_compute, placed.profile, placed.start, compute, start}};
  const bool possible = plan::replay(as_layout({}), *geometry_, step).has_value();
  const bool listed = std::ranges::find(kind.placements, start) != kind.placements.end();
  const NvmlReturn expected = possible ? kSuccess : listed ? kInsufficientResources : kInvalidArgument;
  const GpuInstanceState state = instance_at(placed);
  emulator::ComputeInstanceState made;
  const NvmlReturn answer = engine_->create_compute_instance(0, state.id, state.serial, kind.nvml_profile, start, made);
  if (answer == expected) return "";
  return fmt::format("the driver answers {}, the planner expects {}", emulator::nvml_return_name(answer),
                     emulator::nvml_return_name(expected));
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

std::string TwoOpinions::clear() {
  while (!instances_.empty())
    if (std::string wrong = destroy(instances_.size() - 1); !wrong.empty()) return wrong;
  return "";
}

}  // namespace partita::agreement
