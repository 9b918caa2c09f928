#include "lease/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "plan/test_random.h"

namespace partita::lease {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::IsEmpty;

Policy read(const std::string& text) {
  auto policy = read_policy("version: v1\n" + text, "/etc/partita/policy.yaml");
  EXPECT_TRUE(policy) << policy.error().message;
  return policy.value_or(Policy{});
}

std::string refusal(const std::string& text) {
  const auto policy = read_policy(text, "policy.yaml");
  EXPECT_FALSE(policy) << text;
  if (policy) return "";
  EXPECT_EQ(policy.error().code, ErrorCode::invalid);
  return policy.error().message;
}

api::Caller caller(std::string name, std::vector<std::string> groups = {}) {
  api::Caller out;
  out.uid = 1000;
  out.name = std::move(name);
  out.groups = std::move(groups);
  return out;
}

constexpr const char* kTeam =
    "everyone: {partitions: 2, compute-slices: 6, memory: 40GiB, longest: 8h, default: 2h, highest-priority: normal}\n"
    "users:\n"
    "  alice:\n"
    "    partitions: 4\n"
    "    longest: unlimited\n"
    "groups:\n"
    "  ml: {compute-slices: 8, longest: 2d}\n"
    "  admins: {longest: 1d, highest-priority: high}\n";

TEST(PolicyFile, ReadsEveryKey) {
  const auto policy = read(std::string("warning: 10m\ngrace: 30s\n") + kTeam);
  EXPECT_EQ(policy.warning, 10min);
  EXPECT_EQ(policy.grace, 30s);
  EXPECT_EQ(policy.everyone.partitions, 2);
  EXPECT_EQ(policy.everyone.compute_slices, 6);
  EXPECT_EQ(policy.everyone.memory, gib(40));
  EXPECT_EQ(policy.everyone.longest, milliseconds(8h));
  EXPECT_EQ(policy.everyone.standard, milliseconds(2h));
  EXPECT_EQ(policy.everyone.highest, api::Priority::normal);
  EXPECT_EQ(policy.users.at("alice").partitions, 4);
  EXPECT_EQ(policy.users.at("alice").longest, std::nullopt);
  EXPECT_EQ(policy.users.at("alice").lines.partitions, 7);
  EXPECT_EQ(policy.groups.at("ml").compute_slices, 8);
}

TEST(PolicyFile, TheExampleIsRight) {
  std::ifstream in(PARTITA_SOURCE_DIR "/packaging/policy.yaml");
  std::ostringstream text;
  text << in.rdbuf();
  const auto policy = read_policy(text.str(), "policy.yaml");
  ASSERT_TRUE(policy) << policy.error().message;
  EXPECT_EQ(policy->groups.at("research").longest, milliseconds(24h * 7));
}

TEST(PolicyFile, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(refusal("everyone: {partitions: 1}"), HasSubstr("key \"version\" is missing"));
  EXPECT_THAT(refusal("version: v2"), HasSubstr("expected v1"));
  EXPECT_THAT(refusal("version: v1\nevryone: {partitions: 1}"), HasSubstr("did you mean everyone?"));
  EXPECT_EQ(refusal("version: v1\neveryone:\n  partition: 3"),
            "policy.yaml:3: everyone: unknown key \"partition\"; did you mean partitions?");
  EXPECT_EQ(refusal("version: v1\nusers:\n  bob:\n    partitions: many"),
            "policy.yaml:4: users.bob.partitions: expected a whole number from 0 to 1000000, found \"many\"");
  EXPECT_THAT(refusal("version: v1\nusers: [bob]"),
              HasSubstr("policy.yaml:2: users: expected a mapping, found a list"));
  EXPECT_THAT(refusal("version: v1\nusers:\n  bob: 3"), HasSubstr("policy.yaml:3: users.bob: expected a mapping"));
  EXPECT_THAT(refusal("version: v1\nusers:\n  bob: {}"), HasSubstr("expected limits, found none"));
  EXPECT_THAT(refusal("version: v1\nusers:\n  \"bob smith\": {partitions: 1}"),
              HasSubstr("policy.yaml:3: users: expected the name of a user, found \"bob smith\""));
  EXPECT_THAT(refusal("version: v1\ngroups:\n  ml: {memory: 40}"), HasSubstr("found only 40 bytes"));
  EXPECT_THAT(refusal("version: v1\ngroups:\n  ml: {memory: lots}"), HasSubstr("policy.yaml:3: groups.ml.memory: "));
  EXPECT_THAT(refusal("version: v1\neveryone:\n  longest: 2"), HasSubstr("policy.yaml:3: everyone.longest: "));
  EXPECT_THAT(refusal("version: v1\neveryone:\n  longest: 0s"), HasSubstr("expected at least 1s, found 0s"));
  EXPECT_THAT(refusal("version: v1\neveryone:\n  highest-priority: urgent"),
              HasSubstr("expected low, normal or high, found \"urgent\""));
  EXPECT_THAT(refusal("version: v1\neveryone:\n  longest: 1h\n  default: 2h"),
              HasSubstr("policy.yaml:4: everyone.default: expected at most longest (1h, line 3), found 2h"));
  EXPECT_THAT(refusal("version: v1\neveryone:\n  longest: 1h\n  default: unlimited"), HasSubstr("found unlimited"));
  EXPECT_THAT(refusal("version: v1\neveryone:\n  longest: 1h\nusers:\n  bob: {default: 2h}"),
              HasSubstr("policy.yaml:5: users.bob.default: expected at most everyone's longest (1h, line 3)"));
  EXPECT_THAT(refusal("version: v1\nusers:\n  bob: {partitions: 1}\n  bob: {partitions: 2}"), HasSubstr("given twice"));
}

Usages holding(const std::vector<Holding>& leases) {
  Usages usages;
  for (const auto& lease : leases) add(usages, lease);
  return usages;
}

TEST(Quota, DenialNamesLimitLineUsageAndWhatToRelease) {
  const auto policy = read(kTeam);
  const auto usages = holding({{"bob-1", "bob", {"ml"}, {1, 3, gib(20)}}, {"bob-2", "bob", {"ml"}, {1, 1, gib(5)}}});
  const auto result = check_quota(policy, caller("bob", {"ml"}), usages, {1, 3, gib(20)});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::denied);
  EXPECT_EQ(result.error().message,
            "user bob may hold 2 partitions at once (policy.yaml:2), holds 2, and 1 would be added; release bob-1 (1 "
            "partition) first");
  EXPECT_THAT(result.error().details, testing::Contains(HasSubstr("user bob may hold 6 compute slices at once "
                                                                  "(policy.yaml:2), holds 4, and 3 would be added; "
                                                                  "release bob-2 (1 compute slice) first")));
  EXPECT_THAT(result.error().details,
              testing::Contains(HasSubstr("user bob may hold 40.00 GiB at once (policy.yaml:2), holds 25.00 GiB, and "
                                          "20.00 GiB would be added; release bob-2 (5.00 GiB) first")));
}

TEST(Quota, GroupIsSharedByItsMembers) {
  const auto policy = read(kTeam);
  const auto usages =
      holding({{"carol-1", "carol", {"ml"}, {1, 4, gib(20)}}, {"bob-1", "bob", {"ml"}, {1, 3, gib(20)}}});
  EXPECT_TRUE(check_quota(policy, caller("bob", {"ml"}), usages, {1, 1, gib(5)}));
  const auto result = check_quota(policy, caller("bob", {"ml"}), usages, {1, 2, gib(10)});
  ASSERT_FALSE(result);
  EXPECT_EQ(
      result.error().message,
      "group ml may hold 8 compute slices at once (policy.yaml:8), holds 7, and 2 would be added; release bob-1 (3 "
      "compute slices) first");
  EXPECT_THAT(result.error().details, testing::ElementsAre("held by carol: carol-1 (4 compute slices)",
                                                           "held by bob: bob-1 (3 compute slices)"));
  const auto other = check_quota(policy, caller("dave", {"ml"}), usages, {1, 2, gib(10)});
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("release bob-1 (3 compute slices, held by bob) first"));
}

TEST(Quota, MoreThanTheLimitAloneCannotBeReleased) {
  const auto result = check_quota(read(kTeam), caller("bob"), {}, {1, 7, gib(10)});
  ASSERT_FALSE(result);
  EXPECT_EQ(
      result.error().message,
      "user bob may hold 6 compute slices at once (policy.yaml:2), holds 0, and 7 would be added; ask for at most "
      "6 compute slices, or have an administrator raise it");
}

TEST(Quota, OwnKeysGoBeforeEveryones) {
  const auto policy = read(kTeam);
  EXPECT_TRUE(check_quota(policy, caller("alice"), holding({{"a", "alice", {}, {3, 3, gib(15)}}}), {1, 1, gib(5)}));
  EXPECT_FALSE(check_quota(policy, caller("alice"), holding({{"a", "alice", {}, {4, 4, gib(20)}}}), {1, 1, gib(5)}));
  EXPECT_FALSE(
      check_quota(policy, caller("alice"), {}, {1, 7, gib(5)}));  // everyone's compute slices hold for her, too
}

TEST(Quota, AdministratorsAreHeldByTheirOwnKeysOnly) {
  auto root = caller("root");
  root.administrator = true;
  EXPECT_TRUE(check_quota(read(kTeam), root, {}, {9, 60, gib(300)}));
  EXPECT_FALSE(check_quota(read("users: {root: {partitions: 1}}"), root, {}, {2, 2, gib(1)}));
}

TEST(Quota, WithoutPolicyThereAreNoLimits) {
  EXPECT_TRUE(check_quota({}, caller("bob"), {}, {100, 700, gib(4000)}));
  EXPECT_EQ(duration_of({}, caller("bob"), std::nullopt).value(), std::nullopt);
  EXPECT_EQ(duration_of({}, caller("bob"), milliseconds(9h)).value(), milliseconds(9h));
  EXPECT_TRUE(check_priority({}, caller("bob"), api::Priority::high));
}

// Whatever is asked in whatever order: what was allowed never sums up to more than any limit.
TEST(Quota, IsNeverExceeded) {
  EXPECT_TRUE(rc::check([] {
    using plan::test::chance;
    using plan::test::draw;
    const auto limit = [] {
      Limit out;
      if (chance(60)) out.partitions = draw(0, 5);
      if (chance(60)) out.compute_slices = draw(0, 15);
      if (chance(60)) out.memory = gib(static_cast<std::uint64_t>(draw(0, 60)));
      out.line = draw(1, 9);
      return out;
    };
    Policy policy;
    policy.everyone = limit();
    for (const char* user : {"a", "b"})
      if (chance(50)) policy.users[user] = limit();
    for (const char* group : {"g", "h"})
      if (chance(70)) policy.groups[group] = limit();
    std::vector<Holding> held;
    for (int i = 0; i < 40; ++i) {
      if (!held.empty() && chance(25)) held.erase(held.begin() + draw(0, static_cast<int>(held.size())));
      const char* names[] = {"a", "b", "c"};
      Holding one{
          std::to_string(i), names[draw(0, 3)], {}, {1, draw(0, 8), gib(static_cast<std::uint64_t>(draw(0, 30)))}};
      one.groups = one.user == "a"   ? std::vector<std::string>{"g"}
                   : one.user == "b" ? std::vector<std::string>{"g", "h"}
                                     : std::vector<std::string>{"h"};
      const auto before = holding(held);
      const auto allowed = check_quota(policy, caller(one.user, one.groups), before, one.usage);
      held.push_back(one);
      const auto after = holding(held);
      bool over = false;
      const auto check = [&](const Limit& l, const Limit& inherited, const Usage& now, const Usage& was) {
        const auto passes = [&](auto own, auto general, auto value, auto old) {
          const auto most = own ? own : general;
          over = over || (most && value > *most && value > old);
        };
        passes(l.partitions, inherited.partitions, now.partitions, was.partitions);
        passes(l.compute_slices, inherited.compute_slices, now.compute_slices, was.compute_slices);
        passes(l.memory, inherited.memory, now.memory, was.memory);
      };
      const auto usage = [](const auto& map, const std::string& name) {
        const auto found = map.find(name);
        return found == map.end() ? Usage{} : found->second;
      };
      const auto own = policy.users.contains(one.user) ? policy.users.at(one.user) : Limit{};
      check(own, policy.everyone, usage(after.users, one.user), usage(before.users, one.user));
      for (const auto& group : one.groups)
        if (policy.groups.contains(group))
          check(policy.groups.at(group), {}, usage(after.groups, group), usage(before.groups, group));
      RC_ASSERT(allowed.has_value() == !over);
      if (!allowed) held.pop_back();
    }
  }));
}

TEST(Duration, DefaultLongestAndWhoMayPassThem) {
  const auto policy = read(kTeam);
  EXPECT_EQ(duration_of(policy, caller("bob"), std::nullopt).value(), milliseconds(2h));
  EXPECT_EQ(duration_of(policy, caller("bob"), milliseconds(8h)).value(), milliseconds(8h));
  const auto result = duration_of(policy, caller("bob"), milliseconds(9h));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::denied);
  EXPECT_EQ(result.error().message,
            "user bob may have a lease for 8h at the longest (policy.yaml:2), 9h is asked; ask for less and renew it");
  EXPECT_TRUE(duration_of(policy, caller("bob", {"admins", "ml"}), milliseconds(48h)));  // the most generous group
  EXPECT_TRUE(duration_of(policy, caller("alice"), milliseconds(1000h)));                // hers is unlimited
  EXPECT_FALSE(duration_of(policy, caller("bob"), milliseconds(0)));
  EXPECT_EQ(duration_of(read("everyone: {longest: 3h}"), caller("bob"), std::nullopt).value(), milliseconds(3h));
  EXPECT_EQ(duration_limits(policy, caller("bob", {"ml"})).longest_source, "policy.yaml:8");
}

TEST(Priority, HighestIsKept) {
  const auto policy = read(kTeam);
  EXPECT_TRUE(check_priority(policy, caller("bob"), api::Priority::normal));
  const auto result = check_priority(policy, caller("bob"), api::Priority::high);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            "user bob may ask with priority normal at the highest (policy.yaml:2), high is asked");
  EXPECT_TRUE(check_priority(policy, caller("bob", {"admins"}), api::Priority::high));
}

TEST(Explain, RowsForTheCallerAndTheirGroups) {
  const auto policy = read(kTeam);
  const auto rows = explain(policy, caller("bob", {"ml", "video"}), holding({{"x", "bob", {"ml"}, {1, 3, gib(20)}}}));
  ASSERT_EQ(rows.size(), 6U);
  EXPECT_EQ(rows[0].who, "user bob");
  EXPECT_EQ(rows[0].what, "partitions");
  EXPECT_EQ(rows[0].used, 1);
  EXPECT_EQ(rows[0].limit, 2);
  EXPECT_EQ(rows[0].source, "policy.yaml:2");
  EXPECT_EQ(rows[4].who, "group ml");
  EXPECT_EQ(rows[4].what, "compute slices");
  EXPECT_EQ(rows[4].limit, 8);
  EXPECT_EQ(rows[5].limit, std::nullopt);
  EXPECT_THAT(rows[5].source, IsEmpty());
}

TEST(Explain, AdministratorsSeeAll) {
  auto root = caller("root");
  root.administrator = true;
  const auto rows = explain(read(kTeam), root, holding({{"x", "zoe", {}, {1, 3, gib(20)}}}));
  std::vector<std::string> who;
  for (std::size_t i = 0; i < rows.size(); i += 3) who.push_back(rows[i].who);
  EXPECT_THAT(who, testing::ElementsAre("user alice", "user root", "user zoe", "group admins", "group ml"));
}

}  // namespace
}  // namespace partita::lease
