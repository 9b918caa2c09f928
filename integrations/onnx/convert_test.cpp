#include "onnx/convert.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <onnx/onnx_pb.h>

#include "predict/workload.h"

namespace partita::onnx_import {
namespace {

using testing::HasSubstr;
using Sizes = std::vector<long long>;

// A model put together node by node.
class Maker {
 public:
  Maker() {
    model_.set_ir_version(8);
    model_.add_opset_import()->set_version(13);
    graph_ = model_.mutable_graph();
    graph_->set_name("made");
  }

  std::string input(const std::string& name, const Sizes& sizes, const std::string& first = "",
                    onnx::TensorProto::DataType type = onnx::TensorProto::FLOAT) {
    auto& value = *graph_->add_input();
    value.set_name(name);
    auto& tensor = *value.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      auto& dim = *tensor.mutable_shape()->add_dim();
      if (i == 0 && !first.empty())
        dim.set_dim_param(first);
      else if (sizes[i] < 0)
        dim.set_dim_param("sequence");
      else
        dim.set_dim_value(sizes[i]);
    }
    return name;
  }

  std::string weight(const Sizes& sizes) {
    auto& tensor = *graph_->add_initializer();
    tensor.set_name(fmt::format("w{}", graph_->initializer_size()));
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    for (const long long size : sizes) tensor.add_dims(size);
    return tensor.name();
  }
  std::string integers(const Sizes& values) {
    const std::string name = weight({static_cast<long long>(values.size())});
    auto& tensor = *graph_->mutable_initializer(graph_->initializer_size() - 1);
    tensor.set_data_type(onnx::TensorProto::INT64);
    for (const long long value : values) tensor.add_int64_data(value);
    return name;
  }

  std::string node(const std::string& type, const std::vector<std::string>& inputs,
                   const std::vector<std::pair<std::string, Sizes>>& attributes = {}) {
    auto& made = *graph_->add_node();
    made.set_op_type(type);
    for (const std::string& name : inputs) made.add_input(name);
    made.add_output(fmt::format("t{}", graph_->node_size()));
    for (const auto& [name, values] : attributes) {
      auto& attribute = *made.add_attribute();
      attribute.set_name(name);
      if (values.size() == 1 && (name == "group" || name == "transB" || name == "hidden_size")) {
        attribute.set_type(onnx::AttributeProto::INT);
        attribute.set_i(values[0]);
      } else {
        attribute.set_type(onnx::AttributeProto::INTS);
        for (const long long value : values) attribute.add_ints(value);
      }
    }
    return made.output(0);
  }

  std::string conv(const std::string& x, long long in, long long out, long long kernel, long long stride, long long pad,
                   long long groups = 1) {
    return node("Conv", {x, weight({out, in / groups, kernel, kernel})},
                {{"strides", {stride, stride}}, {"pads", {pad, pad, pad, pad}}, {"group", {groups}}});
  }
  std::string norm(const std::string& x, long long c) {
    const std::string scale = weight({c}), shift = weight({c}), mean = weight({c}), variance = weight({c});
    return node("BatchNormalization", {x, scale, shift, mean, variance});
  }

  void output(const std::string& name) {
    auto& value = *graph_->add_output();
    value.set_name(name);
    value.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  }
  std::string bytes() const { return model_.SerializeAsString(); }
  onnx::GraphProto& graph() { return *graph_; }

 private:
  onnx::ModelProto model_;
  onnx::GraphProto* graph_ = nullptr;
};

predict::Workload workload_of(const Maker& maker, const Options& options = {}) {
  const auto conversion = convert(maker.bytes(), "m.onnx", options);
  if (!conversion) {
    ADD_FAILURE() << conversion.error().message;
    return {};
  }
  const auto workload = predict::read_workload(conversion->yaml, "m.yaml");
  if (!workload) {
    ADD_FAILURE() << workload.error().message << "\n" << conversion->yaml.substr(0, 2000);
    return {};
  }
  return *workload;
}

std::string error_of(std::string_view bytes, const Options& options = {}) {
  const auto conversion = convert(bytes, "m.onnx", options);
  return conversion ? "no error" : conversion.error().message;
}

Maker resnet50() {
  Maker m;
  std::string x = m.input("image", {-1, 3, 224, 224}, "batch");
  x = m.node("Relu", {m.norm(m.conv(x, 3, 64, 7, 2, 3), 64)});
  x = m.node("MaxPool", {x}, {{"kernel_shape", {3, 3}}, {"strides", {2, 2}}, {"pads", {1, 1, 1, 1}}});
  long long in = 64;
  const int blocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage)
    for (int i = 0; i < blocks[stage]; ++i) {
      const long long width = 64LL << stage, stride = i == 0 && stage > 0 ? 2 : 1;
      std::string y = m.node("Relu", {m.norm(m.conv(x, in, width, 1, 1, 0), width)});
      y = m.node("Relu", {m.norm(m.conv(y, width, width, 3, stride, 1), width)});
      y = m.norm(m.conv(y, width, 4 * width, 1, 1, 0), 4 * width);
      if (i == 0) x = m.norm(m.conv(x, in, 4 * width, 1, stride, 0), 4 * width);
      x = m.node("Relu", {m.node("Add", {y, x})});
      in = 4 * width;
    }
  x = m.node("Flatten", {m.node("GlobalAveragePool", {x})});
  m.output(m.node("Gemm", {x, m.weight({1000, 2048}), m.weight({1000})}, {{"transB", {1}}}));
  return m;
}

TEST(Onnx, ResNet50IsTheShippedOneOperationByOperation) {
  const predict::Workload imported = workload_of(resnet50());
  const auto shipped = predict::shipped_workload("resnet50");
  ASSERT_TRUE(shipped);
  ASSERT_EQ(imported.operations.size(), shipped->operations.size());
  for (std::size_t i = 0; i < imported.operations.size(); ++i) {
    const auto &a = imported.operations[i], &b = shipped->operations[i];
    SCOPED_TRACE(b.name);
    EXPECT_EQ(a.kind, b.kind);
    EXPECT_EQ(a.macs(), b.macs());
    EXPECT_EQ(a.m, b.m);
    EXPECT_EQ(a.input_elements, b.input_elements);
    EXPECT_EQ(a.output_elements, b.output_elements);
    EXPECT_EQ(a.fused_in_graph, b.fused_in_graph);
  }
  EXPECT_EQ(predict::totals(imported.operations).macs, predict::totals(shipped->operations).macs);
  EXPECT_EQ(imported.parameters, shipped->parameters);
  EXPECT_EQ(imported.parameter_tensors, shipped->parameter_tensors);
  EXPECT_EQ(imported.input_bytes_per_sample, shipped->input_bytes_per_sample);
}

TEST(Onnx, AttentionIsBatchedAndShapesFollowFromComputedReshapes) {
  Maker m;
  const std::string ids = m.input("ids", {-1, -1}, "batch", onnx::TensorProto::INT64);
  const std::string x = m.node("Gather", {m.weight({1000, 64}), ids});
  const auto heads = [&](const std::string& y) {
    const std::string shaped = m.node("Reshape", {y, m.integers({0, 0, 4, 16})});
    return m.node("Transpose", {shaped}, {{"perm", {0, 2, 1, 3}}});
  };
  const std::string q = heads(m.node("MatMul", {x, m.weight({64, 64})}));
  const std::string k = heads(m.node("MatMul", {x, m.weight({64, 64})}));
  const std::string kt = m.node("Transpose", {k}, {{"perm", {0, 1, 3, 2}}});
  m.output(m.node("Softmax", {m.node("MatMul", {q, kt})}));
  EXPECT_THAT(error_of(m.bytes()), HasSubstr("input \"ids\": dimension 1 (sequence) has no size; give one with --set"));
  Options options;
  options.dimensions["sequence"] = 32;
  const predict::Workload workload = workload_of(m, options);
  ASSERT_EQ(workload.operations.size(), 8u);
  EXPECT_EQ(workload.operations[0].kind, predict::OperationKind::embedding);
  EXPECT_EQ(workload.operations[0].weight_elements, 0);
  const predict::Operation& scores = workload.operations[6];
  EXPECT_EQ(scores.kind, predict::OperationKind::batched_matmul);
  EXPECT_EQ(scores.macs(), 4.0 * 32 * 32 * 16);
  EXPECT_EQ(scores.groups, 4);
  EXPECT_EQ(workload.parameters, 1000 * 64 + 2 * 64 * 64);
  options.dimensions["width"] = 1;
  EXPECT_THAT(error_of(m.bytes(), options), HasSubstr("no input has a dimension \"width\""));
}

TEST(Onnx, NormsGelusAndBiasesWrittenOutAreOneOperationEach) {
  Maker m;
  const std::string x = m.input("x", {1, 10, 64});
  const auto scalar = [&] { return m.weight({1}); };
  const auto norm = [&](const std::string& in) {
    const std::string centred = m.node("Sub", {in, m.node("ReduceMean", {in}, {{"axes", {-1}}})});
    const std::string variance = m.node("ReduceMean", {m.node("Pow", {centred, scalar()})}, {{"axes", {-1}}});
    const std::string root = m.node("Sqrt", {m.node("Add", {variance, scalar()})});
    const std::string scaled = m.node("Mul", {m.node("Div", {centred, root}), m.weight({64})});
    return m.node("Add", {scaled, m.weight({64})});
  };
  const auto linear = [&](const std::string& in) {
    return m.node("Add", {m.weight({64}), m.node("MatMul", {in, m.weight({64, 64})})});
  };
  const std::string h = linear(norm(x));
  const std::string one = m.node("Add", {m.node("Erf", {m.node("Div", {h, scalar()})}), scalar()});
  const std::string gelu = m.node("Mul", {m.node("Mul", {h, one}), scalar()});
  const std::string h2 = linear(gelu);
  const std::string cube = m.node("Mul", {scalar(), m.node("Pow", {h2, scalar()})});
  const std::string inner = m.node("Mul", {scalar(), m.node("Add", {h2, cube})});
  const std::string tanh = m.node("Add", {m.node("Tanh", {inner}), scalar()});
  const std::string gelu2 = m.node("Mul", {m.node("Mul", {h2, scalar()}), tanh});
  const std::string h3 = linear(gelu2);
  const std::string swish = m.node("Mul", {m.node("Sigmoid", {h3}), h3});
  const std::string mean = m.node("ReduceMean", {m.node("Pow", {swish, scalar()})}, {{"axes", {-1}}});
  const std::string root = m.node("Sqrt", {m.node("Add", {mean, scalar()})});
  m.output(m.node("Mul", {m.node("Mul", {swish, m.node("Reciprocal", {root})}), m.weight({64})}));
  const predict::Workload workload = workload_of(m);
  std::vector<predict::OperationKind> kinds;
  for (const auto& operation : workload.operations) kinds.push_back(operation.kind);
  using enum predict::OperationKind;
  EXPECT_EQ(kinds, (std::vector{layer_norm, matmul, activation, matmul, activation, matmul, activation, layer_norm}));
  EXPECT_EQ(workload.parameters, 3 * 64 + 3 * (64 * 64 + 64));
}

TEST(Onnx, WhatOthersReadIsNotJoined) {
  Maker m;
  const std::string x = m.input("x", {1, 8});
  const std::string product = m.node("MatMul", {x, m.weight({8, 8})});
  const std::string sum = m.node("Add", {product, m.weight({8})});
  m.output(m.node("Mul", {sum, product}));
  EXPECT_EQ(workload_of(m).operations.size(), 3u);
}

TEST(Onnx, AWeightWithTwoUsesIsOwnedOnce) {
  Maker m;
  const std::string ids = m.input("ids", {1, 6}, "", onnx::TensorProto::INT64), table = m.weight({50, 8});
  const std::string x = m.node("Gather", {table, ids});
  m.output(m.node("MatMul", {x, m.node("Transpose", {table}, {{"perm", {1, 0}}})}));
  const predict::Workload workload = workload_of(m);
  EXPECT_EQ(workload.parameters, 400);
  ASSERT_EQ(workload.operations.size(), 2u);
  EXPECT_EQ(workload.operations[1].weight_elements, 400);
}

TEST(Onnx, AFixedBatchIsDividedOut) {
  const auto make = [](long long batch) {
    Maker m;
    const std::string x = m.input("x", {batch, 8, 10, 10});
    const std::string y = m.conv(x, 8, 8, 3, 1, 1, 8);
    const std::string flat = m.node("Flatten", {m.node("GlobalAveragePool", {y})});
    m.output(m.node("Gemm", {flat, m.weight({8, 5})}));
    return workload_of(m);
  };
  const predict::Workload one = make(1), four = make(4);
  ASSERT_EQ(one.operations.size(), 3u);
  EXPECT_EQ(one.operations[0].kind, predict::OperationKind::depthwise);
  EXPECT_EQ(one.operations[0].macs(), 100.0 * 8 * 9);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(one.operations[i].macs(), four.operations[i].macs());
    EXPECT_EQ(one.operations[i].input_elements, four.operations[i].input_elements);
  }
}

TEST(Onnx, UnsupportedOperatorsAreListedWithWhatIsLeftOut) {
  Maker m;
  const std::string x = m.input("x", {7, 1, 16});
  const std::string y = m.node("LSTM", {x, m.weight({1, 80, 16}), m.weight({1, 80, 20})}, {{"hidden_size", {20}}});
  m.output(m.node("Relu", {y}));
  const auto refused = convert(m.bytes(), "m.onnx", {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid);
  ASSERT_EQ(refused.error().details.size(), 1u);
  EXPECT_THAT(refused.error().details[0], HasSubstr("1 x LSTM (first: t1): about 0.00288 M weights"));
  Options options;
  options.partial = true;
  const auto partial = convert(m.bytes(), "m.onnx", options);
  ASSERT_TRUE(partial) << partial.error().message;
  EXPECT_EQ(partial->left_out.size(), 1u);
  EXPECT_THAT(partial->yaml, HasSubstr("# LEFT OUT: 1 x LSTM"));
  EXPECT_TRUE(predict::read_workload(partial->yaml, "m.yaml"));
}

TEST(Onnx, NodesOutOfOrderAreSortedAndCyclesAreAnError) {
  Maker m;
  m.input("x", {1, 8});
  m.node("Relu", {"t2"});
  m.node("Tanh", {"x"});
  m.output("t1");
  EXPECT_EQ(workload_of(m).operations.size(), 2u);
  m.graph().mutable_node(1)->set_input(0, "t1");
  EXPECT_EQ(error_of(m.bytes()), "m.onnx: the graph has a cycle; Relu \"t1\" is in it or behind it");
}

// The library divides by some, which ends the process, and counts to another for minutes.
TEST(Onnx, AttributesThatShapeInferenceTrustsAreChecked) {
  Maker scan;
  scan.input("x", {1, 3, 8, 8});
  scan.output(scan.node("Scan", {"x"}));
  auto& count = *scan.graph().mutable_node(0)->add_attribute();
  count.set_name("num_scan_inputs");
  count.set_type(onnx::AttributeProto::INT);
  count.set_i(2147483648);
  EXPECT_EQ(error_of(scan.bytes()),
            "m.onnx: Scan \"t1\": num_scan_inputs: expected no more than it has inputs, found 2147483648");
  Maker conv;
  conv.input("x", {1, 3, 8, 8});
  conv.output(conv.node("Conv", {"x", conv.weight({4, 3, 3, 3})}, {{"strides", {0, 0}}}));
  EXPECT_EQ(error_of(conv.bytes()), "m.onnx: Conv \"t1\": strides: expected numbers above 0, found 0");
  Maker pool;
  pool.input("x", {1, 3, 8, 8});
  pool.output(pool.node("MaxPool", {"x"}, {{"kernel_shape", {2, 2}}, {"strides", {2, 0}}}));
  EXPECT_EQ(error_of(pool.bytes()), "m.onnx: MaxPool \"t1\": strides: expected numbers above 0, found 0");
  Maker groups;
  groups.input("x", {1, 3, 8, 8});
  groups.output(groups.node("ConvTranspose", {"x", groups.weight({3, 3, 3, 3})}, {{"group", {0}}}));
  EXPECT_EQ(error_of(groups.bytes()), "m.onnx: ConvTranspose \"t1\": group: expected numbers above 0, found 0");
}

TEST(Onnx, BrokenFilesAreSaidClearly) {
  EXPECT_EQ(error_of("not a model"), "m.onnx: not an ONNX model, or cut short");
  EXPECT_EQ(error_of(""), "m.onnx: not an ONNX model, or cut short");
  const std::string whole = resnet50().bytes();
  EXPECT_EQ(error_of(whole.substr(0, whole.size() / 2)), "m.onnx: not an ONNX model, or cut short");
  Maker nowhere;
  nowhere.input("x", {1, 8});
  nowhere.output(nowhere.node("Add", {"x", "y"}));
  EXPECT_EQ(error_of(nowhere.bytes()), "m.onnx: Add \"t1\" reads \"y\", which no node, input or initializer gives");
  Maker twice;
  twice.input("x", {1, 8});
  twice.node("Relu", {"x"});
  twice.graph().mutable_node(0)->set_output(0, "x");
  EXPECT_EQ(error_of(twice.bytes()), "m.onnx: tensor \"x\" is produced twice");
  Maker empty;
  empty.input("x", {1, 8});
  EXPECT_EQ(error_of(empty.bytes()), "m.onnx: the graph has no nodes");
}

}  // namespace
}  // namespace partita::onnx_import
