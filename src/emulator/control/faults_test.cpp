#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "base/yaml.h"
#include "emulator/control/control.h"
#include "emulator/control/fault_catalogue.h"
#include "emulator/control/fault_text.h"
#include "emulator/control/node_file.h"
#include "emulator/control/nvml_return.h"
#include "emulator/control/test_support.h"
#include "emulator/engine/engine.h"

namespace partita::emulator {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

std::vector<Fault> read(const std::string& entry) {
  const auto file = read_node_file("gpus: [{board: a30-24gb, count: 4}]\nfaults: [" + entry + "]", "lab.yaml");
  EXPECT_TRUE(file) << entry << ": " << file.error().message;
  return file ? file->faults : std::vector<Fault>{};
}

TEST(Faults, AreReadFromTheNodeFile) {
  const std::vector<Fault> all = read(
      "{function: nvmlDeviceGetName, gpu: 2, return: IN_USE, calls: 3, delay: 10ms..1s, xid: 31, condition: lost}, "
      "{return: 999, probability: 0.25, seed: 7}, {delay: 5ms}, {measured_times: 2, gpu: 1}, {busy_after_exit: 3s}, "
      "{return: TIMEOUT}, {return: TIMEOUT, calls: always}");
  ASSERT_EQ(all.size(), 7U);
  EXPECT_EQ(all[0].function, "nvmlDeviceGetName");
  EXPECT_EQ(all[0].gpu, 2);
  EXPECT_EQ(all[0].answer, 19);
  EXPECT_EQ(all[0].calls, 3);
  EXPECT_EQ(all[0].delay->least, milliseconds(10));
  EXPECT_EQ(all[0].delay->most, milliseconds(1000));
  EXPECT_EQ(all[0].xid, 31U);
  EXPECT_EQ(all[0].condition, Condition::lost);
  EXPECT_EQ(all[1].probability, 0.25);
  EXPECT_EQ(all[1].seed, 7U);
  EXPECT_EQ(all[1].calls, std::nullopt) << "what strikes by chance stays";
  EXPECT_EQ(all[2].function, "*");
  EXPECT_EQ(all[2].calls, std::nullopt) << "a delay stays";
  EXPECT_EQ(all[3].measured_times, 2);
  EXPECT_EQ(all[4].linger, milliseconds(3000));
  EXPECT_EQ(all[5].calls, 1) << "a return strikes once";
  EXPECT_EQ(all[6].calls, std::nullopt);
}

TEST(Faults, AreActiveFromTheStartAndListed) {
  const TemporaryRoot root;
  catalog::Catalog catalog = open_catalog();
  const std::filesystem::path path =
      root.write("lab.yaml",
                 "gpus: [{board: a30-24gb, count: 2}]\n"
                 "faults: [{gpu: 1, condition: lost}, {function: nvmlInit_v2, return: 10, calls: 2}]\n");
  const auto node = start(catalog, path.string());
  ASSERT_TRUE(node) << node.error().message;
  Engine engine = std::move(*Engine::open(node->folder));
  const auto all = faults(node->name);
  ASSERT_TRUE(all && all->size() == 2);
  EXPECT_EQ(describe((*all)[1]), "the next 2 calls of nvmlInit_v2 will return TIMEOUT");
  EXPECT_FALSE(engine.take_fault("nvmlDeviceGetName", 1)) << "it has no return of its own";
  EXPECT_EQ(engine.gpu(1).condition, Condition::lost) << "but the GPU is lost from the first call about it";
  ASSERT_TRUE(set_condition(node->name, "1", Condition::good));
  ASSERT_TRUE(reload_driver(node->name));
  ASSERT_TRUE(raise_xid(node->name, "1", 63));
  EXPECT_EQ(engine.event(engine.next_event() - 1)->data, 63U);
  const Time before = engine.now();
  ASSERT_TRUE(advance_clock(node->name, milliseconds(60'000)));
  EXPECT_GE(engine.now() - before, milliseconds(60'000));
}

// Every node-file entry of the catalogue is read, and every command names a verb and options that there are.
TEST(FaultCatalogue, IsTrue) {
  for (const CatalogueRow& row : fault_catalogue()) {
    if (!row.node_file.empty()) {
      EXPECT_EQ(read(std::string(row.node_file)).size(), 1U) << row.fault;
    }
    const std::string verb = split(row.command, ' ')[0];
    EXPECT_THAT((std::vector<std::string>{"fault", "xid", "lose", "hold", "reboot"}), ::testing::Contains(verb));
  }
}

// The schema that people's editors use has the keys that are read.
TEST(NodeFileSchema, HasTheFaultsKeys) {
  const auto text = read_file(PARTITA_SOURCE_DIR "/data/schemas/node.schema.json", 1U << 20);
  ASSERT_TRUE(text);
  const auto schema = parse_yaml(*text, "node.schema.json");
  ASSERT_TRUE(schema) << schema.error().message;
  std::set<std::string> keys;
  for (const auto& member : schema->root.find("$defs")->find("fault")->find("properties")->members)
    keys.insert(member.first);
  for (const std::string& key : keys) {
    const auto file = read_node_file("gpus: [{board: a30-24gb}]\nfaults: [{" + key + ": []}]", "lab.yaml");
    ASSERT_FALSE(file);
    EXPECT_THAT(file.error().message, ::testing::Not(HasSubstr("unknown key"))) << key;
  }
  EXPECT_EQ(keys, (std::set<std::string>{"function", "gpu", "calls", "probability", "seed", "return", "delay", "xid",
                                         "condition", "measured_times", "busy_after_exit"}));
}

}  // namespace
}  // namespace partita::emulator
