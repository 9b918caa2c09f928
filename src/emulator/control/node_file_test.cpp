#include "emulator/control/node_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "emulator/control/compile.h"
#include "emulator/control/identity.h"
#include "emulator/control/test_support.h"

namespace partita::emulator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;

NodeFile read(std::string_view text) {
  Result<NodeFile> file = read_node_file(text, "lab.yaml");
  EXPECT_TRUE(file) << file.error().message;
  return file.value_or(NodeFile{});
}

Result<NodeSpec> compiled(std::string_view text, const std::string& name = "lab") {
  catalog::Catalog catalog = open_catalog();
  const Result<NodeFile> file = read_node_file(text, "lab.yaml");
  if (!file) return std::unexpected(file.error());
  return compile(catalog, *file, name, "lab");
}

TEST(NodeFile, IsShortForUsers) {
  const NodeFile file = read("gpus: [{board: a100-sxm4-40gb, count: 8}]");
  ASSERT_EQ(file.gpus.size(), 1U);
  EXPECT_EQ(file.gpus[0].board, "a100-sxm4-40gb");
  EXPECT_EQ(file.gpus[0].count, 8);
  EXPECT_FALSE(file.gpus[0].mig_enabled);
  EXPECT_FALSE(file.driver.empty());
}

TEST(NodeFile, ReadsEveryKey) {
  const NodeFile file = read(R"(
source: here
name: lab-2
driver: "550.90.07"
gpus:
  - board: a100-sxm4-40gb
    count: 2
    pci: ["07:00.0", "0001:0f:00.0"]
    subsystem: "0x134F10DE"
    mig: enabled
    mirrored: true
    reset_group: 3
    nvlinks: 12
    total_memory: 40536MiB
    profiles:
      3g.20gb: {spelling: 3g.21gb, memory: 20GiB}
  - product: NVIDIA L40S
    device: "0x26B9"
    total_memory: 46068MiB
    compute_capability: "8.9"
    architecture: ada
    sm: 142
faults:
  - {function: nvmlDeviceCreateGpuInstance, return: IN_USE, calls: 2, gpu: 1}
)");
  EXPECT_EQ(file.name, "lab-2");
  EXPECT_EQ(file.cuda, "12.4");
  ASSERT_EQ(file.gpus.size(), 2U);
  const NodeGpus& a100 = file.gpus[0];
  EXPECT_THAT(a100.bus_ids, ElementsAre("00000000:07:00.0", "00000001:0F:00.0"));
  EXPECT_EQ(a100.subsystem, 0x134F10DEU);
  EXPECT_TRUE(a100.mig_enabled);
  EXPECT_TRUE(a100.mirrored);
  EXPECT_EQ(a100.reset_group, 3);
  EXPECT_EQ(a100.nvlinks, 12);
  EXPECT_EQ(a100.total_memory, mib(40536));
  ASSERT_EQ(a100.profiles.size(), 1U);
  EXPECT_EQ(a100.profiles[0].spelling, "3g.21gb");
  EXPECT_EQ(a100.profiles[0].memory, gib(20));
  ASSERT_TRUE(file.gpus[1].plain);
  EXPECT_EQ(file.gpus[1].plain->compute_capability_minor, 9);
  EXPECT_EQ(file.gpus[1].plain->sm, 142);
  ASSERT_EQ(file.faults.size(), 1U);
  EXPECT_EQ(file.faults[0].answer, 19);
  EXPECT_EQ(file.faults[0].gpu, 1);
}

struct Bad {
  std::string text;
  std::string says;  // after "lab.yaml:"
};

TEST(NodeFile, NamesFileLineAndKeyOfEachMistake) {
  const std::vector<Bad> all = {
      {"[]", "1: expected a mapping"},
      {"{}", "1: key \"gpus\" is missing"},
      {"gpus: []\nlatency: 3", "2: unknown key \"latency\""},
      {"gpus: {board: a30-24gb}", "1: gpus: expected a list"},
      {"gpus: []", "1: gpus: expected 1 to 32 GPUs"},
      {"gpus:\n- a30-24gb", "2: gpus[0]: expected a mapping"},
      {"gpus:\n- {count: 2}", "2: gpus[0]: key \"board\" is missing"},
      {"gpus:\n- {board: [a30-24gb]}", "2: gpus[0].board: expected text, found a list"},
      {"gpus:\n- {board: a30-24gb, cuont: 2}", "2: gpus[0]: unknown key \"cuont\"; did you mean count?"},
      {"gpus:\n- board: a30-24gb\n  count: 0", "3: gpus[0].count: expected a whole number from 1 to 32"},
      {"gpus:\n- board: a30-24gb\n  count: 33", "3: gpus[0].count: expected a whole number from 1 to 32"},
      {"gpus: [{board: a30-24gb, count: 20}, {board: a30-24gb, count: 20}]", "1: gpus: expected 1 to 32 GPUs in all"},
      {"gpus:\n- board: a30-24gb\n  pci: 07:00.0", "3: gpus[0].pci: expected a list"},
      {"gpus:\n- board: a30-24gb\n  pci: [\"7\"]", "3: gpus[0].pci[0]: expected a PCI bus id such as"},
      {"gpus:\n- board: a30-24gb\n  pci: [\"07:00.0\", \"08:00.0\"]", "3: gpus[0].pci: expected 1 bus id"},
      {"gpus:\n- board: a30-24gb\n  count: 2\n  pci: [\"07:00.0\", \"0000:07:00.0\"]", "2: gpus[0]: bus id"},
      {"gpus:\n- board: a30-24gb\n  subsystem: 134F10DE", "3: gpus[0].subsystem: expected a number such as 0x"},
      {"gpus:\n- board: a30-24gb\n  mig: true", "3: gpus[0].mig: expected enabled or disabled"},
      {"gpus:\n- board: a30-24gb\n  mirrored: yes", "3: gpus[0].mirrored: expected true or false"},
      {"gpus:\n- board: a30-24gb\n  reset_group: -1", "3: gpus[0].reset_group: expected a whole number"},
      {"gpus:\n- board: a30-24gb\n  nvlinks: many", "3: gpus[0].nvlinks: expected a whole number"},
      {"gpus:\n- board: a30-24gb\n  total_memory: 24", "3: gpus[0].total_memory: expected at least 1 MiB"},
      {"gpus:\n- board: a30-24gb\n  total_memory: lots", "3: gpus[0].total_memory: "},
      {"gpus:\n- board: a30-24gb\n  profiles: [1g.6gb]", "3: gpus[0].profiles: expected a mapping"},
      {"gpus:\n- board: a30-24gb\n  profiles:\n    1g.6gb: {sm: 3}", "4: gpus[0].profiles.1g.6gb: unknown key \"sm\""},
      {"gpus:\n- board: a30-24gb\n  profiles:\n    1g.6gb: {spelling: \"\"}", "4: gpus[0].profiles.1g.6gb.spelling: "},
      {"gpus:\n- product: X", "2: gpus[0]: key \"device\" is missing"},
      {"gpus:\n- {product: X, device: \"0x1\", mig: enabled}", "2: gpus[0]: unknown key \"mig\""},
      {"gpus:\n- {product: X, device: \"0x12345\"}", "2: gpus[0].device: expected a number such as 0x2E12"},
      {"gpus:\n- {product: X, device: \"0x1\", compute_capability: 12}", "2: gpus[0].compute_capability: expected"},
      {"gpus:\n- {product: X, device: \"0x1\", architecture: rubin}", "2: gpus[0].architecture: expected one of"},
      {"gpus: [{board: a30-24gb}]\ndriver: new", "2: driver: expected a version such as"},
      {"gpus: [{board: a30-24gb}]\ndriver: 550..1", "2: driver: expected a version such as"},
      {"gpus: [{board: a30-24gb}]\ncuda: [12]", "2: cuda: expected text"},
      {"gpus: [{board: a30-24gb}]\nname: ../x", "2: name: expected a name of"},
      {"gpus: [{board: a30-24gb}]\nfaults: [{gpu: 0}]", "2: faults[0]: the fault does nothing: expected a return"},
      {"gpus: [{board: a30-24gb}]\nfaults: [{delay: 5}]", "2: faults[0].delay: "},
      {"gpus: [{board: a30-24gb}]\nfaults: [{delay: 9ms..5ms}]", "2: faults[0].delay: expected the shorter"},
      {"gpus: [{board: a30-24gb}]\nfaults: [{condition: broken}]",
       "2: faults[0].condition: \"broken\" is no condition"},
      {"gpus: [{board: a30-24gb}]\nfaults: [{xid: 0}]", "2: faults[0].xid: "},
      {"gpus: [{board: a30-24gb}]\nfaults: [{return: 19, probability: 2}]",
       "2: faults[0].probability: expected 0 to 1"},
      {"gpus: [{board: a30-24gb}]\nfaults: [{measured_times: 1, return: 19}]", "2: faults[0]: measured times"},
      {"gpus: [{board: a30-24gb}]\nfaults: [{busy_after_exit: 2h}]", "2: faults[0]: expected a busy time"},
      {"gpus: [{board: a30-24gb}]\nfaults: [{no: 1}]", "2: faults[0]: unknown key \"no\""},
      {"gpus: [{board: a30-24gb}]\nfaults: [{function: nvmlInit, return: USED}]", "2: faults[0].return: "},
      {"gpus: [{board: a30-24gb}]\nfaults: [{function: init, return: 19}]", "2: faults[0].function: expected an NVML"},
      {"gpus: [{board: a30-24gb}]\nfaults: [{function: '*', return: 19, calls: 0}]", "2: faults[0].calls: "},
      {"gpus: [{board: a30-24gb}]\nfaults: [{function: '*', return: 19, gpu: 32}]", "2: faults[0].gpu: "},
      {"gpus: [{board: \"a\n", "2: not valid YAML"},
  };
  for (const Bad& bad : all) {
    const Result<NodeFile> file = read_node_file(bad.text, "lab.yaml");
    ASSERT_FALSE(file) << bad.text;
    EXPECT_EQ(file.error().code, ErrorCode::invalid) << bad.text;
    EXPECT_THAT(file.error().message, HasSubstr(":" + bad.says)) << bad.text;
    EXPECT_THAT(file.error().message, HasSubstr("lab.yaml:")) << bad.text;
  }
}

TEST(NodeFile, NamesWhatTheCatalogDoesNotHave) {
  const std::vector<Bad> all = {
      {"gpus:\n- board: a100-sxm4-40g", "2: gpus[0].board: "},
      {"gpus:\n- {board: a30-24gb}\n- {board: h100-sxm5-80gb, profiles: {3g.20gb: {}}}", "3: gpus[1].profiles: "},
      {"driver: \"450.80.02\"\ngpus:\n- {board: h100-sxm5-80gb}", "3: gpus[0].board: h100-sxm5-80gb needs driver 525"},
      {"gpus:\n- {board: a30-24gb, mirrored: true}", "2: gpus[0].mirrored: only boards of 8 memory slices"},
  };
  for (const Bad& bad : all) {
    const Result<NodeSpec> node = compiled(bad.text);
    ASSERT_FALSE(node) << bad.text;
    EXPECT_THAT(node.error().message, HasSubstr("lab.yaml:" + bad.says)) << bad.text;
  }
  EXPECT_THAT(compiled("gpus: [{board: a100-sxm4-40g}]").error().message, HasSubstr("a100-sxm4-40gb"));
  const auto same = compiled("gpus: [{board: a30-24gb, pci: [\"0f:00.0\"]}, {board: a30-24gb}]");
  ASSERT_FALSE(same);
  EXPECT_THAT(same.error().message, HasSubstr("GPUs 0 and 1 have the same bus id"));
}

TEST(Compile, GivesTheDriverWhatTheCatalogKnows) {
  const auto node = compiled("gpus: [{board: a100-sxm4-40gb, count: 2}]");
  ASSERT_TRUE(node) << node.error().message;
  ASSERT_EQ(node->gpus.size(), 2U);
  const GpuSpec& gpu = node->gpus[1];
  EXPECT_EQ(gpu.product, "NVIDIA A100-SXM4-40GB");
  EXPECT_EQ(gpu.pci_device_id, 0x20B010DEU);
  EXPECT_EQ(gpu.memory_mib, 40960U);
  EXPECT_EQ(gpu.bar1_mib, 65536U);
  EXPECT_EQ(gpu.chip_id, 0x170);
  EXPECT_EQ(gpu.architecture, "ampere");
  EXPECT_EQ(gpu.compute_capability_major, 8);
  EXPECT_EQ(gpu.minor, 1);
  EXPECT_TRUE(gpu.mode_change_needs_reset);
  ASSERT_EQ(gpu.profiles.size(), 7U);
  EXPECT_EQ(gpu.profiles[0].name, "1g.5gb");
  EXPECT_EQ(gpu.profiles[0].id, 19);
  EXPECT_EQ(gpu.profiles[0].memory_mib, 4864U);
  EXPECT_THAT(gpu.profiles[0].driver_order, ElementsAre(6, 4, 5, 0, 1, 2, 3));
}

TEST(Compile, FillsInWhatNobodyKnows) {
  const auto node = compiled("gpus: [{board: rtx-pro-5000}]");
  ASSERT_TRUE(node) << node.error().message;
  const GpuSpec& gpu = node->gpus[0];
  EXPECT_EQ(gpu.memory_mib, 48U * 1024);  // the name of 2g.48gb
  ASSERT_FALSE(gpu.profiles.empty());
  EXPECT_EQ(gpu.profiles[0].memory_mib, 24U * 1024);
  EXPECT_EQ(gpu.profiles[0].id, 100 + gpu.profiles[0].nvml_profile);
}

TEST(Compile, SpellsProfilesAsThisDriverDoes) {
  const auto node = compiled(R"(
gpus:
- board: gb200-186gb
  total_memory: 193024MiB
  profiles: {3g.93gb: {spelling: 3g.95gb, memory: 90GiB}}
)");
  ASSERT_TRUE(node) << node.error().message;
  for (const ProfileSpec& profile : node->gpus[0].profiles) {
    EXPECT_THAT(profile.name, Not(HasSubstr("3g.93gb")));
    if (profile.name != "3g.95gb") continue;
    EXPECT_EQ(profile.memory_mib, 90U * 1024);
    for (const ComputeProfileSpec& compute : profile.compute) EXPECT_THAT(compute.name, HasSubstr("3g.95gb"));
  }
}

TEST(Compile, EveryBoardMakesAWholeDevice) {
  catalog::Catalog catalog = open_catalog();
  for (const catalog::BoardEntry& board : catalog.boards()) {
    const auto node = compiled("driver: \"999\"\ngpus: [{board: " + board.id + "}]");
    ASSERT_TRUE(node) << node.error().message;
    const GpuSpec& gpu = node->gpus[0];
    EXPECT_TRUE(gpu.profiles.empty() || gpu.memory_mib > 0) << board.id;
    EXPECT_NE(gpu.pci_device_id, 0U) << board.id;
    EXPECT_NE(gpu.chip_id, 0) << board.id;
    for (const ProfileSpec& profile : gpu.profiles) {
      EXPECT_GT(profile.memory_mib, 0U) << board.id << ' ' << profile.name;
      EXPECT_LE(profile.memory_mib, gpu.memory_mib) << board.id << ' ' << profile.name;
      EXPECT_THAT(profile.starts, Not(IsEmpty())) << board.id << ' ' << profile.name;
    }
  }
}

TEST(Identity, IsFixedByNodeAndIndex) {
  const Identity first = identity("lab", 0);
  EXPECT_EQ(first.uuid, identity("lab", 0).uuid);
  EXPECT_NE(first.uuid, identity("lab", 1).uuid);
  EXPECT_NE(first.uuid, identity("lab2", 0).uuid);
  EXPECT_NE(first.pdi, identity("lab", 1).pdi);
  EXPECT_THAT(first.uuid, MatchesRegex("GPU-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
  EXPECT_THAT(first.serial, MatchesRegex("[0-9]{13}"));
}

TEST(NodeName, RefusesHostileOnes) {
  for (const char* good : {"a", "dgx-a100", "8x.lab_2"}) EXPECT_TRUE(is_node_name(good)) << good;
  for (const char* bad : {"", ".", "..", "../x", "a/b", "A", "-x", ".lock", "a b", "a\n", "\xc3\xa4"})
    EXPECT_FALSE(is_node_name(bad)) << bad;
  EXPECT_TRUE(is_node_name(std::string(63, 'a')));
  EXPECT_FALSE(is_node_name(std::string(64, 'a')));
}

}  // namespace
}  // namespace partita::emulator
