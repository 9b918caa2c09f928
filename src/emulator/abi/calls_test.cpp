// Every function with drawn arguments, before nvmlInit, in between and after nvmlShutdown: an NVML return, never a
// crash.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "emulator/abi/test_scene.h"

namespace partita::emulator::test {
namespace {

class Calls : public testing::Test {
 protected:
  Calls() : scene_(::dlopen(PARTITA_NVML_LIBRARY, RTLD_NOW | RTLD_LOCAL)) {}

  void draw_bytes(std::mt19937_64& random) {
    bytes_.resize(512);
    for (auto& byte : bytes_) byte = static_cast<std::uint8_t>(random());
    scene_.draw.feed(bytes_);
  }

  Scene scene_;
  std::vector<std::uint8_t> bytes_;
};

TEST_F(Calls, EveryFunctionIsThere) {
  EXPECT_GE(std::size(kCalls), 440u);
  for (std::size_t row = 0; row < std::size(kCalls); ++row)
    EXPECT_NE(scene_.function(row), nullptr) << kCalls[row].name;
}

TEST_F(Calls, NothingWorksBeforeInitAndAfterShutdown) {
  std::mt19937_64 random(1);
  const auto all_refuse = [&] {
    for (std::size_t row = 0; row < std::size(kCalls); ++row) {
      if (std::string_view(kCalls[row].name).starts_with("nvmlInit")) continue;
      for (int i = 0; i < 8; ++i) {
        draw_bytes(random);
        ASSERT_EQ(scene_.call(row), kUninitialized) << kCalls[row].name;
      }
    }
  };
  all_refuse();
  ASSERT_EQ(scene_.call("nvmlInit_v2"), kSuccess);
  scene_.furnish();
  ASSERT_EQ(scene_.call("nvmlShutdown"), kSuccess);
  all_refuse();  // with handles of before
}

TEST_F(Calls, AnyArgumentsGetAnAnswer) {
  std::mt19937_64 random(20261130);
  ASSERT_EQ(scene_.call("nvmlInit_v2"), kSuccess);
  scene_.furnish();
  std::map<std::string, std::set<int>> answers;
  std::vector<std::size_t> order(std::size(kCalls));
  for (std::size_t row = 0; row < order.size(); ++row) order[row] = row;
  for (int round = 0; round < 120; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t row : order) {
      draw_bytes(random);
      const int answer = scene_.call(row);
      ASSERT_TRUE(is_return(answer)) << kCalls[row].name << " answered " << answer << " in round " << round;
      answers[kCalls[row].name].insert(answer);
      if (std::string_view(kCalls[row].name) == "nvmlShutdown") scene_.call("nvmlInit_v2");
    }
    if (round % 20 == 19) scene_.furnish();
  }
  while (scene_.call("nvmlShutdown") == kSuccess) {
  }
  // The draws are worth something: most functions that are answered at all were, and few never got beyond their handle.
  std::size_t succeeded = 0, only_refused = 0;
  for (const auto& [name, seen] : answers) {
    succeeded += seen.contains(kSuccess);
    only_refused += seen.size() == 1 && seen.contains(kInvalidArgument);
  }
  EXPECT_GT(succeeded, 150u);
  EXPECT_LT(only_refused, 30u);
}

}  // namespace
}  // namespace partita::emulator::test
