#include "node/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "node/reset.h"

namespace partita::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

Command shell(const std::string& script) { return {.argv = {"sh", "-c", script}, .envs = {}, .workdir = ""}; }

TEST(Command, GivesOutputAndNoFailure) {
  Command command = shell("echo $GREETING; pwd >&2");
  command.envs = {{"GREETING", "hello"}};
  command.workdir = "/";
  const auto outcome = run_command(command);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->failure, "");
  EXPECT_EQ(outcome->output, "hello\n/\n");
}

TEST(Command, TellsStatusAndSignal) {
  EXPECT_EQ(run_command(shell("exit 3"))->failure, "exit status 3");
  EXPECT_EQ(run_command(shell("kill -9 $$"))->failure, "killed by signal 9");
}

TEST(Command, MissingProgramIsNotFound) {
  const auto outcome = run_command({.argv = {"no-such-program-here"}, .envs = {}, .workdir = ""});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::not_found);
  EXPECT_FALSE(run_command({}));
}

TEST(Command, IsKilledAtItsTimeoutWithItsChildren) {
  Command command = shell("sleep 100 & sleep 100");
  command.timeout = std::chrono::milliseconds(50);
  EXPECT_THAT(run_command(command)->failure, HasSubstr("did not end within 50 ms"));
}

TEST(Command, DoesNotWaitForWhatStaysInTheBackground) {
  Command command = shell("sleep 3 & echo started");
  command.timeout = std::chrono::milliseconds(2000);
  EXPECT_EQ(run_command(command)->failure, "");
}

TEST(Command, KeepsTheEndOfALongOutput) {
  const auto failed = in_error("hook x", ErrorCode::unavailable, run_command(shell("seq 1 100000; exit 1")));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().details.back(), "100000");
  EXPECT_THAT(failed.error().details, SizeIs(12));
}

TEST(Command, IsKilledAtItsTimeoutWhileItWritesWithoutEnd) {
  Command command = shell("yes & yes & yes");
  command.timeout = std::chrono::milliseconds(100);
  EXPECT_THAT(run_command(command)->failure, HasSubstr("did not end within 100 ms"));
}

TEST(Command, DoesNotReadWithoutEndWhatTheBackgroundWrites) {
  const TestFolder folder;
  Command command =
      shell("setsid sh -c 'yes & yes & echo y; : > $WRITTEN; yes' & until [ -e $WRITTEN ]; do sleep 0.01; done");
  command.envs = {{"WRITTEN", folder.path() / "written"}};
  const auto outcome = run_command(command);
  EXPECT_EQ(outcome->failure, "");
  EXPECT_THAT(outcome->output, HasSubstr("y\n"));
}

TEST(ResetCommand, FillsInTheBusIds) {
  EXPECT_THAT(fill_in({"smi", "-i", "{bus-id}"}, {"a", "b"}), ElementsAre("smi", "-i", "a,b"));
  EXPECT_THAT(fill_in({"smi", "--gpus={bus-id}", "x"}, {"a"}), ElementsAre("smi", "--gpus=a", "x"));
  EXPECT_THAT(fill_in({"smi", "{bus-ids}"}, {"a", "b"}), ElementsAre("smi", "a", "b"));
}

}  // namespace
}  // namespace partita::node
