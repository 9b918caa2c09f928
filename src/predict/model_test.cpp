#include "predict/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "predict/cases.h"
#include "predict/memory.h"

namespace partita::predict {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class ModelTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto opened = Library::open();
    ASSERT_TRUE(opened) << opened.error().message;
    library_ = new Library(std::move(*opened));
  }
  static void TearDownTestSuite() {
    delete library_;
    library_ = nullptr;
  }

  static const Workload& network(const std::string& name) { return **library_->workload(name, std::nullopt); }
  static Partition on(const std::string& board, const std::string& profile) {
    auto found = library_->partition(board, profile);
    EXPECT_TRUE(found) << found.error().message;
    return *found;
  }
  static const Constants& constants() { return **shipped_constants(); }
  static Result<Prediction> run(const std::string& name, Settings settings, const Partition& p) {
    return predict(constants(), network(name), settings, p);
  }

  static Library* library_;
};
Library* ModelTest::library_ = nullptr;

Settings training(int batch) {
  Settings s;
  s.mode = Mode::training;
  s.batch = batch;
  return s;
}

TEST_F(ModelTest, ALargerPartitionIsNeverSlowerAndALargerBatchNeverNeedsLessMemory) {
  const std::vector<std::string> names{"resnet50", "vgg16", "mobilenetv2", "vit-b-16", "bert-base"};
  const std::vector<std::string> profiles{"1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"};
  bool held = rc::check("monotone in profile and batch", [&] {
    Settings s;
    s.mode = *rc::gen::element(Mode::inference, Mode::training);
    s.framework = *rc::gen::element(Framework::eager_overlapped, Framework::eager_serial, Framework::graph);
    s.convolution = s.matmul = *rc::gen::element(Precision::fp32, Precision::tf32, Precision::fp16, Precision::int8);
    s.processes = *rc::gen::inRange(1, 4);
    int batch = *rc::gen::inRange(1, 300), more = batch + *rc::gen::inRange(1, 200);
    const Workload& workload = network(*rc::gen::elementOf(names));
    auto predictor = Predictor::make(constants(), workload, s, *on("a100-sxm4-80gb", "whole").board);
    RC_ASSERT(predictor.has_value());
    std::size_t i = *rc::gen::inRange<std::size_t>(0, profiles.size() - 1);
    auto small = predictor->predict(on("a100-sxm4-80gb", profiles[i]), batch);
    auto large = predictor->predict(on("a100-sxm4-80gb", profiles[i + 1]), batch);
    auto fuller = predictor->predict(on("a100-sxm4-80gb", profiles[i]), more);
    RC_ASSERT(small && large && fuller);
    RC_ASSERT(large->step_ms.median <= small->step_ms.median * 1.0001);
    RC_ASSERT(fuller->memory_mib.median >= small->memory_mib.median);
    RC_ASSERT(fuller->step_ms.median >= small->step_ms.median);
    RC_ASSERT(small->step_ms.low < small->step_ms.median && small->step_ms.median < small->step_ms.high);
    double sum = small->share[0] + small->share[1] + small->share[2] + small->share[3];
    RC_ASSERT(std::abs(sum - 1) < 1e-9);
  });
  EXPECT_TRUE(held);
}

TEST_F(ModelTest, TheNamedBoundIsTheLargestTermAndWhatHelpsMost) {
  const std::vector<std::pair<std::string, std::string>> places{
      {"a100-sxm4-40gb", "1g.5gb"},  {"a100-sxm4-80gb", "3g.40gb"}, {"a100-sxm4-80gb", "7g.80gb"},
      {"h100-sxm5-80gb", "1g.10gb"}, {"h100-sxm5-80gb", "7g.80gb"}, {"a30-24gb", "2g.12gb"}};
  const std::vector<std::string> names{"resnet50", "vgg16", "mobilenetv2", "vit-b-16", "bert-base"};
  EXPECT_TRUE(rc::check("bound", [&] {
    Settings s;
    s.mode = *rc::gen::element(Mode::inference, Mode::training);
    s.framework = *rc::gen::element(Framework::eager_overlapped, Framework::eager_serial, Framework::graph);
    s.matmul = *rc::gen::element(Precision::fp32, Precision::tf32);
    s.copy_inside_step = *rc::gen::arbitrary<bool>();
    int batch = *rc::gen::inRange(1, 200);
    auto place = *rc::gen::elementOf(places);
    Partition p = on(place.first, place.second);
    auto predictor = Predictor::make(constants(), network(*rc::gen::elementOf(names)), s, *p.board);
    RC_ASSERT(predictor);
    auto found = predictor->predict(p, batch);
    RC_ASSERT(found);
    for (double share : found->share) RC_ASSERT(share <= found->share[static_cast<std::size_t>(found->bound)]);
    // A term's share is what the step gains when the term shrinks.
    constexpr double kLess = 1 - 1e-6;
    double base = predictor->time(p, batch)->total_s;
    auto gain = [&](Factors f) { return (1 - predictor->time(p, batch, f)->total_s / base) / 1e-6; };
    RC_ASSERT(std::abs(gain({.device = kLess, .bandwidth = 1, .host = 1}) - found->share[1]) < 0.02);
    RC_ASSERT(std::abs(gain({.device = 1, .bandwidth = kLess, .host = 1}) - found->share[2]) < 0.02);
    RC_ASSERT(gain({.device = 1, .bandwidth = 1, .host = kLess}) <= found->share[0] + 0.02);
  }));
}

TEST_F(ModelTest, SmallBatchesOnALargePartitionAreBoundByTheHostAndLargeOnesByTheDevice) {
  Settings s;
  auto one = run("resnet50", s, on("a100-sxm4-80gb", "7g.80gb"));
  s.batch = 256;
  auto many = run("resnet50", s, on("a100-sxm4-80gb", "1g.10gb"));
  ASSERT_TRUE(one && many);
  EXPECT_EQ(one->bound, Bound::host);
  EXPECT_NE(many->bound, Bound::host);
  s.copy_inside_step = true;
  auto copied = run("resnet50", s, on("a100-sxm4-80gb", "1g.10gb"));
  ASSERT_TRUE(copied);
  EXPECT_NEAR(copied->step_ms.median - many->step_ms.median, 256 * 150528 * 4 / 10e9 * 1e3, 0.1);
}

TEST_F(ModelTest, AGraphHasNoHostTermAndASerialHostCostsMost) {
  Settings s;
  Partition p = on("a100-sxm4-80gb", "7g.80gb");
  auto overlapped = run("resnet50", s, p);
  s.framework = Framework::eager_serial;
  auto serial = run("resnet50", s, p);
  s.framework = Framework::graph;
  auto graph = run("resnet50", s, p);
  ASSERT_TRUE(overlapped && serial && graph);
  EXPECT_GT(serial->step_ms.median, overlapped->step_ms.median);
  EXPECT_LT(graph->step_ms.median, 0.5 * overlapped->step_ms.median);
  EXPECT_TRUE(graph->extrapolated);
}

TEST_F(ModelTest, ReferenceTrainingDoesNotFitSmallSlices) {
  EXPECT_EQ(run("resnet50", training(128), on("a100-sxm4-40gb", "1g.5gb"))->fit, Fit::does_not_fit);
  EXPECT_EQ(run("resnet50", training(128), on("a100-sxm4-40gb", "2g.10gb"))->fit, Fit::does_not_fit);
  EXPECT_EQ(run("resnet50", training(128), on("a100-sxm4-40gb", "7g.40gb"))->fit, Fit::fits);
  EXPECT_EQ(fit_of(95, 100), Fit::uncertain);
}

TEST_F(ModelTest, NeighboursVirtualisationAndPowerCostWhatTheirConstantsSay) {
  Settings s;
  s.batch = 64;
  Partition p = on("a100-sxm4-40gb", "2g.10gb");
  double alone = run("resnet50", s, p)->step_ms.median;
  p.busy_neighbours = 1;
  EXPECT_NEAR(run("resnet50", s, p)->step_ms.median / alone, 1 + constants()[Key::neighbour_loss], 1e-9);
  p.busy_neighbours = 0;
  p.virtualised = true;
  auto virtualised = run("resnet50", s, p);
  EXPECT_NEAR(alone / virtualised->step_ms.median, 1 - constants()[Key::virtualisation_loss], 1e-9);
  EXPECT_THAT(virtualised->notes, Contains(HasSubstr("input, not a finding")));

  s.batch = 256;
  s.framework = Framework::graph;
  s.matmul = s.convolution = Precision::int8;
  Partition slice = on("a100-sxm4-80gb", "1g.10gb");
  double cool = run("bert-large", s, slice)->step_ms.median;
  slice.busy_neighbours = 1;
  EXPECT_GT(run("bert-large", s, slice)->step_ms.median / cool, 1 + constants()[Key::neighbour_loss] + 0.02)
      << "busy neighbours take power from tensor work";
}

TEST_F(ModelTest, OtherBoardsAreMarkedAndLessCertain) {
  Settings s;
  s.batch = 64;
  auto a100 = run("resnet50", s, on("a100-sxm4-80gb", "3g.40gb"));
  auto h100 = run("resnet50", s, on("h100-sxm5-80gb", "3g.40gb"));
  ASSERT_TRUE(a100 && h100);
  EXPECT_FALSE(a100->extrapolated);
  EXPECT_TRUE(h100->extrapolated);
  EXPECT_THAT(h100->notes, Contains(HasSubstr("extrapolation")));
  EXPECT_GT(h100->step_ms.high / h100->step_ms.low, a100->step_ms.high / a100->step_ms.low);
  EXPECT_LT(h100->step_ms.median, a100->step_ms.median);
}

TEST_F(ModelTest, ARateThatABoardsSheetLeavesOutIsTakenFromAnotherAndSaid) {
  catalog::Board board = *on("h100-sxm5-80gb", "whole").board;
  Partition p;
  p.board = &board;
  double known = run("vgg16", Settings{}, p)->step_ms.median;
  board.specs.tf32_tensor_tflops.reset();
  board.specs.fp16_tensor_tflops.reset();
  auto assumed = run("vgg16", Settings{}, p);
  ASSERT_TRUE(assumed) << assumed.error().message;
  EXPECT_NEAR(assumed->step_ms.median / known, 1, 0.01);
  EXPECT_THAT(assumed->notes, Contains(HasSubstr("is not known: taken from another precision's")));
  board.specs.memory_bandwidth_gb_per_s.reset();
  EXPECT_THAT(run("vgg16", Settings{}, p).error().message, HasSubstr("nothing can be predicted"));
}

TEST_F(ModelTest, ImpossibleAsksAreSaid) {
  Settings s;
  Partition p = on("a100-sxm4-80gb", "3g.40gb");
  s.batch = 0;
  EXPECT_THAT(run("resnet50", s, p).error().message, HasSubstr("expected a batch of 1 or more, found 0"));
  s.batch = 1;
  s.processes = 0;
  EXPECT_THAT(run("resnet50", s, p).error().message, HasSubstr("processes"));
  s.processes = 1;
  s.matmul = Precision::fp8;
  EXPECT_THAT(run("resnet50", s, p).error().message, HasSubstr("a100-sxm4-80gb: no peak rate is known for fp8"));
  s.matmul = Precision::tf32;
  p.busy_neighbours = 2;
  EXPECT_THAT(run("resnet50", s, p).error().message, HasSubstr("busy neighbours"));
  p.busy_neighbours = 0;
  p.profile = 99;
  EXPECT_THAT(run("resnet50", s, p).error().message, HasSubstr("no profile of index 99"));
  Workload empty;
  empty.name = "nothing";
  EXPECT_THAT(predict(constants(), empty, Settings{}, on("a100-sxm4-80gb", "3g.40gb")).error().message,
              HasSubstr("without operations"));
  Settings training;
  training.mode = Mode::training;
  EXPECT_THAT(run("llama-1b-decode", training, on("a100-sxm4-80gb", "7g.80gb")).error().message,
              HasSubstr("llama-1b-decode: it keeps keys and values in a cache"));
  EXPECT_THAT(library_->partition("a100-sxm4-80gb", "9g.90gb").error().message, HasSubstr("it has whole, 1g.10gb"));
}

TEST_F(ModelTest, AComputeInstanceHasFewerMultiprocessorsAndAllOfTheMemory) {
  auto part = device_of(constants(), on("a100-sxm4-80gb", "1c.3g.40gb"));
  auto all = device_of(constants(), on("a100-sxm4-80gb", "3g.40gb"));
  ASSERT_TRUE(part && all);
  EXPECT_EQ(part->multiprocessors, 14);
  EXPECT_EQ(all->multiprocessors, 42);
  EXPECT_EQ(part->bandwidth, all->bandwidth);
}

}  // namespace
}  // namespace partita::predict
