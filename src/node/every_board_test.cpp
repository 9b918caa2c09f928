// On an emulated node of each board: the layout file for every board (docs/examples/every-board.yaml), label by label,
// and the situations that people reported.
#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "node/test_support.h"

namespace partita::node {
namespace {

constexpr const char* kExample = PARTITA_SOURCE_DIR "/docs/examples/every-board.yaml";
constexpr std::size_t kFewestLabels = 80;
constexpr int kFewestBoards = 28;

layout::MigPartedFile example() {
  std::ostringstream text;
  text << std::ifstream(kExample).rdbuf();
  return value(layout::read_mig_parted(text.str(), "every-board.yaml"));
}

bool meant_for(const layout::MigPartedEntry& entry, const layout::Gpu& gpu) {
  return entry.filters.empty() || std::ranges::any_of(entry.filters, [&](const layout::DeviceFilter& filter) {
           return filter.device == gpu.pci_device_id &&
                  filter.subsystem.value_or(gpu.pci_subsystem_id) == gpu.pci_subsystem_id;
         });
}

// How many MIG devices the label asks of this GPU; nullopt when no entry is meant for it.
std::optional<int> devices_asked(const layout::MigPartedLabel& label, const layout::Gpu& gpu) {
  for (const layout::MigPartedEntry& entry : label.entries) {
    if (!meant_for(entry, gpu)) continue;
    int sum = 0;
    if (entry.mig_devices)
      for (const auto& [name, count] : *entry.mig_devices) sum += count;
    return sum;
  }
  return std::nullopt;
}

int devices_created(const api::NodePlanAnswer& plan) {
  int sum = 0;
  for (const api::GpuChange& change : plan.changes) sum += change.plan.compute_created;
  return sum;
}

// Plans every label; returns the names of those that are meant for this board.
std::set<std::string> plan_all(EmulatedWorld& world, const layout::MigPartedFile& file) {
  std::set<std::string> matched;
  const layout::Gpu gpu = world.state().gpus.at(0);
  for (const layout::MigPartedLabel& label : file.labels) {
    SCOPED_TRACE(label.name);
    const auto plan = world.open()->plan({world.administrator(), api::LayoutRequest{label, file.file}, {}});
    if (const auto asked = devices_asked(label, gpu)) {
      matched.insert(label.name);
      EXPECT_TRUE(plan) << all_of(plan.error());
      if (plan) {
        EXPECT_EQ(devices_created(*plan), *asked);
      }
    } else {
      EXPECT_FALSE(plan);
      if (!plan) {
        EXPECT_EQ(plan.error().code, ErrorCode::not_found);
      }
    }
  }
  return matched;
}

TEST(EveryBoardExample, EachLabelPlansOnTheBoardsThatItIsMeantFor) {
  const layout::MigPartedFile file = example();
  EXPECT_GE(file.labels.size(), kFewestLabels);
  std::set<std::string> used;
  int boards = 0;
  const auto catalog = value(catalog::Catalog::open());
  for (const catalog::BoardEntry& entry : catalog.boards()) {
    EmulatedWorld world("gpus: [{board: " + entry.id + "}]\ndriver: \"999\"");
    const auto gpu = world.state().gpus.at(0);
    if (!gpu.board || !gpu.board->has_mig()) continue;
    SCOPED_TRACE(entry.id);
    ++boards;
    const auto matched = plan_all(world, file);
    EXPECT_GE(matched.size(), gpu.board->profiles.size() + 2) << "not each profile has a label";
    used.insert(matched.begin(), matched.end());
  }
  EXPECT_GE(boards, kFewestBoards);
  EXPECT_EQ(used.size(), file.labels.size()) << "a label is meant for no board";
}

TEST(EveryBoardExample, BalancedIsAppliedOnEachBoard) {
  const layout::MigPartedFile file = example();
  const layout::MigPartedLabel& balanced = *value(file.label("all-balanced"));
  const auto catalog = value(catalog::Catalog::open());
  int boards = 0;
  for (const catalog::BoardEntry& entry : catalog.boards()) {
    EmulatedWorld world("gpus: [{board: " + entry.id + "}]\ndriver: \"999\"");
    const auto asked = devices_asked(balanced, world.state().gpus.at(0));
    if (!asked) continue;
    SCOPED_TRACE(entry.id);
    ++boards;
    const api::PlanRequest request{world.administrator(), api::LayoutRequest{balanced, file.file}, {}};
    const auto applied = world.apply(request);
    ASSERT_TRUE(applied) << all_of(applied.error());
    EXPECT_EQ(static_cast<int>(applied->after.gpus.at(0).instances.size()), *asked);
    EXPECT_THAT(value(world.open()->check(request)).differences, testing::IsEmpty());
  }
  EXPECT_GE(boards, 25);
}

// Runs `check` on a node with one GPU of each board that has MIG, MIG on and nothing cut.
template <class Check>
void on_every_board(Check check) {
  auto catalog = value(catalog::Catalog::open());
  int boards = 0;
  for (const catalog::BoardEntry& entry : catalog.boards()) {
    const auto board = value(catalog.board(entry.id));
    if (!board->has_mig()) continue;
    EmulatedWorld world("gpus: [{board: " + entry.id + ", mig: enabled}]\ndriver: \"999\"");
    SCOPED_TRACE(entry.id);
    ++boards;
    check(world, *world.state().gpus.at(0).board);  // with the names that this driver prints
  }
  EXPECT_GE(boards, kFewestBoards);
}

std::string first_place(const catalog::Board& board) {
  const catalog::Profile& small = board.profiles.front();
  return small.name + "@" + std::to_string(small.placements.front());
}

TEST(EveryBoard, NamesThatItDoesNotHaveAreErrors) {  // as case 13
  on_every_board([](EmulatedWorld& world, const catalog::Board& board) {
    const auto refused = world.apply(world.cut("all", R"("1g.3gb": 1)"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::not_found);
    EXPECT_THAT(refused.error().message, testing::HasSubstr("did you mean " + board.profiles.front().name + "?"));
    EXPECT_EQ(world.draw(0), "on");
  });
}

TEST(EveryBoard, EnabledAndEmptyIsANormalState) {  // as case 19
  on_every_board([](EmulatedWorld& world, const catalog::Board&) {
    const auto status = value(world.open()->status());
    EXPECT_EQ(draw(status.state.gpus.at(0)), "on");
    EXPECT_THAT(status.notes, testing::IsEmpty());
    EXPECT_THAT(value(world.open()->check(world.cut("all", ""))).differences, testing::IsEmpty());
  });
}

TEST(EveryBoard, ForeignInstancesWithoutComputeStay) {  // as case 21
  on_every_board([](EmulatedWorld& world, const catalog::Board& board) {
    const std::string place = first_place(board);
    world.make_foreign(0, place, false);
    EXPECT_EQ(world.draw(0), "on " + place + "-*");
    const auto refused = world.apply(world.cut("all", ""));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::busy);
    EXPECT_THAT(all_of(refused.error()), testing::HasSubstr("not made by partita"));
    EXPECT_EQ(world.draw(0), "on " + place + "-*");
  });
}

TEST(EveryBoard, BothNamesAreTheSameDevice) {  // as case 23
  on_every_board([](EmulatedWorld& world, const catalog::Board& board) {
    world.must_apply(world.exactly({{0, {first_place(board)}}}));
    const layout::Gpu gpu = world.state().gpus.at(0);
    const layout::GpuInstance& instance = gpu.instances.at(0);
    const std::string path = "MIG-" + gpu.uuid + "/" + std::to_string(instance.id) + "/0";
    driver::Driver driver = world.open_driver();
    for (const std::string& name : {instance.compute.at(0).uuid, path}) {
      const auto device = value(driver.find_device(name));
      EXPECT_EQ(device.gpu_uuid, gpu.uuid);
      EXPECT_EQ(device.gpu_instance, instance.id);
      EXPECT_EQ(device.compute_instance, 0);
    }
  });
}

TEST(EveryBoard, FiltersThatMatchNothingListItsDeviceId) {  // as case 26
  on_every_board([](EmulatedWorld& world, const catalog::Board& board) {
    const auto refused = world.apply(
        world.layout("    - {devices: all, device-filter: \"0x000110DE\", mig-enabled: true, mig-devices: {}}\n"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::not_found);
    EXPECT_THAT(all_of(refused.error()), testing::HasSubstr(board.product));
    EXPECT_THAT(all_of(refused.error()), testing::HasSubstr("10DE"));
  });
}

}  // namespace
}  // namespace partita::node
