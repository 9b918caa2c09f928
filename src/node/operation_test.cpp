// Around an apply: the lock, hooks, resets, what is left unfinished, assert.
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fcntl.h>

#include <fstream>
#include <thread>

#include "base/file.h"
#include "node/database.h"
#include "node/lock.h"
#include "node/paths.h"
#include "node/schema.h"
#include "node/test_support.h"

namespace partita::node {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST(Lock, SaysWhoHoldsIt) {
  EmulatedWorld world("a30x2");
  std::filesystem::create_directories(world.options.state_dir);
  Recorder recorder;
  const auto held = take_lock(lock_file(world.options), "partita apply -f a.yaml", true, {}, recorder);
  ASSERT_TRUE(held);
  const auto refused = world.apply(world.cut("[0]", "", {.no_wait = true, .hooks = {}}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("pid " + std::to_string(getpid()) + " (partita apply -f a.yaml)"));
  EXPECT_EQ(lock_holder(lock_file(world.options)).value_or(LockHolder{}).pid, getpid());
  EXPECT_TRUE(world.open()->plan(world.cut("[0]", ""))) << "planning takes no lock";
}

// As lock_holder() of another process does, for a moment: a daemon that starts then must not give up.
TEST(Lock, WhoOnlyLooksIsNotInTheWay) {
  EmulatedWorld world("a30x2");
  std::filesystem::create_directories(world.options.state_dir);
  const auto file = lock_file(world.options);
  const int looker = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  ASSERT_EQ(flock(looker, LOCK_SH | LOCK_NB), 0);
  const std::jthread lets_go([looker] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    close(looker);
  });
  Recorder recorder;
  EXPECT_TRUE(take_lock(file, "partita serve", true, {}, recorder));
}

TEST(Lock, SecondApplyWaitsForTheFirst) {
  EmulatedWorld world("a30x2");
  std::filesystem::create_directories(world.options.state_dir);
  Recorder recorder;
  auto held = std::make_unique<Result<Lock>>(take_lock(lock_file(world.options), "partita apply", true, {}, recorder));
  ASSERT_TRUE(*held);
  // Lets go once it was told that somebody waits.
  struct LetGo final : Progress {
    explicit LetGo(std::unique_ptr<Result<Lock>>& lock) : lock_(lock) {}
    void step(int, int, std::string_view) override {}
    void note(std::string_view line) override {
      waited = line;
      lock_.reset();
    }
    std::string waited;
    std::unique_ptr<Result<Lock>>& lock_;
  } let_go(held);
  const auto answer = world.open()->apply(world.cut("[0]", ""), let_go);
  EXPECT_TRUE(answer);
  EXPECT_THAT(let_go.waited, HasSubstr("waiting for the lock held by pid"));
  EXPECT_FALSE(lock_holder(lock_file(world.options)));
}

// Else two processes could each hold a lock: one of the removed folder, one of the new.
TEST(Lock, OfAFolderThatWasRemovedMeanwhileIsNoLock) {
  EmulatedWorld world("a30x2");
  std::filesystem::create_directories(world.options.state_dir);
  Recorder recorder;
  auto held = std::make_unique<Result<Lock>>(take_lock(lock_file(world.options), "partita apply", true, {}, recorder));
  struct Remove final : Progress {
    void step(int, int, std::string_view) override {}
    void note(std::string_view) override {
      std::filesystem::remove(file);
      lock.reset();
    }
    std::filesystem::path file;
    std::unique_ptr<Result<Lock>>& lock;
    Remove(std::filesystem::path path, std::unique_ptr<Result<Lock>>& first) : file(std::move(path)), lock(first) {}
  } remove(lock_file(world.options), held);
  const auto refused = take_lock(lock_file(world.options), "b", false, std::chrono::seconds(9), remove);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
}

TEST(Lock, GivesUpAfterItsTimeout) {
  EmulatedWorld world("a30x2");
  std::filesystem::create_directories(world.options.state_dir);
  Recorder recorder;
  const auto held = take_lock(lock_file(world.options), "partita apply", true, {}, recorder);
  world.options.lock_timeout = std::chrono::milliseconds(1);
  const auto refused = world.apply(world.cut("[0]", ""));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("gave up waiting"));
}

class Hooks : public testing::Test {
 protected:
  // Writes its name and $WORD to the log, with `status`.
  layout::Hook hook(const std::string& name, int status = 0) const {
    return {"sh",
            {"-c", "echo " + name + " $WORD >> log; echo oh no >&2; exit " + std::to_string(status)},
            {{"WORD", "here"}},
            world_.root.path().string()};
  }
  std::string log() const {
    auto text = read_file(world_.root.path() / "log");
    std::filesystem::remove(world_.root.path() / "log");
    return text.value_or("");
  }
  EmulatedWorld world_{"dgx-h100"};
};

TEST_F(Hooks, RunInOrderAndOnlyWhereSomethingDiffers) {
  api::ChangeOptions options;
  options.hooks = {{hook("start")}, {hook("mode")}, {hook("config")}, {hook("exit")}};
  world_.must_apply(world_.cut("[0]", R"("3g.40gb": 1)", options));
  EXPECT_EQ(log(), "start here\nmode here\nconfig here\nexit here\n");
  world_.must_apply(world_.cut("[0]", R"("3g.40gb": 2)", options));
  EXPECT_EQ(log(), "start here\nconfig here\nexit here\n");
  world_.must_apply(world_.cut("[0]", R"("3g.40gb": 2)", options));
  EXPECT_EQ(log(), "start here\nexit here\n");
}

TEST_F(Hooks, OneThatFailsStopsBeforeTheChange) {
  for (int which = 0; which < 3; ++which) {
    api::ChangeOptions options;
    options.hooks = {{hook("start", which == 0 ? 3 : 0)},
                     {hook("mode", which == 1 ? 3 : 0)},
                     {hook("config", which == 2 ? 3 : 0)},
                     {hook("exit")}};
    const auto failed = world_.apply(world_.cut("[0]", R"("3g.40gb": 1)", options));
    ASSERT_FALSE(failed);
    EXPECT_THAT(failed.error().message, HasSubstr("exit status 3"));
    EXPECT_THAT(failed.error().details, ElementsAre("oh no"));
    EXPECT_THAT(log(), testing::EndsWith("exit here\n"));
    EXPECT_EQ(world_.draw(0), "off");
  }
}

TEST_F(Hooks, AreEndedByASignalAndTheLastOnesRunStill) {
  api::ChangeOptions options;
  options.hooks.apply_start = {{"sh", {"-c", "kill -INT $PPID; exec sleep 100"}, {}, ""}};
  options.hooks.apply_exit = {hook("exit")};
  EXPECT_EXIT((void)world_.apply(world_.cut("[0]", R"("3g.40gb": 1)", options)), testing::KilledBySignal(SIGINT), "");
  EXPECT_EQ(log(), "exit here\n");
  EXPECT_EQ(world_.draw(0), "off");
}

TEST_F(Hooks, NoneRunsForARequestThatMakesNoSense) {
  api::ChangeOptions options;
  options.hooks.apply_start = {hook("start")};
  EXPECT_FALSE(world_.apply(world_.cut("[0]", R"("9g.40gb": 1)", options)));
  EXPECT_EQ(log(), "");
}

TEST(Reset, RefusesAndNamesWhatRuns) {
  EmulatedWorld world("dgx-a100");
  emulator::Child user;
  value(emulator::hold(world.emulated.name, "2", user.pid(), mib(64)));
  const auto refused = world.apply(world.cut("[2, 3]", R"("1g.5gb": 7)"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::busy);
  EXPECT_THAT(refused.error().details, ElementsAre(HasSubstr("GPU 2: pid " + std::to_string(user.pid()))));
  EXPECT_EQ(world.draw(3), "off");
}

TEST(Reset, TakesNvlinkPeersAlongAndCutsThemAsTheyWere) {
  EmulatedWorld world("gpus: [{board: a100-sxm4-40gb, count: 2, reset_group: 1}, {board: a100-sxm4-40gb}]");
  const auto first = value(world.apply(world.exactly({{0, {"2g.10gb@2", "3g.20gb@4"}}})));
  EXPECT_THAT(first.plan.changes.at(0).reset_together, SizeIs(2));
  EXPECT_EQ(draw(first.after.gpus[1]), "off");
  world.must_apply(world.cut("[1]", R"("1g.5gb": 7)"));
  EXPECT_EQ(world.draw(0), "on 2g.10gb@2 3g.20gb@4");
  EXPECT_EQ(world.state().gpus[1].instances.size(), 7U);

  emulator::Child user;
  world.hold(0, "2g.10gb@2", user.pid());
  const auto refused = world.apply(world.off("[1]"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::busy);
  EXPECT_THAT(refused.error().message, HasSubstr("together with GPU 0 (NVLink)"));
  EXPECT_EQ(world.state().gpus[1].instances.size(), 7U);
}

TEST(Reset, CommandThatFailsGetsTheOldLayoutBack) {
  EmulatedWorld world("dgx-a100");
  world.options.reset_command = {"sh", "-c", "echo no luck with $0 >&2; exit 4", "{bus-id}"};
  const auto failed = world.apply(world.cut("[0, 1]", R"("1g.5gb": 7)"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::driver);
  const auto state = world.state();
  EXPECT_THAT(failed.error().details,
              Contains("no luck with " + state.gpus[0].pci_bus_id + "," + state.gpus[1].pci_bus_id));
  EXPECT_EQ(draw(state.gpus[0]), "off");
  EXPECT_EQ(draw(state.gpus[1]), "off");
}

TEST(Reset, ThatDoesNothingIsNoticed) {
  EmulatedWorld world("dgx-a100");
  world.options.reset_command = {"true"};
  const auto failed = world.apply(world.cut("[0]", R"("1g.5gb": 7)"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::driver);
  EXPECT_THAT(failed.error().message, HasSubstr("MIG mode is still off"));
  EXPECT_EQ(world.draw(0), "off");
}

// The signal waits until the old layout is back and then ends the process as it would have.
TEST(Interrupted, ApplyGoesBackToTheOldLayout) {
  EmulatedWorld world("a30x2");
  world.must_apply(world.cut("all", "1g.6gb: 4"));
  const std::string before = world.draw(0) + world.draw(1);
  for (const char* where : {"begin", "destroy_gpu_instance", "create_gpu_instance", "create_compute"}) {
    world.options.on_event = [&, sent = false](std::string_view what) mutable {
      if (what == where && !std::exchange(sent, true)) ::kill(::getpid(), SIGTERM);
    };
    EXPECT_EXIT((void)world.apply(world.cut("all", "2g.12gb: 2")), testing::KilledBySignal(SIGTERM), "") << where;
    world.options.on_event = {};
    EXPECT_EQ(world.draw(0) + world.draw(1), before) << where;
    EXPECT_THAT(value(world.open()->status()).notes, IsEmpty()) << where;
  }
}

TEST(Recovery, AfterARebootTheApplyIsFinished) {
  EmulatedWorld world("gpus: [{board: h100-sxm5-80gb, count: 2}]");
  const pid_t child = ::fork();
  if (child == 0) {
    world.options.on_event = [count = 0](std::string_view) mutable {
      if (++count == 12) ::_exit(9);
    };
    (void)world.apply(world.cut("[0]", R"("1g.10gb": 7)"));
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_EQ(WEXITSTATUS(status), 9);
  value(emulator::reboot(world.emulated.name));
  const auto answer = value(world.apply(world.off("[1]")));
  EXPECT_THAT(answer.recovered, SizeIs(1));
  EXPECT_EQ(answer.after.gpus[0].instances.size(), 7U);
  EXPECT_EQ(draw(answer.after.gpus[1]), "off");
}

TEST(Recovery, RollsBackWhenSomethingStandsInTheWay) {
  EmulatedWorld world("gpus: [{board: h100-sxm5-80gb, count: 2}]");
  world.must_apply(world.exactly({{0, {"1g.10gb@0", "1g.10gb@1"}}}));
  const pid_t child = ::fork();
  if (child == 0) {
    world.options.on_event = [](std::string_view what) {
      if (what == "gone") ::_exit(9);  // one GPU instance is destroyed
    };
    (void)world.apply(world.cut("[0]", R"("7g.80gb": 1)"));
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  ASSERT_EQ(world.state().gpus[0].instances.size(), 1U);
  world.make_foreign(0, "3g.40gb@4");
  const auto answer = value(world.apply(world.off("[1]")));
  EXPECT_THAT(answer.recovered, ElementsAre(HasSubstr("rolled back the apply that pid")));
  EXPECT_EQ(draw(answer.after.gpus[0]), "on 1g.10gb@0 1g.10gb@1 3g.40gb@4*");
}

// What a dead process made on a GPU that is lost is still its own when the GPU is back.
TEST(Recovery, WhatWasBeingMadeIsClaimedWhenItsGpuIsBack) {
  EmulatedWorld world("gpus: [{board: h100-sxm5-80gb, count: 2}]");
  world.must_apply(world.exactly({{0, {}}, {1, {}}}));
  const pid_t child = ::fork();
  if (child == 0) {
    world.options.on_event = [](std::string_view what) {
      if (what == "create_gpu_instance") ::_exit(9);  // made, and not in the ledger yet
    };
    (void)world.apply(world.cut("[0]", R"("1g.10gb": 1)"));
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  value(emulator::set_condition(world.emulated.name, "0", emulator::Condition::lost));
  world.must_apply(world.cut("[1]", R"("1g.10gb": 1)"));  // tries to settle it
  value(emulator::set_condition(world.emulated.name, "0", emulator::Condition::good));
  world.must_apply(world.cut("[1]", R"("1g.10gb": 2)"));
  EXPECT_THAT(world.draw(0), Not(HasSubstr("*"))) << "nobody else's";
  world.must_apply(world.cut("[0]", R"("7g.80gb": 1)"));
}

TEST(Recovery, BarredBothWaysIsToldAndLeftUntilForced) {
  EmulatedWorld world("gpus: [{board: h100-sxm5-80gb, count: 2}]");
  world.must_apply(world.exactly({{0, {"1g.10gb@0", "1g.10gb@1"}}}));
  const pid_t child = ::fork();
  if (child == 0) {
    world.options.on_event = [](std::string_view what) {
      if (what == "gone") ::_exit(9);
    };
    (void)world.apply(world.cut("[0]", R"("7g.80gb": 1)"));
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  world.make_foreign(0, world.draw(0).ends_with("@0") ? "1g.10gb@1" : "1g.10gb@0");
  world.must_apply(world.cut("[1]", R"("1g.10gb": 7)"));  // the other GPU is free
  const auto refused = world.apply(world.cut("[0]", R"("1g.10gb": 3)"));
  ASSERT_FALSE(refused);
  EXPECT_THAT(all_of(refused.error()), HasSubstr("still in the middle of an earlier apply"));
  EXPECT_THAT(value(world.open()->status()).notes, Contains(HasSubstr("unfinished")));
  world.must_apply(world.cut("[0]", R"("1g.10gb": 3)", {.force = true, .hooks = {}}));
  EXPECT_EQ(world.state().gpus[0].instances.size(), 3U);
  EXPECT_THAT(value(world.open()->status()).notes, IsEmpty());
}

TEST(Ledger, OfANewerProgramIsRefused) {
  EmulatedWorld world("a30x2");
  world.must_apply(world.cut("[0]", ""));
  {
    std::vector<std::string_view> migrations(kMigrations.begin(), kMigrations.end());
    migrations.emplace_back("CREATE TABLE later (x)");
    auto database = value(Database::open(ledger_file(world.options), Database::Access::write, migrations));
  }
  const auto refused = world.apply(world.cut("[0]", ""));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("version " + std::to_string(kMigrations.size() + 1)));
}

TEST(Ledger, ThatIsDamagedIsToldClearly) {
  EmulatedWorld world("a30x2");
  std::filesystem::create_directories(world.options.state_dir);
  std::ofstream(ledger_file(world.options)) << std::string(8192, 'x');
  for (const auto& code : {world.apply(world.cut("[0]", "")).error(), world.open()->status().error()}) {
    EXPECT_EQ(code.code, ErrorCode::unavailable);
    EXPECT_THAT(code.message, HasSubstr("the database is damaged"));
    EXPECT_THAT(code.message, HasSubstr(ledger_file(world.options).string()));
  }
}

TEST(Ledger, OfANegativeVersionOrThatIsNoFileIsToldClearly) {
  EmulatedWorld world("a30x2");
  world.must_apply(world.cut("[0]", ""));
  const auto file = ledger_file(world.options);
  ASSERT_TRUE(value(Database::open(file, Database::Access::write, kMigrations)).run("PRAGMA user_version = -1"));
  EXPECT_THAT(world.apply(world.cut("[0]", "")).error().message, HasSubstr("the database is damaged"));
  EXPECT_THAT(world.open()->status().error().message, HasSubstr("the database is damaged"));
  std::filesystem::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  EXPECT_THAT(world.apply(world.cut("[0]", "")).error().message, HasSubstr("found no regular file"));
  EXPECT_THAT(world.open()->status().error().message, HasSubstr("found no regular file"));
}

TEST(Check, CountsPerProfileAndNamesEveryDifference) {
  EmulatedWorld world("a30x2");
  world.must_apply(world.exactly({{0, {"1g.6gb@0", "2g.12gb@2"}}, {1, {"1g.6gb@1"}}}));
  const auto node = world.open();
  EXPECT_THAT(
      value(node->check(world.layout("    - {devices: [0], mig-enabled: true, mig-devices: {1g.6gb: 1, 2g.12gb: 1}}\n"
                                     "    - {devices: [1], mig-enabled: true, mig-devices: {1g.6gb: 1}}\n")))
          .differences,
      IsEmpty());
  const auto differences = value(node->check(world.cut("[0]", R"("1g.6gb": 2)"))).differences;
  std::vector<std::string> texts;
  for (const auto& difference : differences) texts.push_back(difference.what);
  EXPECT_THAT(texts,
              ElementsAre("GPU 0: 1g.6gb: 2 wanted, 1 found", "GPU 0: 2g.12gb: 0 wanted, 1 found", HasSubstr("GPU 1")));
  EXPECT_THAT(value(node->check(world.cut("all", "", {.mode_only = true, .hooks = {}}))).differences, IsEmpty());
  EXPECT_THAT(value(node->check(world.off("all", {.mode_only = true, .hooks = {}}))).differences, SizeIs(2));
}

TEST(Check, PlacementsCountInACheckpoint) {
  EmulatedWorld world("a30x2");
  world.must_apply(world.exactly({{0, {"1g.6gb@0"}}, {1, {}}}));
  const auto node = world.open();
  EXPECT_THAT(value(node->check(world.exactly({{0, {"1g.6gb@0"}}, {1, {}}}))).differences, IsEmpty());
  EXPECT_THAT(value(node->check(world.exactly({{0, {"1g.6gb@1"}}, {1, {}}}))).differences, SizeIs(2));
}

std::vector<std::string> problems(const api::DoctorAnswer& answer) {
  std::vector<std::string> result;
  for (const api::Finding& finding : answer.findings) {
    EXPECT_EQ(finding.level == api::Finding::Level::ok, finding.advice.empty()) << finding.what;
    if (finding.level == api::Finding::Level::problem) result.push_back(finding.what + ": " + finding.found);
  }
  return result;
}

TEST(Doctor, HasNothingToSayAboutAGoodNode) {
  EmulatedWorld world("dgx-h100");
  world.must_apply(world.cut("[0]", R"("3g.40gb": 2)"));
  EXPECT_THAT(problems(value(world.open()->doctor())), IsEmpty());
}

TEST(Doctor, FindsWhatIsWrong) {
  EmulatedWorld world("dgx-a100");
  world.must_apply(world.cut("[0]", R"("3g.20gb": 2)", {.skip_reset = true, .hooks = {}}));
  EXPECT_THAT(problems(value(world.open()->doctor())), ElementsAre(HasSubstr("MIG mode is off, and on after a reset")));
  world.must_apply(world.cut("[0]", R"("3g.20gb": 2)"));
  std::filesystem::remove_all(world.emulated.folder / "root/proc/driver/nvidia/capabilities/gpu0/mig/gi2");
  EXPECT_THAT(problems(value(world.open()->doctor())), ElementsAre(HasSubstr("gi2/access")));
  Options lost = world.options;
  lost.driver.library = world.root.path() / "none.so";
  EXPECT_THAT(problems(examine(world.catalog, lost)), ElementsAre(HasSubstr("driver")));
}

}  // namespace
}  // namespace partita::node
