#include "node/lease_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace partita::node {
namespace {

using ::testing::HasSubstr;

Result<void> check(const std::string& name, int count = 1) {
  api::LeaseRequest request;
  request.count = count;
  request.name = name;
  return check_request(request);
}

TEST(LeaseNames, ThatAreNoneAreRefused) {
  for (const auto* name : {" ", "-a", ".", "a b", "a/b", "../x", "a\nb", "0:1", "\xC3\xA9"}) {
    const auto checked = check(name);
    ASSERT_FALSE(checked) << name;
    EXPECT_THAT(checked.error().message, HasSubstr("expected 1 to 63 characters")) << name;
  }
  EXPECT_FALSE(check(std::string(64, 'a')));
  EXPECT_TRUE(check(std::string(63, 'a')));
}

// What no group can be held to is refused before there is a lease.
TEST(LeaseNames, HostLimitsThatTheKernelDoesNotTakeAreRefused) {
  const auto with = [](std::optional<double> cpus, std::optional<Bytes> memory) {
    api::LeaseRequest request;
    request.count = 1;
    request.host_limits = {cpus, memory};
    return check_request(request);
  };
  EXPECT_TRUE(with(0.01, mib(1)));
  EXPECT_EQ(with(0.009, {}).error().message, "a limit of 0.009 processors: expected 0.01 to 1000000");
  EXPECT_EQ(with({}, Bytes{1023}).error().message, "a limit of 1023 bytes of memory: expected 1 MiB or more");
}

// The CDI name of a lease is its own name: it must not be taken for another lease's device, nor for all of them.
TEST(LeaseNames, DoNotStandForDevices) {
  for (const auto* name : {"all", "0", "17", "MIG-97646f9c-4f9a-53c3-8a78-5bc768d7bf21", "MIG-x",
                           "GPU-bc657967-30cc-4638-80d8-179b818811fb"}) {
    const auto checked = check(name);
    ASSERT_FALSE(checked) << name;
    EXPECT_EQ(checked.error().code, ErrorCode::invalid);
    EXPECT_THAT(checked.error().message, HasSubstr("containers find devices by such names")) << name;
  }
  for (const auto* name : {"all", "17", "MIG-x", "GPU-x"})
    EXPECT_FALSE(check(name, 2)) << name << ": one rule, as the API describes it, however many are asked for";
  for (const auto* name : {"all-of-it", "1g", "0.1", "mig", "gpu-user", "alice-train"})
    EXPECT_TRUE(check(name)) << name;
}

TEST(LeaseNames, MadeOnesAreGood) {
  for (const auto* user : {"alice", "uid 1000", "", "--", "all", "DOM\\bob", "MIG", "GPU", "MIG-x"})
    EXPECT_TRUE(check(made_name(user, 7))) << user;
  EXPECT_EQ(made_name("", 7), "lease-7");
}

}  // namespace
}  // namespace partita::node
