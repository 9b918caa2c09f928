// What is told of a job's steps, with a job and a clock of the test's own.
#include "resnet/work.h"

#include <gmock/gmock.h>

namespace partita::resnet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Each step takes 0.4 s; step number `fails_at` (from 1, 0 = loading) fails.
struct World {
  class FakeJob final : public Job {
   public:
    explicit FakeJob(World& world) : world_(world) {}
    std::string device() const override { return "CPU, 1 thread"; }
    std::optional<Trouble> load() override { return outcome(0); }
    std::optional<Trouble> step() override {
      world_.now_s += 0.4;
      return outcome(++world_.steps);
    }

   private:
    std::optional<Trouble> outcome(int number) const {
      return number == world_.fails_at ? std::optional(world_.trouble) : std::nullopt;
    }
    World& world_;
  };

  Result<void> run() {
    FakeJob job(*this);
    return work(options, job,
                {[&](const std::string& line) -> Result<void> {
                   lines.push_back(line);
                   if (lines.size() == full_after) return fail(ErrorCode::unavailable, "standard output: full");
                   return {};
                 },
                 [](const std::string&) {}, [&] { return steps >= stop_after; }, [&] { return now_s; }});
  }

  Options options{.job = {.batch = 8}, .seconds = 2};
  Trouble trouble{Trouble::Kind::out_of_memory, "out of memory"};
  double now_s = 100;
  int steps = 0, fails_at = -1, stop_after = 1000;
  std::size_t full_after = 1000;
  std::vector<std::string> lines;
};

const std::string kFirst =
    R"({"t": 0, "samples": 0, "device": "CPU, 1 thread", "what": "resnet50 inference, batch 8, fp32"})";

TEST(Work, TellsEachIntervalAndTheRest) {
  World world;
  ASSERT_TRUE(world.run().has_value());
  EXPECT_THAT(world.lines, ElementsAre(kFirst, R"({"t": 1.2000, "samples": 24, "latency_ms": [400, 400, 400]})",
                                       R"({"t": 2.0000, "samples": 16, "latency_ms": [400, 400]})"));
}

TEST(Work, EndsAfterTheStepsAskedFor) {
  World world;
  world.options.steps = 2;
  ASSERT_TRUE(world.run().has_value());
  EXPECT_EQ(world.steps, 3);  // the first one is not timed
  EXPECT_THAT(world.lines, ElementsAre(kFirst, R"({"t": 0.8000, "samples": 16, "latency_ms": [400, 400]})"));
}

TEST(Work, ASignalEndsItWithALastLine) {
  World world;
  world.stop_after = 2;
  ASSERT_TRUE(world.run().has_value());
  EXPECT_THAT(world.lines, ElementsAre(kFirst, R"({"t": 0.4000, "samples": 8, "latency_ms": [400]})"));
}

TEST(Work, OutOfMemoryIsAResult) {
  for (const int at : {0, 1}) {
    World world;
    world.fails_at = at;
    ASSERT_TRUE(world.run().has_value());
    EXPECT_THAT(world.lines, ElementsAre(kFirst, R"({"t": 0.0000, "error": "out of memory"})"));
  }
  World later;
  later.fails_at = 3;
  ASSERT_TRUE(later.run().has_value());
  EXPECT_THAT(later.lines, ElementsAre(kFirst, R"({"t": 0.8000, "samples": 8, "latency_ms": [400]})",
                                       R"({"t": 0.8000, "error": "out of memory"})"));
}

TEST(Work, OtherTroubleIsAnError) {
  for (const int at : {0, 1, 3}) {
    World world;
    world.fails_at = at;
    world.trouble = {Trouble::Kind::device, "libtorch: no kernel image"};
    const auto done = world.run();
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(done.error().code, ErrorCode::driver);
    EXPECT_THAT(done.error().message, HasSubstr("no kernel image"));
  }
}

TEST(Work, EndsWhenNobodyReads) {
  World world;
  world.full_after = 2;
  EXPECT_EQ(world.run().error().message, "standard output: full");
  EXPECT_EQ(world.steps, 4);
}

}  // namespace
}  // namespace partita::resnet
