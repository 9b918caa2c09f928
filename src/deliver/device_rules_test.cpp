#include "deliver/device_rules.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "deliver/cgroup.h"
#include "deliver/test_nodes.h"

namespace partita::deliver {
namespace {

const Filter kFilter{{195, 236}, {{195, 0}, {236, 66}, {7, 7}}};

std::string text_of(const DeviceRules& rules) {
  std::string text;
  for (const auto& [subject, access] : rules) text += to_string(subject, access) + "\n";
  return text;
}

TEST(DeviceRules, AllButTheGuardedMajors) {
  const DeviceRules rules = rules_of(read_rules("a *:* rwm\n"), kFilter);
  EXPECT_EQ(rules.size(), 1u + 510u + 2u);
  EXPECT_EQ(rules.at({'b', {}, {}}), "rwm");
  EXPECT_EQ(rules.at({'c', 1, {}}), "rwm");
  EXPECT_EQ(rules.at({'c', 511, {}}), "rwm");
  EXPECT_FALSE(rules.contains({'c', 195, {}}));
  EXPECT_EQ(rules.at({'c', 195, 0}), "rw");
  EXPECT_EQ(rules.at({'c', 236, 66}), "rw");
  EXPECT_FALSE(rules.contains({'c', 7, 7})) << "of no guarded major: as outside";
}

TEST(DeviceRules, WithinWhatAContainerAllows) {
  const DeviceRules rules =
      rules_of(read_rules("c 1:3 rwm\nc 195:* rw\nc 195:255 rw\nb 8:0 r\nc 136:* rwm\n"), kFilter);
  EXPECT_EQ(text_of(rules), "b 8:0 r\nc 1:3 rwm\nc 136:* rwm\nc 195:0 rw\nc 236:66 rw\n");
}

TEST(DeviceRules, AnyMajorOfOneRight) {
  const DeviceRules rules = rules_of(read_rules("c *:* m\nc 5:1 rw\n"), kFilter);
  EXPECT_EQ(rules.at({'c', 5, {}}), "m");
  EXPECT_EQ(rules.at({'c', 5, 1}), "rw");
  EXPECT_FALSE(rules.contains({'c', 195, {}})) << "guarded nodes are not made inside, either";
}

TEST(DeviceRules, LinesThatAreNoRulesAreLeftOut) {
  EXPECT_TRUE(read_rules("\nc 1 rw\nc x:1 rw\ncc 1:1 rw\nc 1:1\nc 1:1:1 rw\n").empty());
}

// A machine whose own group is restricted, as in a container of v1.
TEST(DeviceRules, InsideARestrictedGroup) {
  const std::filesystem::path devices = "/sys/fs/cgroup/devices";
  const TestNodes nodes;
  if (const std::string why = nodes.unusable(); !why.empty()) GTEST_SKIP() << why;
  if (!is_cgroup1(devices)) GTEST_SKIP() << "no devices controller of cgroup v1 is mounted";
  const std::string outer = fmt::format("partita-test-{}", ::getpid());
  const auto machine = nodes.path() / "cgroup";
  std::filesystem::create_directory(machine);
  ASSERT_TRUE(make_group(devices, outer, "lease-outer"));
  const auto group = devices / outer / "lease-outer";
  std::filesystem::create_directory_symlink(group, machine / "devices");
  ASSERT_EQ(write_control(group / "devices.deny", "a"), 0);
  for (const char* rule : {"c 1:3 rw", "c 195:* rw", "c 236:66 rw"})
    ASSERT_EQ(write_control(group / "devices.allow", rule), 0);
  {
    auto confinement = Confinement::open("inner", machine);
    ASSERT_TRUE(confinement) << confinement.error().message;
    EXPECT_EQ(confinement->kind(), "cgroup v1 devices");
    const auto prepared = confinement->prepare("a", kFilter, {});
    ASSERT_TRUE(prepared) << prepared.error().message;
    EXPECT_EQ(text_of(read_rules(read_control(group / "inner/lease-a/devices.list"))),
              "c 1:3 rw\nc 195:0 rw\nc 236:66 rw\n");
    const auto wider = confinement->prepare("b", Filter{{236}, {{236, 67}}}, {});
    ASSERT_FALSE(wider);
    EXPECT_EQ(
        wider.error().message,
        fmt::format("lease b: cannot write \"c 236:67 rw\" to {}: Operation not permitted (the group above it does "
                    "not allow that)",
                    (group / "inner/lease-b/devices.allow").string()));
    EXPECT_TRUE(confinement->dissolve("a"));
  }
  EXPECT_TRUE(remove_group(devices / outer));
}

}  // namespace
}  // namespace partita::deliver
