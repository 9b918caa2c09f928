// Layer lists: shapes, memory, fusion, and what is said about wrong ones.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <rapidcheck.h>

#include "predict/workload.h"

namespace partita::predict {
namespace {

using testing::HasSubstr;

Workload read(const std::string& text) {
  auto workload = read_workload(text, "w.yaml");
  if (workload) return *std::move(workload);
  ADD_FAILURE() << workload.error().message << "\n" << text;
  return {};
}
// Layers, one a line, after an image of 8 x 16 x 16.
std::string image_net(const std::string& layers, const std::string& blocks = "") {
  return "title: t\ninput: {image: [8, 16, 16]}\n" + blocks + "layers:\n" + layers;
}
std::string error_of(const std::string& text) {
  const auto workload = read_workload(text, "w.yaml");
  return workload ? "no error" : workload.error().message;
}
void expect_equal(const Workload& a, const Workload& b) {
  ASSERT_EQ(a.operations.size(), b.operations.size());
  for (std::size_t i = 0; i < a.operations.size(); ++i) {
    const Operation &x = a.operations[i], &y = b.operations[i];
    EXPECT_EQ(x.name, y.name);
    EXPECT_EQ(x.kind, y.kind);
    EXPECT_EQ(x.macs(), y.macs());
    EXPECT_EQ(x.input_elements, y.input_elements);
    EXPECT_EQ(x.output_elements, y.output_elements);
    EXPECT_EQ(x.fused_in_graph, y.fused_in_graph);
    EXPECT_EQ(x.saved_for_backward, y.saved_for_backward);
  }
  EXPECT_EQ(a.peak_live_elements, b.peak_live_elements);
  EXPECT_EQ(a.saved_elements, b.saved_elements);
  EXPECT_EQ(a.parameters, b.parameters);
}

TEST(Architecture, ShapesFollowTheWindow) {
  const Workload w = read(image_net(R"(
  - conv: {out: 12, kernel: 3, stride: 2, pad: 1}
  - conv: {out: 6, kernel: [1, 7], pad: [0, 3], groups: 2, bias: true}
  - max_pool: {kernel: 3, stride: 2, ceil: true}
  - flatten
  - linear: {out: 10}
)"));
  ASSERT_EQ(w.operations.size(), 4u);
  EXPECT_EQ(w.operations[0].m, 64);
  EXPECT_EQ(w.operations[0].n, 12);
  EXPECT_EQ(w.operations[0].k, 72);
  EXPECT_EQ(w.operations[1].groups, 2);
  EXPECT_EQ(w.operations[1].macs(), 64.0 * 3 * 6 * 7 * 2);
  EXPECT_EQ(w.operations[1].parameter_elements, 6 * 6 * 7 + 6);
  EXPECT_EQ(w.operations[2].output_elements, 6 * 4 * 4);
  EXPECT_EQ(w.operations[3].k, 96);
  EXPECT_EQ(w.input_bytes_per_sample, 8 * 16 * 16 * 4);
}

// One sample has 2048 elements; every tensor here is as large.
TEST(Architecture, MemoryCountsWhatIsLiveAndWhatTrainingKeeps) {
  constexpr double kImage = 2048;
  const Workload chain = read(image_net("  - conv: {out: 8, kernel: 3, pad: 1}\n  - bn\n  - relu\n"));
  // the input is held by the caller; bn reads one tensor and writes another; relu works in place
  EXPECT_EQ(chain.peak_live_elements, 3 * kImage);
  // conv keeps the input, bn its input, relu its output
  EXPECT_EQ(chain.saved_elements, 3 * kImage);
  const Workload residual = read(image_net("  - residual:\n      - conv: {out: 8, kernel: 1}\n      - bn\n  - relu\n"));
  EXPECT_EQ(residual.saved_elements, 3 * kImage);
  ASSERT_EQ(residual.operations.size(), 4u);
  EXPECT_EQ(residual.operations[2].input_elements, 2 * kImage);
  EXPECT_TRUE(residual.operations[0].saved_for_backward);
  EXPECT_FALSE(residual.operations[1].saved_for_backward) << "overwritten by the sum, then by relu";
  EXPECT_TRUE(residual.operations[3].saved_for_backward);
  const Workload dropout =
      read("title: t\ninput: {tokens: 4}\nlayers:\n  - embedding: {dim: 8, tables: [9]}\n  - dropout\n");
  EXPECT_EQ(dropout.peak_live_elements, 4 + 32) << "dropout does nothing in inference";
  EXPECT_EQ(dropout.saved_elements, 8) << "its mask, a byte each";
}

TEST(Architecture, GraphExecutionFoldsIntoProductsOnly) {
  const Workload w = read(image_net(R"(
  - conv: {out: 8, kernel: 1}
  - bn
  - relu
  - max_pool: {kernel: 2}
  - residual: [{conv: {out: 8, kernel: 1}}, bn]
  - relu
  - concat: [[], []]
  - bn
)"));
  std::string folded;
  for (const Operation& operation : w.operations) folded += operation.fused_in_graph ? '1' : '0';
  EXPECT_EQ(folded, "0110011100");
}

TEST(Architecture, AttentionHasTheOperationsOfAnEagerFramework) {
  const std::string head =
      "title: t\nsequence: {default: 10, max: 20}\ninput: {tokens: $sequence}\nlayers:\n  - embedding: {dim: 8, "
      "tables: [9]}\n";
  const Workload w = read(head + "  - attention: {heads: 2, mask: true}\n");
  std::string kinds;
  double macs = 0;
  for (const Operation& operation : w.operations) {
    kinds += fmt::format("{} ", operation.name);
    macs += operation.macs();
  }
  EXPECT_EQ(kinds,
            "embedding1 query1 key1 value1 layout1 layout2 layout3 scores1 scale1 mask1 softmax1 dropout1 mix1 layout4 "
            "output1 ");
  EXPECT_EQ(macs, 4.0 * 10 * 8 * 8 + 2.0 * 10 * 10 * 8);
  const auto longer = read_workload(head + "  - attention: {heads: 2}\n", "w.yaml", 20);
  ASSERT_TRUE(longer);
  EXPECT_EQ(totals(longer->operations).macs, 4.0 * 20 * 8 * 8 + 2.0 * 20 * 20 * 8);
  const Workload fused = read(head + "  - attention: {heads: 2, kv_heads: 1, fused: true, bias: false}\n");
  EXPECT_EQ(totals(fused.operations).macs, 10.0 * 8 * (8 + 4 + 4 + 8) + 2.0 * 10 * 10 * 8);
  EXPECT_EQ(fused.parameters, 72 + 8 * (8 + 4 + 4 + 8));
}

TEST(Architecture, DecodingReadsAndHoldsTheCache) {
  const auto decode = [](int context) {
    return *read_workload(
        "title: t\nsequence: {default: 100, max: 1000}\ninput: {tokens: 1}\nlayers:\n"
        "  - embedding: {dim: 8, tables: [9]}\n  - attention: {heads: 2, fused: true, context: $sequence}\n",
        "w.yaml", context);
  };
  const Workload small = decode(100), large = decode(200);
  EXPECT_EQ(totals(large.operations).macs - totals(small.operations).macs, 2.0 * 100 * 8);
  EXPECT_EQ(large.peak_live_elements - small.peak_live_elements, 2.0 * 100 * 8);
}

TEST(Architecture, ErrorsNameFileLineAndKey) {
  EXPECT_EQ(error_of(image_net("  - conv: {out: 8, kernel: 3}\n  - batchnorm\n")).substr(0, 46),
            "w.yaml:5: layers[1]: unknown layer \"batchnorm\"");
  EXPECT_THAT(error_of(image_net("  - maxpool: {kernel: 2}\n")), HasSubstr("did you mean max_pool"));
  EXPECT_THAT(error_of(image_net("  - conv: {out: -8, kernel: 3}\n")),
              HasSubstr("w.yaml:4: layers[0].conv.out: expected a whole number from 1 to 1000000000"));
  EXPECT_EQ(error_of(image_net("  - conv: {kernel: 3}\n")), "w.yaml:4: layers[0].conv: key \"out\" is missing");
  EXPECT_EQ(error_of(image_net("  - conv: {out: 8, kernel: 17}\n")),
            "w.yaml:4: layers[0].conv: a kernel of 17 x 17 does not fit 8 x 16 x 16");
  EXPECT_EQ(error_of(image_net("  - conv: {out: 8, kernel: 3, groups: 3}\n")),
            "w.yaml:4: layers[0].conv: 3 groups must divide the channels, found 8 in and 8 out");
  EXPECT_EQ(error_of(image_net("  - residual: [{conv: {out: 9, kernel: 1}}]\n")),
            "w.yaml:4: layers[0].residual: the branches must have one shape, found 9 x 16 x 16 and 8 x 16 x 16");
  EXPECT_EQ(
      error_of(image_net("  - concat: [[], [max_pool: {kernel: 2}]]\n")),
      "w.yaml:4: layers[0].concat: branches can only be joined along their channels, found 8 x 16 x 16 and 8 x 8 x 8");
  EXPECT_EQ(error_of(image_net("  - linear: {out: 9}\n")),
            "w.yaml:4: layers[0].linear: expected tokens before it (see flatten, to_tokens and embedding), found 8 x "
            "16 x 16");
  EXPECT_EQ(error_of(image_net("  - conv: {out: $width, kernel: 1}\n")).substr(0, 37),
            "w.yaml:4: layers[0].conv.out: expecte");
  EXPECT_EQ(error_of(image_net("  []\n")), "w.yaml:3: layers: expected at least one layer");
  EXPECT_EQ(error_of("title: t\ninput: {tokens: 3}\n"), "w.yaml:1: expected either \"layers\" or \"operations\"");
  EXPECT_THAT(error_of("title: t\nlayers: []\n"), HasSubstr("key \"input\" is missing"));
}

TEST(Architecture, BlocksCannotUseThemselvesOrThoseBelow) {
  EXPECT_EQ(error_of(image_net("  - a\n", "blocks:\n  a:\n    layers: [a]\n")),
            "w.yaml:5: blocks.a.layers[0]: block \"a\" is used before its end; blocks may only use those above them");
  EXPECT_THAT(error_of(image_net("  - a\n", "blocks:\n  a:\n    layers: [b]\n  b:\n    layers: [a]\n")),
              HasSubstr("block \"b\" is used before its end"));
  EXPECT_THAT(error_of(image_net("  - a: {size: 2}\n", "blocks:\n  a:\n    parameters: [width]\n    layers: [relu]\n")),
              HasSubstr("w.yaml:8: layers[0].a: unknown key \"size\""));
}

TEST(Architecture, NetworksAreBounded) {
  EXPECT_THAT(error_of(image_net("  - repeat: {times: 1000000000, layers: [relu]}\n")),
              HasSubstr("more than 100000 operations"));
  EXPECT_THAT(error_of(image_net("  - repeat: {times: 1000000000, layers: []}\n")), HasSubstr("too many layers"));
  std::string blocks = "blocks:\n  b0: {layers: []}\n";
  for (int i = 1; i < 60; ++i) blocks += fmt::format("  b{}: {{layers: [b{}, b{}]}}\n", i, i - 1, i - 1);
  EXPECT_THAT(error_of(image_net("  - b59\n", blocks)), HasSubstr("too many layers"));
  EXPECT_THAT(error_of("title: t\ninput: {image: [1000000000, 1000000000, 1000000000]}\nlayers: [relu]\n"),
              HasSubstr("the input is too large"));
  EXPECT_THAT(
      error_of(image_net("  - conv: {out: 1000000000, kernel: 1}\n  - flatten\n  - linear: {out: 1000000000}\n")),
      HasSubstr("the layer is too large"));
  std::string nested = "relu";
  for (int i = 0; i < 40; ++i) nested = "{residual: [" + nested + "]}";
  EXPECT_THAT(error_of(image_net("  - " + nested + "\n")), HasSubstr("w.yaml"));
}

TEST(Architecture, SequencesAreChecked) {
  EXPECT_EQ(shipped_workload("bert-base", 1000).error().message,
            "workload \"bert-base\": expected a sequence of 1 to 512 tokens, found 1000");
  EXPECT_EQ(shipped_workload("resnet50", 10).error().message,
            "workload \"resnet50\": it has no sequence length to set; leave it out");
}

TEST(Architecture, RawOperationsAreRead) {
  const std::string head = "title: t\ninput: {elements: 100}\noperations:\n";
  const Workload w = read(head +
                          "  - {kind: matmul, name: a, m: 2, n: 3, k: 4, input: 8, output: 6, weights: 12}\n"
                          "  - {kind: activation, input: 6, output: 6, saved: false, fused: true}\n");
  EXPECT_EQ(totals(w.operations).macs, 24);
  EXPECT_EQ(w.parameters, 12);
  EXPECT_EQ(w.saved_elements, 6);
  EXPECT_EQ(w.peak_live_elements, 14);
  EXPECT_EQ(w.input_bytes_per_sample, 400);
  EXPECT_TRUE(w.operations[1].fused_in_graph);
  EXPECT_EQ(error_of(head + "  - {kind: matmul, n: 3, k: 4, input: 8, output: 6}\n"),
            "w.yaml:4: operations[0]: key \"m\" is missing");
  EXPECT_THAT(error_of(head + "  - {kind: lstm, input: 8, output: 6}\n"),
              HasSubstr("w.yaml:4: operations[0].kind: expected one of convolution, "));
  EXPECT_THAT(error_of(head + "  - {kind: add, input: -1, output: 6}\n"),
              HasSubstr("operations[0].input: expected 0 to"));
  EXPECT_THAT(error_of(head + "  - {kind: add, input: 1e300, output: 6}\n"),
              HasSubstr("operations[0].input: expected 0 to"));
}

// A random list of layers that keep 8 x 16 x 16, so that any order is right.
rc::Gen<std::string> keeping_layers() {
  return rc::gen::map(
      rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(std::vector<std::string>{
          "bn", "relu", "gelu", "copy", "dropout", "conv: {out: 8, kernel: 3, pad: 1}",
          "conv: {out: 8, kernel: 3, pad: 1, groups: 8}", "avg_pool: {kernel: 3, stride: 1, pad: 1}",
          "residual: [bn, relu]", "residual: [{conv: {out: 8, kernel: 1}}]", "b: {n: 8}",
          "add: [[bn], [], [{b: {n: 16}}, {conv: {out: 8, kernel: 1}}]]"}))),
      [](const std::vector<std::string>& layers) {
        std::string out;
        for (const std::string& layer : layers) out += "- " + layer + "\n";
        return out;
      });
}
std::string indented(const std::string& text, const std::string& by) {
  std::string out;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = text.find('\n', at);
    out += by + text.substr(at, end - at) + "\n";
  }
  return out;
}

TEST(ArchitectureProperty, ARepeatIsTheSameLayersWrittenOut) {
  const std::string blocks = "blocks:\n  b:\n    parameters: [n]\n    layers: [{conv: {out: $n, kernel: 1}}, relu]\n";
  EXPECT_TRUE(rc::check("repeat equals unrolled", [&](std::uint8_t seed) {
    const std::string layers = *keeping_layers();
    const int times = 1 + seed % 4;
    std::string unrolled = "  - copy\n";
    for (int i = 0; i < times; ++i) unrolled += indented(layers, "  ");
    const std::string repeated =
        fmt::format("  - copy\n  - repeat:\n      times: {}\n      layers:\n{}", times, indented(layers, "        "));
    expect_equal(read(image_net(unrolled, blocks)), read(image_net(repeated, blocks)));
    RC_ASSERT(!testing::Test::HasFailure());
  }));
}

}  // namespace
}  // namespace partita::predict
