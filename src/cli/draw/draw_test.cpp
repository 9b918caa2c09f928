#include <gtest/gtest.h>

#include <regex>

#include "base/text.h"
#include "catalog/catalog.h"
#include "cli/draw/draw.h"

namespace partita::cli {
namespace {

constexpr Look kPlain{};
constexpr Look kUnicode{80, false, true, false};

std::shared_ptr<const catalog::Board> a100() {
  auto catalog = catalog::Catalog::open();
  return *catalog->board("a100-sxm4-40gb");
}

int profile_called(const catalog::Board& board, std::string_view name) {
  for (std::size_t i = 0; i < board.profiles.size(); ++i)
    if (board.profiles[i].name == name) return static_cast<int>(i);
  ADD_FAILURE() << "no profile " << name;
  return 0;
}

layout::GpuInstance instance(const catalog::Board& board, int id, std::string_view name, int start) {
  layout::GpuInstance out;
  out.id = id;
  out.profile = profile_called(board, name);
  const auto& profile = board.profiles[static_cast<std::size_t>(out.profile)];
  out.placement = {start, profile.placement_size};
  layout::ComputeInstance compute;
  compute.profile = static_cast<int>(profile.compute.size()) - 1;
  compute.uuid = "MIG-00000000-1111-2222-3333-44444444444" + std::to_string(id % 10);
  out.compute = {compute};
  return out;
}

layout::Gpu gpu(int index = 0) {
  layout::Gpu out;
  out.index = index;
  out.uuid = "GPU-0123456" + std::to_string(index) + "-aaaa-bbbb-cccc-dddddddddddd";
  out.pci_bus_id = "00000000:07:00.0";
  out.product = "NVIDIA A100-SXM4-40GB";
  out.total_memory = gib(40);
  out.board = a100();
  out.mode = layout::MigMode{true, true};
  return out;
}

layout::Gpu cut_gpu() {
  auto out = gpu();
  out.instances = {instance(*out.board, 7, "1g.5gb", 0), instance(*out.board, 4, "2g.10gb", 2),
                   instance(*out.board, 2, "3g.20gb", 4)};
  return out;
}

api::StatusAnswer status_of(std::vector<layout::Gpu> gpus) {
  api::StatusAnswer out;
  out.node = "lab";
  out.emulated = true;
  out.state.driver_version = "550.90.07";
  out.state.gpus = std::move(gpus);
  return out;
}

std::string drawn(const Look& look, std::vector<layout::Gpu> gpus, bool detailed = false) {
  const auto count = gpus.size();
  return draw_status(look, status_of(std::move(gpus)), detailed, count);
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(DrawBar, IsToScaleInAsciiAndBoxCharacters) {
  const std::vector<BarCell> cells = {{0, 1, {"one"}, Tone::idle}, {2, 2, {"two"}, Tone::busy}};
  EXPECT_EQ(draw_bar({21, false, false, false}, 4, cells, 0), "|one |....|two      |\n");
  EXPECT_EQ(draw_bar({21, false, true, false}, 4, cells, 0), "│one │····│two      │\n");
}

TEST(DrawBar, NeighbouringFreeUnitsAreTicked) {
  EXPECT_EQ(draw_bar({21, false, false, false}, 4, {{0, 2, {""}, Tone::idle}}, 0), "|         |....:....|\n");
}

TEST(DrawBar, TextThatIsTooLongIsCut) {
  EXPECT_EQ(draw_bar({9, false, true, false}, 2, {{0, 1, {"abcdef"}, Tone::idle}}, 0), "│ab…│···│\n");
}

TEST(DrawBar, ColourDoesNotMoveAnything) {
  const std::vector<BarCell> cells = {{1, 3, {"x"}, Tone::busy}};
  const auto plain = draw_bar({40, false, true, false}, 4, cells, 2);
  const auto coloured = draw_bar({40, true, true, false}, 4, cells, 2);
  EXPECT_NE(plain, coloured);
  EXPECT_EQ(plain, std::regex_replace(coloured, std::regex("\033\\[[0-9;]*m"), ""));
}

TEST(DrawStatus, EightGpusFitOnAScreenOf80By24) {
  std::vector<layout::Gpu> gpus;
  for (int i = 0; i < 8; ++i) {
    gpus.push_back(cut_gpu());
    gpus.back().index = i;
  }
  const auto lines = split(drawn(kUnicode, std::move(gpus)), '\n');
  EXPECT_LE(lines.size(), 24u);
  for (const auto& line : lines) EXPECT_LE(width_of(line), 80) << line;
}

TEST(DrawStatus, ShowsProfileIdAndHolderToScale) {
  auto one = cut_gpu();
  one.instances[2].pins = {{layout::Pin::Reason::busy, "pid 4711 (python)"}};
  one.processes = {{4711, "python", gib(2), 2, 0}};
  const auto text = drawn(kUnicode, {one, gpu(1), gpu(2)});
  EXPECT_TRUE(has(text, "│ 1g.5gb │········│ 2g.10gb #4      │●3g.20gb #2 python 4711            │")) << text;
  EXPECT_TRUE(has(text, "free 1/8 memory 1/7 compute")) << text;
  EXPECT_TRUE(has(text, "● in use   · free")) << text;
}

TEST(DrawStatus, HoldersThatDoNotFitBesideTheProfileGetASecondLine) {
  auto one = cut_gpu();
  one.processes = {{4711, "python", gib(2), 7, 0}};
  const auto text = drawn(kUnicode, {one, gpu(1), gpu(2)});
  EXPECT_TRUE(has(text, "│●1g.5gb │")) << text;
  EXPECT_TRUE(has(text, "│#7 pyth…│")) << text;
}

TEST(DrawStatus, EnabledEmptyIsANormalState) {
  EXPECT_TRUE(has(drawn(kPlain, {gpu()}), "MIG enabled, empty"));
  EXPECT_TRUE(has(drawn(kPlain, {gpu(), gpu(1), gpu(2)}), "enabled, empty"));
}

TEST(DrawStatus, TellsTheModesApart) {
  auto off = gpu(), pending = gpu(), none = gpu(), lost = gpu();
  off.mode = layout::MigMode{false, false};
  pending.mode = layout::MigMode{false, true};
  none.mode.reset();
  lost = layout::Gpu{};
  lost.fault = "lost";
  EXPECT_TRUE(has(drawn(kPlain, {off}), "MIG off"));
  EXPECT_TRUE(has(drawn(kPlain, {pending}), "MIG off, on after a reset"));
  EXPECT_TRUE(has(drawn(kPlain, {none}), "no MIG on this GPU"));
  EXPECT_TRUE(has(drawn(kPlain, {lost}), "GPU 0  ?  fault: lost"));
}

TEST(DrawStatus, AnInstanceWithoutComputeInstanceIsBare) {
  auto one = cut_gpu();
  one.instances[2].compute.clear();
  one.instances[2].pins = {{layout::Pin::Reason::foreign, "not made by partita"}};
  EXPECT_TRUE(has(drawn(kUnicode, {one, gpu(1), gpu(2)}), "│○3g.20gb #2 bare foreign"));
  const auto detailed = drawn(kUnicode, {one}, true);
  EXPECT_TRUE(has(detailed, "no compute instance: nothing can run on it")) << detailed;
  EXPECT_TRUE(has(detailed, "not made by partita")) << detailed;
}

TEST(DrawStatus, SeveralComputeInstancesAreCountedAndListed) {
  auto one = cut_gpu();
  auto second = one.instances[2].compute[0];
  second.id = 1;
  second.profile = 0;
  one.instances[2].compute.push_back(second);
  const auto text = drawn(kUnicode, {one}, true);
  EXPECT_TRUE(has(text, "3g.20gb 2 CIs")) << text;
  EXPECT_TRUE(has(text, "CI 1  MIG-00000000-1111-2222-3333-444444444442  1c.3g.20gb")) << text;
}

TEST(DrawStatus, NamesOfProcessesCannotSteerTheTerminal) {
  auto one = cut_gpu();
  one.processes = {{1, "evil\033[2J\n\xff", std::nullopt, 2, 0}};
  const auto text = drawn(kUnicode, {one}, true);
  EXPECT_FALSE(has(text, "\033")) << text;
  EXPECT_TRUE(has(text, "evil?[2J??")) << text;
}

TEST(NameThatFits, DropsTheMemoryBeforeTheAttributes) {
  EXPECT_EQ(name_that_fits("1g.10gb+me", 10), "1g.10gb+me");
  EXPECT_EQ(name_that_fits("1g.10gb+me", 7), "1g+me");
  EXPECT_EQ(name_that_fits("1g.24gb-me", 7), "1g-me");
}

api::GpuChange change_of(int index) {
  api::GpuChange change;
  change.before = cut_gpu();
  change.before.index = index;
  change.board = change.before.board;
  const auto& board = *change.board;
  const int two = profile_called(board, "2g.10gb"), one = profile_called(board, "1g.5gb");
  using Kind = plan::Step::Kind;
  change.plan.steps = {{Kind::destroy_compute, two, 2, 1, 0},
                       {Kind::destroy_gpu_instance, two, 2},
                       {Kind::create_gpu_instance, one, 2},
                       {Kind::create_compute, one, 2, 0, 0},
                       {Kind::create_gpu_instance, one, 3}};
  change.plan.kept = {{one, 0}, {profile_called(board, "3g.20gb"), 4}};
  change.plan.result = {{one, 0}, {one, 2}, {one, 3}, {profile_called(board, "3g.20gb"), 4}};
  return change;
}

TEST(DrawPlan, ShowsBeforeAfterAndSteps) {
  api::NodePlanAnswer answer;
  answer.changes = {change_of(3)};
  answer.before.gpus = {gpu(0), gpu(1), gpu(2), gpu(3)};
  answer.gpu_instances_kept = 2;
  answer.gpu_instances_destroyed = 1;
  answer.gpu_instances_created = 2;
  const auto text = draw_plan(kUnicode, answer);
  EXPECT_TRUE(has(text, "  now  │ 1g.5gb │········│ 2g.10gb #4      │ 3g.20gb #2                        │\n")) << text;
  EXPECT_TRUE(has(text, "  then │ 1g.5gb │········│+1g.5gb │+1g.5gb │ 3g.20gb #2                        │\n")) << text;
  EXPECT_TRUE(
      has(text, "  steps   1  destroy 2g.10gb@2\n          2  create 1g.5gb@2, 1g.5gb@3 without a compute instance\n"))
      << text;
  EXPECT_TRUE(has(text, "keeps 2, destroys 1, creates 2 on 1 GPU; 3 GPUs untouched\n")) << text;
}

TEST(DrawPlan, GpusThatChangeAlikeAreDrawnOnce) {
  api::NodePlanAnswer answer;
  answer.changes = {change_of(0), change_of(1), change_of(2), change_of(5)};
  const auto text = draw_plan(kUnicode, answer);
  EXPECT_TRUE(has(text, "GPUs 0-2, 5  NVIDIA A100-SXM4-40GB, each\n")) << text;
  EXPECT_EQ(text.find("  now "), text.rfind("  now ")) << text;
}

TEST(DrawPlan, NamesWhatAForcedChangeHits) {
  api::NodePlanAnswer answer;
  answer.changes = {change_of(0)};
  auto& before = answer.changes[0].before;
  before.instances[1].pins = {{layout::Pin::Reason::busy, "pid 5 (train)"}};
  before.instances[2].pins = {{layout::Pin::Reason::leased, "lease alice"}};
  const auto text = draw_plan(kUnicode, answer);
  EXPECT_TRUE(has(text, "hits    2g.10gb@2  pid 5 (train)\n")) << text;
  EXPECT_TRUE(has(text, "keeps   3g.20gb@4  lease alice\n")) << text;
  EXPECT_TRUE(has(text, "◆3g.20gb #2 alice")) << text;
}

TEST(DrawPlan, ModeAndResetStandWhereTheyHappen) {
  api::NodePlanAnswer answer;
  answer.changes = {change_of(0)};
  answer.changes[0].set_mode = false;
  answer.changes[0].needs_reset = true;
  answer.changes[0].reset_together = {"00000000:01:00.0", "00000000:41:00.0"};
  const auto text = draw_plan(kUnicode, answer);
  EXPECT_LT(text.find("destroy 2g.10gb@2"), text.find("turn MIG mode off"));
  EXPECT_LT(text.find("turn MIG mode off"), text.find("reset together 00000000:01:00.0, 00000000:41:00.0")) << text;
}

TEST(DrawBoard, ShowsEveryProfileAndMarksWhatIsUnknown) {
  auto catalog = catalog::Catalog::open();
  ASSERT_TRUE(catalog);
  for (const auto& entry : catalog->boards()) {
    const auto board = *catalog->board(entry.id);
    const auto text = draw_board(kUnicode, *board);
    for (const auto& profile : board->profiles) {
      EXPECT_TRUE(has(text, profile.name)) << entry.id;
      EXPECT_TRUE(profile.memory || has(text, "?")) << entry.id;
      EXPECT_TRUE(profile.sm || !profile.sm_estimate || has(text, "~" + std::to_string(*profile.sm_estimate)))
          << entry.id;
    }
  }
}

}  // namespace
}  // namespace partita::cli
