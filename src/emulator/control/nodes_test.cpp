// Whole nodes in a temporary root: every shipped one starts, changes, reboots and stops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "catalog/embedded.h"
#include "emulator/control/control.h"
#include "emulator/control/test_support.h"
#include "emulator/engine/engine.h"

namespace partita::emulator {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Nodes : public ::testing::Test {
 protected:
  EmulatedNode started(std::string_view argument) {
    const Result<EmulatedNode> node = start(catalog_, argument);
    EXPECT_TRUE(node) << node.error().message;
    return node.value_or(EmulatedNode{});
  }
  Error not_started(std::string_view argument) {
    const Result<EmulatedNode> node = start(catalog_, argument);
    EXPECT_FALSE(node) << argument;
    return node ? Error{} : node.error();
  }

  TemporaryRoot root_;
  catalog::Catalog catalog_ = open_catalog();
};

TEST_F(Nodes, EveryShippedOneStartsRebootsAndStops) {
  const std::vector<std::string_view> files = catalog::embedded_files("nodes/");
  EXPECT_GE(files.size(), 13U);
  for (std::string_view file : files) {
    const std::string type(file.substr(6, file.size() - 6 - 5));
    const EmulatedNode node = started(type);
    EXPECT_EQ(node.name, type);
    EXPECT_EQ(node.type, type);
    EXPECT_GT(node.gpus, 0) << type;
    ASSERT_EQ(list().size(), 1U);
    EXPECT_EQ(list()[0].gpus, node.gpus);
    const std::uint64_t boot = Engine::open(node.folder)->boot_id();
    ASSERT_TRUE(reboot(type));
    EXPECT_NE(Engine::open(node.folder)->boot_id(), boot);
    ASSERT_TRUE(stop(type));
    EXPECT_FALSE(fs::exists(node.folder));
    EXPECT_TRUE(list().empty());
  }
}

TEST_F(Nodes, DgxA100IsTheRealOne) {
  const EmulatedNode node = started("dgx-a100");
  const Result<Engine> engine = Engine::open(node.folder);
  ASSERT_TRUE(engine) << engine.error().message;
  std::vector<std::string> buses;
  for (const GpuSpec& gpu : engine->spec().gpus) buses.push_back(gpu.pci_bus_id.substr(9, 2));
  EXPECT_THAT(buses, ElementsAre("07", "0F", "47", "4E", "87", "90", "B7", "BD"));
  EXPECT_EQ(engine->spec().gpus[0].pci_subsystem_id, 0x134F10DEU);
  EXPECT_FALSE(engine->gpu(0).mig_current);
}

TEST_F(Nodes, StartTwiceIsTheSameNode) {
  const EmulatedNode first = started("lab=a30x2");
  Engine engine = std::move(*Engine::open(first.folder));
  NvmlReturn activation = kSuccess;
  ASSERT_EQ(engine.set_mig_mode(0, true, activation), kSuccess);
  for (const char* argument : {"lab=a30x2", "lab"}) {
    EXPECT_EQ(started(argument).type, "a30x2");
    EXPECT_TRUE(engine.gpu(0).mig_pending);
  }
  const Error error = not_started("lab=dgx-a100");
  EXPECT_EQ(error.code, ErrorCode::invalid);
  EXPECT_THAT(error.message, HasSubstr("lab exists and was made from a30x2, not from dgx-a100"));
  EXPECT_EQ(started("a30x2=dgx-a100").gpus, 8);
  EXPECT_EQ(started("a30x2").gpus, 8);
  EXPECT_EQ(not_started("a30x2=a30x2").code, ErrorCode::invalid);
}

TEST_F(Nodes, TwoStartsAtOnceMakeOneNode) {
  std::vector<std::string> uuids(8);
  {
    std::vector<std::jthread> threads;
    for (std::string& uuid : uuids)
      threads.emplace_back([&uuid] {
        catalog::Catalog catalog = open_catalog();
        const Result<EmulatedNode> node = start(catalog, "lab=a30x2");
        if (!node) {
          uuid = node.error().message;
          return;
        }
        const Result<Engine> engine = Engine::open(node->folder);
        uuid = engine ? std::to_string(engine->boot_id()) : engine.error().message;
      });
  }
  for (const std::string& uuid : uuids) EXPECT_EQ(uuid, uuids[0]);
  EXPECT_EQ(list().size(), 1U);
}

TEST_F(Nodes, UsersOwnFileNamesItself) {
  const fs::path file = root_.write("lab.yaml", "gpus: [{board: a30-24gb}]");
  const EmulatedNode node = started(file.string());
  EXPECT_EQ(node.name, "lab");
  EXPECT_EQ(node.type, file.string());
  EXPECT_EQ(started(file.string()).folder, node.folder);
  EXPECT_EQ(started("lab").folder, node.folder);
  EXPECT_EQ(started("other=" + file.string()).name, "other");
  EXPECT_EQ(started(root_.write("x.yaml", "{name: rack-7, gpus: [{board: a30-24gb}]}").string()).name, "rack-7");
  EXPECT_EQ(list().size(), 3U);
  EXPECT_EQ(started(root_.write("k=v.yaml", "{name: kv, gpus: [{board: a30-24gb}]}").string()).name, "kv");

  root_.write("lab.yaml", "gpus: [{board: a30-24gb, count: 2}]");
  EXPECT_THAT(not_started(file.string()).message, HasSubstr("was made from an earlier text of"));
}

TEST_F(Nodes, BadOnesMakeNothing) {
  EXPECT_EQ(not_started("nonsense").code, ErrorCode::not_found);
  EXPECT_THAT(not_started("dgx-a10").message, HasSubstr("dgx-a100"));
  EXPECT_EQ(not_started("/nowhere/lab.yaml").code, ErrorCode::not_found);
  EXPECT_EQ(not_started(root_.write("My Lab.yaml", "gpus: [{board: a30-24gb}]").string()).code, ErrorCode::invalid);
  EXPECT_EQ(not_started(root_.write("bad.yaml", "gpus: [{board: z}]").string()).code, ErrorCode::not_found);
  EXPECT_EQ(
      not_started(
          root_.write("bad.yaml", "gpus: [{board: a30-24gb}]\nfaults: [{function: '*', return: 19, gpu: 1}]").string())
          .code,
      ErrorCode::invalid);
  for (const char* hostile : {"", "..", ".", "A100", "=a30x2", "x=", "x=..", "a b", "x\ny", ".lock"})
    EXPECT_EQ(not_started(hostile).code, ErrorCode::invalid) << hostile;
  for (const char* path : {"../x", "../x=a30x2", "/", "./."})  // paths, and no files there
    EXPECT_NE(not_started(path).message, "") << path;
  EXPECT_TRUE(list().empty());
  for (const fs::directory_entry& entry : fs::directory_iterator(root_.path())) EXPECT_FALSE(entry.is_directory());
}

TEST_F(Nodes, HostileNamesRemoveNothing) {
  started("a30x2");
  for (const char* name : {"..", ".", "", "../a30x2", "/", "a30x2/root"}) {
    EXPECT_EQ(stop(name).error().code, ErrorCode::invalid) << name;
    EXPECT_EQ(find(name).error().code, ErrorCode::invalid) << name;
  }
  EXPECT_EQ(list().size(), 1U);
  const Result<void> absent = stop("a30x3");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::not_found);
  EXPECT_THAT(absent.error().message, HasSubstr("a30x2"));
}

TEST_F(Nodes, WhatAKilledStartLeavesIsNoNodeAndGoes) {
  fs::create_directories(root_.path() / ".starting/root");
  fs::create_directories(root_.path() / ".stopping");
  EXPECT_TRUE(list().empty());
  started("a30x2");
  EXPECT_FALSE(fs::exists(root_.path() / ".starting"));
  EXPECT_FALSE(fs::exists(root_.path() / ".stopping"));
}

TEST_F(Nodes, ADamagedNodeIsToldAndCanBeRemoved) {
  const EmulatedNode node = started("a30x2");
  std::ofstream(node.folder / "state", std::ios::trunc) << "not a state";
  const Result<EmulatedNode> found = find("a30x2");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::invalid);
  EXPECT_THAT(found.error().message, HasSubstr("partita emulate stop a30x2"));
  ASSERT_EQ(list().size(), 1U);
  EXPECT_EQ(list()[0].gpus, 0);
  EXPECT_TRUE(stop("a30x2"));
  EXPECT_TRUE(list().empty());
}

TEST_F(Nodes, FaultsOfTheFileAreThereAtTheStart) {
  const EmulatedNode node = started(
      root_.write("lab.yaml", "gpus: [{board: a30-24gb}]\nfaults: [{function: nvmlInit_v2, return: TIMEOUT, calls: 2}]")
          .string());
  Engine engine = std::move(*Engine::open(node.folder));
  ASSERT_EQ(engine.faults().size(), 1U);
  EXPECT_EQ(engine.faults()[0].answer, kTimeout);
  EXPECT_EQ(engine.faults()[0].calls, 2);
}

TEST(NodesFolder, IsWhereItIsExpected) {
  ::setenv("PARTITA_EMULATED_ROOT", "/x/y", 1);
  EXPECT_EQ(nodes_folder(), "/x/y");
  ::unsetenv("PARTITA_EMULATED_ROOT");
  ::setenv("XDG_STATE_HOME", "/state", 1);
  EXPECT_EQ(nodes_folder(), ::geteuid() == 0 ? "/var/lib/partita/emulated" : "/state/partita/emulated");
  ::unsetenv("XDG_STATE_HOME");
}

TEST(LibraryPath, IsOverriddenByTheEnvironment) {
  ::setenv("PARTITA_EMULATOR_LIBRARY", "/proc/self/exe", 1);
  EXPECT_EQ(library_path().value_or(""), "/proc/self/exe");
  ::setenv("PARTITA_EMULATOR_LIBRARY", "/nowhere/lib.so", 1);
  EXPECT_EQ(library_path().error().code, ErrorCode::unavailable);
  ::unsetenv("PARTITA_EMULATOR_LIBRARY");
}

TEST(NvmlReturn, IsReadByNameAndNumber) {
  for (const char* text : {"IN_USE", "in_use", "NVML_ERROR_IN_USE", "19"})
    EXPECT_EQ(parse_nvml_return(text), 19) << text;
  EXPECT_EQ(parse_nvml_return("NVML_SUCCESS"), 0);
  for (const char* text : {"", "IN_US", "18446744073709551616", "200", "-1", "NVML_"}) {
    ASSERT_FALSE(parse_nvml_return(text)) << text;
    EXPECT_EQ(parse_nvml_return(text).error().code, ErrorCode::invalid);
  }
  EXPECT_THAT(parse_nvml_return("IN_US").error().message, HasSubstr("did you mean IN_USE"));
}

}  // namespace
}  // namespace partita::emulator
