// Measured runs with plain processes: lines are counted, trouble is a result, nothing stays behind.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <thread>

#include "base/file.h"
#include "study/provider.h"
#include "study/runner.h"

namespace partita::study {
namespace {

using testing::HasSubstr;

class Counting final : public PartitionProvider {
 public:
  std::string label() const override { return "a test's partitions"; }
  Result<Held> acquire(const PartitionRequest& request) override {
    if (request.tenant == refuse) return fail(ErrorCode::no_space, "no instance is free");
    ++held;
    return Held{"instance of " + request.tenant, {{"WHERE", "there"}}, request.tenant};
  }
  Result<void> release(const Held&) override {
    --held;
    if (keeps) return fail(ErrorCode::driver, "the partitions are not given back: the driver refused");
    return {};
  }
  int held = 0;
  bool keeps = false;
  std::string refuse;
};

Result<std::vector<MeasuredResult>> run(Counting& provider, const std::string& script, double seconds = 5,
                                        const std::vector<std::string>& names = {"a"}) {
  std::vector<MeasuredTenant> tenants;
  for (const auto& name : names)
    tenants.push_back({name, {name, "a100-sxm4-40gb", "1g.5gb", "exclusive"}, {{"PARTITA_TENANT", name}}});
  SilentProgress progress;
  auto results = measure(tenants, {&provider, {"/bin/sh", "-c", script}, seconds, 0}, progress);
  EXPECT_EQ(provider.held, 0);
  return results;
}

TEST(Measure, LinesAreCounted) {
  Counting provider;
  const auto r =
      run(provider,
          R"(echo '{"t":1,"samples":10,"latency_ms":[1,2,3]}'; echo '{"t":2,"samples":30,"latency_ms":[4],"more":[]}')",
          5, {"a", "b"});
  ASSERT_TRUE(r.has_value()) << r.error().message;
  ASSERT_EQ(r->size(), 2u);
  for (const auto& m : *r) {
    EXPECT_FALSE(m.problem.has_value()) << *m.problem;
    EXPECT_EQ(m.lines, 2u);
    EXPECT_DOUBLE_EQ(m.samples_per_s(), 20);
    EXPECT_DOUBLE_EQ(*m.p99_ms, 4);
  }
  EXPECT_EQ((*r)[1].partition, "instance of b");
}

std::string trouble(const std::string& script, double seconds = 5) {
  Counting provider;
  const auto results = run(provider, script, seconds);
  return results ? results->at(0).problem.value_or("none") : "error: " + results.error().message;
}

TEST(Measure, TroubleIsAResult) {
  EXPECT_EQ(trouble("exit 3"), "ended with status 3");
  EXPECT_EQ(trouble("echo first >&2; echo ' no such model ' >&2; echo >&2; exit 1"),
            "ended with status 1: no such model");
  EXPECT_EQ(trouble(R"(echo '{"t":1,"samples":1}'; kill -9 $$)"), "was killed by signal 9 (Killed)");
  EXPECT_EQ(trouble("true"), "printed no line");
  EXPECT_EQ(trouble("exec >&-; sleep 0.1; exit 4"), "ended with status 4");
  EXPECT_EQ(trouble(R"(echo '{"t":0.1,"error":"out of memory"}'; exit 1)"), "out of memory");
  EXPECT_EQ(trouble(R"(echo '{"t":0,"samples":0,"device":"CPU"}')"), "no interval ended within 5 s");
  Counting provider;
  provider.refuse = "a";
  EXPECT_EQ(*(*run(provider, "true"))[0].problem, "no instance is free");
  provider.refuse = "";
  provider.keeps = true;
  EXPECT_THAT(*(*run(provider, R"(echo '{"t":1,"samples":1}')"))[0].problem, HasSubstr("not given back"));
}

TEST(Measure, BadLinesAreTold) {
  EXPECT_EQ(trouble("echo hello"), "worker line: expected a JSON object, found \"hello\"");
  EXPECT_EQ(trouble(R"(printf 'a\377\001b\n')"), R"(worker line: expected a JSON object, found "a\xFF\x01b")");
  EXPECT_THAT(trouble(R"(echo '{"t":1,"samples":-3}')"), HasSubstr("\"samples\": expected a number of 0 or more"));
  EXPECT_THAT(trouble(R"(echo '{"t":2,"samples":1}'; echo '{"t":1,"samples":1}')"), HasSubstr("expected 2 or more"));
  EXPECT_THAT(trouble(R"(echo '{"t":1000,"samples":1}')"), HasSubstr("expected seconds within a run of 5 s"));
  EXPECT_THAT(trouble("head -c 3000000 /dev/zero | tr '\\0' x; sleep 0.1"), HasSubstr("at most 1048576 bytes"));
  EXPECT_THAT(trouble("head -c 900000 /dev/zero | tr '\\0' '['; echo"), HasSubstr("expected a JSON object"));
}

TEST(Measure, EndlessOutputWithoutALineEnds) {
  EXPECT_THAT(trouble("exec tr '\\0' x </dev/zero", 0.3), HasSubstr("at most 1048576 bytes"));
}

TEST(Measure, StallsAreTold) {
  EXPECT_THAT(trouble(R"(echo '{"t":0.1,"samples":1}'; exec sleep 1000)", 1.5),
              HasSubstr("stalled: no line in the last 1."));
  EXPECT_EQ(trouble("exec sleep 1000", 0.2), "printed no line");
}

TEST(Measure, LastLineAfterTheSignalCounts) {
  Counting provider;
  const auto r = run(provider, R"(trap 'echo "{\"t\":0.4,\"samples\":5}"; exit 0' TERM
echo '{"t":0.2,"samples":7}'; while :; do sleep 0.02; done)",
                     0.4);
  EXPECT_EQ((*r)[0].samples, 12);
  EXPECT_EQ((*r)[0].problem.value_or(""), "");
}

TEST(Measure, CommandsThatIgnoreTheSignalAreEnded) {
  const std::string script = R"(trap '' TERM; echo '{"t":0.1,"samples":7}'; while :; do sleep 0.05; done)";
  EXPECT_EQ(trouble(script, 0.2), "none");
}

TEST(Measure, ALastLineNeedsNoNewline) { EXPECT_EQ(trouble(R"(printf '{"t":1,"samples":1}')"), "none"); }

TEST(Measure, DeviceIsToldByTheCommand) {
  Counting provider;
  const auto r = run(provider, R"(echo '{"t":0,"samples":0,"device":"CPU, 2 threads"}'; echo '{"t":1,"samples":4}')");
  EXPECT_EQ((*r)[0].device, "CPU, 2 threads");
  EXPECT_EQ((*r)[0].samples_per_s(), 4);
}

// In a process of its own: the signal ends it once all is given back.
TEST(MeasureDeathTest, AnInterruptGivesBackFirst) {
  const auto interrupted = [] {
    Counting provider;
    std::thread([process = getpid()] {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_BLOCK, &all, nullptr);
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      kill(process, SIGINT);
    }).detach();
    sigset_t stops;
    sigemptyset(&stops);
    sigaddset(&stops, SIGINT);
    pthread_sigmask(SIG_BLOCK, &stops, nullptr);  // so that we see what measure() returns
    const auto results = run(provider, R"(echo '{"t":0.1,"samples":7}'; exec sleep 1000)", 60, {"a", "b"});
    std::cerr << results.error().message << ", " << provider.held << " held\n";
    pthread_sigmask(SIG_UNBLOCK, &stops, nullptr);
  };
  EXPECT_EXIT(interrupted(), testing::KilledBySignal(SIGINT), "interrupted by SIGINT, 0 held");
}

TEST(Measure, EnvironmentTellsTheTenant) {
  Counting provider;
  const auto r =
      run(provider, R"(test "$PARTITA_TENANT-$WHERE-$PARTITA_SECONDS" = a-there-5 && echo '{"t":1,"samples":1}')");
  EXPECT_FALSE((*r)[0].problem.has_value());
}

TEST(Measure, EndlessCommandsAreEnded) {
  Counting provider;
  const std::string file = testing::TempDir() + "measured_child";
  const auto r = run(provider, "sleep 1000 & echo $! > " + file + R"(; echo '{"t":0.1,"samples":7}'; wait)", 0.3);
  EXPECT_EQ((*r)[0].samples, 7);
  EXPECT_FALSE((*r)[0].problem.has_value());
  pid_t child = 0;
  std::ifstream(file) >> child;
  ASSERT_GT(child, 0);
  // Gone, or a zombie that nobody has waited for yet. A signal ends a process when it runs next, not at once.
  const auto ended = [&] {
    std::ifstream status("/proc/" + std::to_string(child) + "/stat");
    std::string pid, name, state;
    status >> pid >> name >> state;
    return state.empty() || state == "Z" || state == "X";
  };
  for (int tries = 0; tries < 500 && !ended(); ++tries) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(ended()) << child;
}

TEST(Measure, WrongCallsAreRefused) {
  Counting provider;
  SilentProgress progress;
  EXPECT_FALSE(measure({}, {&provider, {}, 1, 0}, progress).has_value());
  EXPECT_FALSE(measure({}, {&provider, {"true"}, 1, 2}, progress).has_value());
  const auto missing = measure(std::vector<MeasuredTenant>{MeasuredTenant{"a", {"a", "", "", ""}, {}}},
                               {&provider, {"/no/such/worker"}, 1, 0}, progress);
  ASSERT_FALSE(missing.has_value());
  EXPECT_THAT(missing.error().message, HasSubstr("/no/such/worker"));
  EXPECT_EQ(provider.held, 0);
}

TEST(WorkerLine, IsReadStrictly) {
  EXPECT_TRUE(read_worker_line(R"({"t":1.5,"samples":3})").has_value());
  for (const char* wrong : {"", "[]", "{}", R"({"t":-1,"samples":1})", R"({"t":1})", R"({"t":"1","samples":1})",
                            R"({"t":1,"samples":1,"latency_ms":3})", R"({"t":1,"samples":1,"latency_ms":["x"]})",
                            R"({"t":1e999,"samples":1})", R"({"t":1,"samples":1e300})",
                            R"({"t":1,"samples":1,"device":7})", R"({"t":1,"error":null})"})
    EXPECT_FALSE(read_worker_line(wrong).has_value()) << wrong;
}

TEST(Measure, StandsBesideSimulatedInTheReport) {
  auto catalog = catalog::Catalog::open();
  SilentProgress progress;
  PlainProcesses plain;
  StudyOptions options;
  options.measure =
      MeasureOptions{&plain,
                     {"/bin/sh", "-c", R"(echo '{"t":1,"samples":123,"latency_ms":[9],"device":"CPU, 1 thread"}'
echo '{"t":2,"error":"out of memory"}')"},
                     5,
                     0};
  const char* text =
      "title: x\nquestion: y\nkind: simulation\nboard: a100-sxm4-40gb\nduration_s: 5\nwarmup_s: 1\nscenarios:\n- name: "
      "s\n  servers: [{profile: 1g.5gb}]\n  tenants: [{name: a, job: {workload: resnet50}, arrivals: {poisson: 1}}]\n";
  const auto report = run_study(text, "own.yaml", *catalog, options, progress);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  const auto markdown = report::to_markdown(*report);
  EXPECT_THAT(markdown, HasSubstr("measured beside simulated"));
  EXPECT_THAT(markdown, HasSubstr("123"));
  EXPECT_THAT(markdown, HasSubstr("plain processes of this machine, without partitions (CPU, 1 thread: not a GPU)"));
  EXPECT_THAT(markdown, HasSubstr("0 of 1 tenants ran without trouble: a: out of memory"));
}

TEST(Measure, TheExampleOfThePageIsMeasured) {
  const auto text = read_file(PARTITA_SOURCE_DIR "/docs/examples/measured-resnet.yaml");
  ASSERT_TRUE(text.has_value()) << text.error().message;
  auto catalog = catalog::Catalog::open();
  SilentProgress progress;
  PlainProcesses plain;
  StudyOptions options;
  options.measure = MeasureOptions{
      &plain,
      {"/bin/sh", "-c",
       R"(echo "{\"t\":1,\"samples\":$PARTITA_BATCH,\"device\":\"$PARTITA_MODE of $PARTITA_WORKLOAD\"}")"},
      5,
      0};
  const auto report = run_study(*text, "measured-resnet.yaml", *catalog, options, progress);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  const auto markdown = report::to_markdown(*report);
  EXPECT_THAT(markdown, HasSubstr("process of infers (inference of resnet50)"));
  EXPECT_THAT(markdown, HasSubstr("process of trains (training of resnet18)"));
  EXPECT_THAT(markdown, HasSubstr("2 of 2 tenants ran without trouble."));
}

}  // namespace
}  // namespace partita::study
