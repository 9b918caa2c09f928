#include "onnx/patterns.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace partita::onnx_import {

namespace {

using Node = onnx::NodeProto;

// What a pattern is replaced by: a node that takes the last one's place.
struct Match {
  std::vector<const Node*> nodes;  // the last one last
  Node joined;
};

class Matcher {
 public:
  explicit Matcher(const Model& model) : model_(model) {
    for (const auto& output : model.proto.graph().output()) kept_.insert(output.name());
    for (const Node* node : model.order) {
      for (const std::string& input : node->input()) readers_[input].push_back(node);
      for (const std::string& output : node->output()) producers_[output] = node;
    }
  }

  std::optional<Match> match(const Node& node) const {
    if (node.op_type() == "ReduceMean") return layer_norm(node);
    if (node.op_type() == "Pow") return rms_norm(node);
    if (node.op_type() == "Erf" || node.op_type() == "Tanh") return gelu(node);
    if (node.op_type() == "Sigmoid" || node.op_type() == "HardSigmoid") return swish(node);
    if (node.op_type() == "MatMul") return bias(node);
    return std::nullopt;
  }

 private:
  static bool is(const Node* node, std::initializer_list<std::string_view> types) {
    return node && std::ranges::find(types, node->op_type()) != types.end();
  }
  static bool reads(const Node* node, const std::string& tensor) {
    return node && std::ranges::find(node->input(), tensor) != node->input().end();
  }

  // The only node that reads this one's output, if it is of one of the types.
  const Node* next(const Node* node, std::initializer_list<std::string_view> types) const {
    if (!node || kept_.contains(node->output(0))) return nullptr;
    const auto found = readers_.find(node->output(0));
    if (found == readers_.end()) return nullptr;
    const Node* reader = found->second.front();
    const bool only = std::ranges::all_of(found->second, [&](const Node* other) { return other == reader; });
    return only && is(reader, types) ? reader : nullptr;
  }

  // The constant that the node takes beside its activation.
  const std::string* constant(const Node* node) const {
    if (!node || node->input_size() != 2) return nullptr;
    for (const std::string& input : node->input())
      if (model_.is_constant(input)) return &input;
    return nullptr;
  }
  // The input that is no constant.
  const std::string* activation(const Node* node) const {
    for (const std::string& input : node->input())
      if (!model_.is_constant(input)) return &input;
    return nullptr;
  }

  static Match join(std::string_view type, std::vector<const Node*> nodes, const std::vector<std::string>& inputs) {
    Match out{std::move(nodes), {}};
    const Node& last = *out.nodes.back();
    out.joined.set_op_type(std::string(type));
    out.joined.set_name(last.name());
    for (const std::string& input : inputs) out.joined.add_input(input);
    out.joined.add_output(last.output(0));
    return out;
  }

  // Scale and shift by constants behind a norm join it.
  Match with_affine(std::vector<const Node*> nodes, const std::string& input) const {
    std::vector<std::string> inputs = {input};
    for (const std::string_view type : {"Mul", "Add"}) {
      const Node* affine = next(nodes.back(), {type});
      const std::string* by = constant(affine);
      if (!by) break;
      inputs.push_back(*by);
      nodes.push_back(affine);
    }
    return join("LayerNormalization", std::move(nodes), inputs);
  }

  // mean -> x - mean -> square -> mean -> + epsilon -> root -> divide
  std::optional<Match> layer_norm(const Node& mean) const {
    const Node* centred = next(&mean, {"Sub"});
    if (!centred || centred->input(0) != mean.input(0) || kept_.contains(centred->output(0))) return std::nullopt;
    const auto& readers = readers_.at(centred->output(0));
    const auto square = std::ranges::find_if(readers, [](const Node* node) { return is(node, {"Pow", "Mul"}); });
    if (square == readers.end()) return std::nullopt;
    const Node* variance = next(*square, {"ReduceMean"});
    const Node* safe = next(variance, {"Add"});
    const Node* root = next(safe, {"Sqrt"});
    const Node* divided = next(root, {"Div"});
    if (!divided || divided->input(0) != centred->output(0)) return std::nullopt;
    if (!std::ranges::all_of(readers, [&](const Node* node) { return node == *square || node == divided; }))
      return std::nullopt;
    return with_affine({&mean, centred, *square, variance, safe, root, divided}, mean.input(0));
  }

  // square -> mean -> + epsilon -> root -> divide, or reciprocal and multiply
  std::optional<Match> rms_norm(const Node& square) const {
    const std::string& input = square.input(0);
    const Node* mean = next(&square, {"ReduceMean"});
    const Node* safe = next(mean, {"Add"});
    const Node* root = next(safe, {"Sqrt"});
    std::vector<const Node*> nodes = {&square, mean, safe, root};
    const Node* scaled = next(root, {"Div", "Reciprocal"});
    if (is(scaled, {"Reciprocal"})) {
      nodes.push_back(scaled);
      scaled = next(scaled, {"Mul"});
    }
    if (!reads(scaled, input)) return std::nullopt;
    nodes.push_back(scaled);
    return with_affine(std::move(nodes), input);
  }

  // (polynomial of x) -> erf or tanh -> + 1 -> times x -> times 0.5, the last two in any order
  std::optional<Match> gelu(const Node& curve) const {
    const Node* one = next(&curve, {"Add"});
    const Node* product = next(one, {"Mul"});
    if (!product || !constant(one)) return std::nullopt;
    std::vector<const Node*> nodes = {&curve, one, product};
    if (const Node* half = next(product, {"Mul"});
        half && constant(half) && model_.constants.at(*constant(half)).elements <= 1)
      nodes.push_back(half);
    // What leads to the curve, back to the tensor that all of it depends on.
    const std::string& other = product->input(product->input(0) == one->output(0) ? 1 : 0);
    std::string input = other;
    if (const auto half = producers_.find(other); half != producers_.end() && is(half->second, {"Mul"}) &&
                                                  constant(half->second) && next(half->second, {"Mul"}) == product) {
      input = *activation(half->second);
      nodes.insert(nodes.begin(), half->second);
    }
    if (!collect(curve.input(0), input, nodes, 8)) return std::nullopt;
    return join("Gelu", std::move(nodes), {input});
  }

  // Adds the elementwise nodes between `input` and `tensor`; false where something else is there.
  bool collect(const std::string& tensor, const std::string& input, std::vector<const Node*>& nodes, int most) const {
    if (tensor == input || model_.is_constant(tensor)) return true;
    const auto found = producers_.find(tensor);
    if (most == 0 || found == producers_.end() || !is(found->second, {"Add", "Mul", "Div", "Pow"})) return false;
    nodes.insert(nodes.begin(), found->second);
    return std::ranges::all_of(found->second->input(),
                               [&](const std::string& each) { return collect(each, input, nodes, most - 1); });
  }

  std::optional<Match> swish(const Node& gate) const {
    const Node* product = next(&gate, {"Mul"});
    if (!reads(product, gate.input(0))) return std::nullopt;
    return join("Swish", {&gate, product}, {gate.input(0)});
  }

  // Before or behind the sum; only where one operand is a weight.
  std::optional<Match> bias(const Node& product) const {
    const Node* sum = next(&product, {"Add"});
    const std::string* by = constant(sum);
    const Dims* dims = by ? model_.shape(*by) : nullptr;
    if (!dims || dims->size() != 1 || product.input_size() != 2 || !model_.is_constant(product.input(1)))
      return std::nullopt;
    return join("MatMul", {&product, sum}, {product.input(0), product.input(1), *by});
  }

  const Model& model_;
  std::set<std::string, std::less<>> kept_;
  std::map<std::string, std::vector<const Node*>, std::less<>> readers_;
  std::map<std::string, const Node*, std::less<>> producers_;
};

}  // namespace

std::vector<Node> join_patterns(const Model& model) {
  const Matcher matcher(model);
  std::set<const Node*> gone;
  std::map<const Node*, Node> joined;
  for (const Node* node : model.order) {
    if (gone.contains(node)) continue;
    auto match = matcher.match(*node);
    if (!match || std::ranges::any_of(match->nodes, [&](const Node* each) { return gone.contains(each); })) continue;
    const Node* last = match->nodes.back();
    gone.insert(match->nodes.begin(), match->nodes.end());
    joined[last] = std::move(match->joined);
  }
  std::vector<Node> out;
  for (const Node* node : model.order) {
    if (const auto found = joined.find(node); found != joined.end())
      out.push_back(found->second);
    else if (!gone.contains(node))
      out.push_back(*node);
  }
  return out;
}

}  // namespace partita::onnx_import
