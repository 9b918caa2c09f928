// Many processes make, destroy, hold and look, and are killed with SIGKILL at any instruction, while a checker looks.
// PARTITA_TORTURE_SECONDS (10), PARTITA_TORTURE_PROCESSES (32), PARTITA_TORTURE_SEED (1).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <random>

#include "base/test_folder.h"
#include "checker.h"
#include "emulator/engine/test_nodes.h"
#include "worker.h"

namespace partita::torture {
namespace {

using namespace partita::emulator;
using Steady = std::chrono::steady_clock;

int setting(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

// Four kinds of GPU: plain, mirrored, of four slices, and one whose instances exclude each other's media engines.
NodeSpec node_spec() {
  return test::with_mig_on(test::node({test::a100(0), test::a100(1, true), test::a30(2), test::rtx_pro_6000(3)}, true));
}

class Crowd {
 public:
  Crowd(std::filesystem::path node, int count, std::uint64_t seed)
      : node_(std::move(node)), random_(seed), seed_(seed), pids_(static_cast<std::size_t>(count)) {
    if (::pipe2(report_, O_CLOEXEC | O_NONBLOCK) != 0) std::abort();
    for (pid_t& pid : pids_) pid = start();
  }
  ~Crowd() {
    for (const pid_t pid : pids_) end(pid);
    ::close(report_[0]);
    ::close(report_[1]);
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  // Kills one with no warning and starts another in its place.
  void kill_one() {
    pid_t& pid = pids_[random_() % pids_.size()];
    end(pid);
    pid = start();
    ++kills_;
  }
  std::string reports() const {
    std::string text(4096, '\0');
    const ssize_t length = ::read(report_[0], text.data(), text.size());
    text.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
    return text;
  }
  int kills() const { return kills_; }
  pid_t ended_by_itself() const { return ended_by_itself_; }

 private:
  pid_t start() {
    const std::uint64_t seed = seed_ * 1'000'003 + ++started_;
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    work(node_, seed, report_[1]);
  }
  void end(pid_t pid) {
    int status = 0;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, &status, 0);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) ended_by_itself_ = pid;
  }

  std::filesystem::path node_;
  std::mt19937_64 random_;
  std::uint64_t seed_, started_ = 0;
  int report_[2] = {-1, -1};
  std::vector<pid_t> pids_;
  int kills_ = 0;
  pid_t ended_by_itself_ = 0;
};

std::string lines(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& line : all) text += line + "\n";
  return text;
}

TEST(Torture, EveryStateThatAnyoneSeesIsLegal) {
  const int seconds = setting("PARTITA_TORTURE_SECONDS", 10), processes = setting("PARTITA_TORTURE_PROCESSES", 32);
  const auto seed = static_cast<std::uint64_t>(setting("PARTITA_TORTURE_SEED", 1));
  SCOPED_TRACE("seed " + std::to_string(seed));
  const TestFolder folder;
  ASSERT_TRUE(Engine::create(folder.path(), node_spec()));
  Checker checker(folder.path());
  std::uint32_t made = 0;
  {
    Crowd crowd(folder.path(), processes, seed);
    const auto end = Steady::now() + std::chrono::seconds(seconds);
    for (auto next_kill = Steady::now(); Steady::now() < end;) {
      const std::vector<std::string> wrong = checker.look();
      ASSERT_TRUE(wrong.empty()) << lines(wrong);
      const std::string reports = crowd.reports();
      ASSERT_EQ(reports, "");
      if (Steady::now() < next_kill) continue;
      crowd.kill_one();
      ASSERT_EQ(crowd.ended_by_itself(), 0) << crowd.reports();
      next_kill = Steady::now() + std::chrono::milliseconds(5);
    }
    made = static_cast<std::uint32_t>(crowd.kills());
    RecordProperty("kills", crowd.kills());
    std::printf("%d processes, %d s, %d killed, %llu looks, %llu retries, at most %llu in one look\n", processes,
                seconds, crowd.kills(), static_cast<unsigned long long>(checker.looks()),
                static_cast<unsigned long long>(checker.retries()),
                static_cast<unsigned long long>(checker.most_retries()));
  }
  EXPECT_GT(made, 0U);
  EXPECT_GT(checker.looks(), 100U);

  // All are dead. Whoever opens the node next finds it whole, files too, and nobody in its way.
  Engine engine = std::move(*Engine::open(folder.path()));
  EXPECT_EQ(lines(checker.look_at_files()), "");
  for (int gpu = 0; gpu < 4; ++gpu) {
    const GpuState state = engine.gpu(gpu);
    EXPECT_TRUE(state.holders.empty());
    for (const GpuInstanceState& gi : state.instances) {
      for (const ComputeInstanceState& ci : gi.compute)
        EXPECT_EQ(engine.destroy_compute_instance(gpu, gi.id, gi.serial, ci.id, ci.serial), kSuccess);
      EXPECT_EQ(engine.destroy_gpu_instance(gpu, gi.id, gi.serial), kSuccess);
    }
  }
  EXPECT_EQ(lines(checker.look_at_files()), "");
}

}  // namespace
}  // namespace partita::torture
