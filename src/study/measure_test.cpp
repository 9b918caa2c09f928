// Measured runs with plain processes: lines are counted, trouble is a result, nothing stays behind.
#include <gmock/gmock.h>
#include <signal.h>

#include <fstream>

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
  void release(const Held&) override { --held; }
  int held = 0;
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

TEST(Measure, TroubleIsAResult) {
  Counting provider;
  EXPECT_THAT(*(*run(provider, "exit 3"))[0].problem, HasSubstr("status 3"));
  EXPECT_THAT(*(*run(provider, "true"))[0].problem, HasSubstr("no line"));
  EXPECT_THAT(*(*run(provider, "echo hello"))[0].problem, HasSubstr("expected a JSON object, found \"hello\""));
  EXPECT_EQ(*(*run(provider, R"(echo '{"t":0.1,"error":"out of memory"}'; exit 1)"))[0].problem, "out of memory");
  provider.refuse = "a";
  EXPECT_EQ(*(*run(provider, "true"))[0].problem, "no instance is free");
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
  // Gone, or a zombie that nobody has waited for yet.
  std::ifstream status("/proc/" + std::to_string(child) + "/stat");
  std::string pid, name, state;
  status >> pid >> name >> state;
  EXPECT_TRUE(state.empty() || state == "Z" || state == "X") << state;
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
                            R"({"t":1e999,"samples":1})"})
    EXPECT_FALSE(read_worker_line(wrong).has_value()) << wrong;
}

TEST(Measure, StandsBesideSimulatedInTheReport) {
  auto catalog = catalog::Catalog::open();
  SilentProgress progress;
  PlainProcesses plain;
  StudyOptions options;
  options.measure = MeasureOptions{&plain, {"/bin/sh", "-c", R"(echo '{"t":1,"samples":123,"latency_ms":[9]}')"}, 5, 0};
  const char* text =
      "title: x\nquestion: y\nkind: simulation\nboard: a100-sxm4-40gb\nduration_s: 5\nwarmup_s: 1\nscenarios:\n- name: "
      "s\n  servers: [{profile: 1g.5gb}]\n  tenants: [{name: a, job: {workload: resnet50}, arrivals: {poisson: 1}}]\n";
  const auto report = run_study(text, "own.yaml", *catalog, options, progress);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  const auto markdown = report::to_markdown(*report);
  EXPECT_THAT(markdown, HasSubstr("measured beside simulated"));
  EXPECT_THAT(markdown, HasSubstr("123"));
  EXPECT_THAT(markdown, HasSubstr("plain processes of this machine, without partitions"));
}

}  // namespace
}  // namespace partita::study
