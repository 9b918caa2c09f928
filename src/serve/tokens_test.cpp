#include "serve/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "base/test_folder.h"
#include "serve/secret.h"

namespace partita::serve {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Tokens : ::testing::Test {
  TestFolder folder;
  std::filesystem::path file = folder.path() / "tokens.db";
  Time now{std::chrono::hours(1000)};

  NewToken create(const std::string& name, Role role = Role::user, std::optional<Time> expires = std::nullopt) {
    Token wanted;
    wanted.name = name;
    wanted.role = role;
    wanted.user = "root";
    wanted.expires = expires;
    auto made = create_token(file, wanted, now);
    if (!made) throw std::runtime_error(made.error().message);
    return *std::move(made);
  }
};

TEST_F(Tokens, stand_for_a_user_and_a_role) {
  const auto user = create("ci"), viewer = create("screen", Role::viewer), boss = create("boss", Role::administrator);
  EXPECT_THAT(user.secret, StartsWith("partita_1_"));
  const auto caller = caller_of(file, user.secret, now);
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->name, "root");
  EXPECT_FALSE(caller->administrator);  // of the token, not of its user
  EXPECT_FALSE(caller->viewer);
  EXPECT_TRUE(caller_of(file, viewer.secret, now).value().viewer);
  EXPECT_TRUE(caller_of(file, boss.secret, now).value().administrator);
}

TEST_F(Tokens, secrets_are_not_in_the_file) {
  const auto made = create("ci");
  const auto secret = made.secret.substr(made.secret.rfind('_') + 1);
  EXPECT_EQ(secret.size(), 64U);
  std::stringstream bytes;
  bytes << std::ifstream(file, std::ios::binary).rdbuf();
  EXPECT_THAT(bytes.str(), Not(HasSubstr(secret)));
  EXPECT_THAT(bytes.str(), HasSubstr(hash_of(secret)));
  struct stat found{};
  ASSERT_EQ(::stat(file.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600U);
}

TEST_F(Tokens, end_when_revoked_or_expired_or_wrong) {
  const auto a = create("a"), b = create("b", Role::user, now + std::chrono::hours(1));
  ASSERT_TRUE(caller_of(file, a.secret, now));
  ASSERT_TRUE(revoke_token(file, "a", now));
  std::vector<std::string> messages;
  auto other = a.secret;
  other.back() = other.back() == '0' ? '1' : '0';
  for (const auto& secret :
       {a.secret, other, std::string("partita_"), std::string("partita_1"), std::string("partita__x"),
        std::string("partita_99_") + std::string(64, '0'), std::string(), std::string("x")}) {
    const auto caller = caller_of(file, secret, now);
    ASSERT_FALSE(caller) << secret;
    EXPECT_EQ(caller.error().code, ErrorCode::denied);
    messages.push_back(caller.error().message);
  }
  ASSERT_TRUE(caller_of(file, b.secret, now + std::chrono::minutes(59)));
  const auto late = caller_of(file, b.secret, now + std::chrono::hours(1));
  ASSERT_FALSE(late);
  messages.push_back(late.error().message);
  EXPECT_THAT(messages, ::testing::Each(messages.front()));
}

TEST_F(Tokens, are_listed_and_revoked_by_name_or_id) {
  create("a");
  create("b");
  ASSERT_TRUE(revoke_token(file, "2", now));
  const auto again = revoke_token(file, "b", now);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::not_found);
  const auto listed = list_tokens(file);
  ASSERT_EQ(listed.value().size(), 2U);
  EXPECT_FALSE(listed->at(0).revoked);
  EXPECT_EQ(listed->at(1).revoked, now);
  create("b");  // the name is free again
  EXPECT_FALSE(create_token(file, listed->at(0), now));
  EXPECT_TRUE(list_tokens(folder.path() / "none.db").value().empty());
}

TEST_F(Tokens, are_for_users_of_the_node) {
  Token wanted;
  wanted.name = "x";
  wanted.user = "no-such-user-here";
  EXPECT_EQ(create_token(file, wanted, now).error().code, ErrorCode::not_found);
  wanted.user = "root";
  for (const auto* name : {"", "a b", "a\nb", "ä"}) {
    wanted.name = name;
    EXPECT_EQ(create_token(file, wanted, now).error().code, ErrorCode::invalid) << name;
  }
}

TEST_F(Tokens, tell_when_they_were_used) {
  const auto made = create("a");
  EXPECT_FALSE(list_tokens(file).value().front().last_used);
  ASSERT_TRUE(caller_of(file, made.secret, now));
  EXPECT_EQ(list_tokens(file).value().front().last_used, now);
}

}  // namespace
}  // namespace partita::serve
