#include "predict/architecture.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "predict/architecture_builder.h"

namespace partita::predict {

namespace {

constexpr std::size_t kMaxSteps = 400'000;  // layers and repeats gone through, empty ones too
constexpr int kMaxDepth = 64;

struct Block {
  std::string name;
  std::vector<std::string> parameters;
  const YamlNode* layers = nullptr;
  YamlPlace place;
};

class Builder {
 public:
  Builder(Graph& graph, std::vector<Block> blocks) : graph_(graph), blocks_(std::move(blocks)) {}

  // `known`: how many of the blocks may be used here.
  Result<TensorId> run(const YamlPlace& place, const YamlNode& list, Scope& scope, TensorId input, std::size_t known,
                       int depth = 0) {
    if (depth > kMaxDepth) return std::unexpected(yaml_error(place, list, "layers are nested too deeply"));
    const auto& items = *TRY(as_sequence(place, list));
    for (std::size_t i = 0; i < items.size(); ++i) input = TRY(item(place.at(i), items[i], scope, input, known, depth));
    return input;
  }

 private:
  Result<TensorId> item(const YamlPlace& place, const YamlNode& node, Scope& scope, TensorId input, std::size_t known,
                        int depth) {
    if (++steps_ > kMaxSteps) return std::unexpected(yaml_error(place, node, "the network has too many layers"));
    if (node.kind == YamlNode::Kind::scalar) {
      YamlNode arguments;
      arguments.line = node.line;
      return layer({node.text, place, &arguments, &scope}, input, known, depth);
    }
    if (node.kind != YamlNode::Kind::mapping || node.members.size() != 1)
      return std::unexpected(
          yaml_error(place, node, "expected one layer: its name, or \"name: {arguments}\" with one name"));
    const auto& [name, arguments] = node.members.front();
    return layer({name, place.at(name), &arguments, &scope}, input, known, depth);
  }

  Result<TensorId> layer(const Layer& layer, TensorId input, std::size_t known, int depth) {
    if (layer.name == "repeat") return repeat(layer, input, known, depth);
    if (layer.name == "residual") return residual(layer, input, known, depth);
    if (layer.name == "add" || layer.name == "multiply") return elementwise(layer, input, known, depth);
    if (layer.name == "concat") return concat(layer, input, known, depth);
    const auto block = std::ranges::find(blocks_, layer.name, &Block::name);
    if (block != blocks_.end()) return use(layer, *block, input, known, depth);
    if (const auto output = TRY(apply_layer(graph_, layer, input))) return *output;
    return layer.error(fmt::format("unknown layer {}{}", quote(layer.name), hint(layer.name)));
  }

  std::string hint(std::string_view name) const {
    std::vector<std::string> names = {"repeat", "residual", "add", "multiply", "concat"};
    for (const std::string_view known : layer_names()) names.emplace_back(known);
    for (const Block& block : blocks_) names.push_back(block.name);
    const std::string near = did_you_mean(name, names);
    return near.empty() ? "; known are " + join(names, ", ") : near;
  }

  Result<TensorId> repeat(const Layer& layer, TensorId input, std::size_t known, int depth) {
    constexpr std::string_view kKeys[] = {"times", "layers"};
    TRY_VOID(layer.only(kKeys, {}));
    const double times = TRY(layer.count("times"));
    for (double i = 0; i < times; ++i) {
      if (++steps_ > kMaxSteps) return layer.error("the network has too many layers");
      input = TRY(run(layer.place.at("layers"), *layer.find("layers"), *layer.scope, input, known, depth + 1));
    }
    return input;
  }

  Result<TensorId> residual(const Layer& layer, TensorId input, std::size_t known, int depth) {
    const TensorId body = TRY(run(layer.place, *layer.node, *layer.scope, input, known, depth + 1));
    return combine(layer, {body, input});
  }

  Result<TensorId> elementwise(const Layer& layer, TensorId input, std::size_t known, int depth) {
    const std::vector<TensorId> parts = TRY(branches(layer, input, known, depth));
    return combine(layer, parts);
  }

  Result<std::vector<TensorId>> branches(const Layer& layer, TensorId input, std::size_t known, int depth) {
    const auto& lists = *TRY(as_sequence(layer.place, *layer.node));
    if (lists.empty()) return layer.error("expected a list of branches, each a list of layers ([] hands its input on)");
    std::vector<TensorId> out;
    for (std::size_t i = 0; i < lists.size(); ++i)
      out.push_back(TRY(run(layer.place.at(i), lists[i], *layer.scope, input, known, depth + 1)));
    return out;
  }

  // Sum or product, two at a time; in place on the first branch where that computed something.
  Result<TensorId> combine(const Layer& layer, const std::vector<TensorId>& parts) {
    const Shape shape = graph_.shape(parts.front());
    const bool multiply = layer.name == "multiply";
    TensorId sum = parts.front();
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const Shape& other = graph_.shape(parts[i]);
      if (to_string(other) != to_string(shape))
        return layer.error(
            fmt::format("the branches must have one shape, found {} and {}", to_string(shape), to_string(other)));
      const bool in_place = !multiply && shape.kind == Shape::Kind::image && parts[i] != sum;
      sum = TRY(emit(graph_, layer, multiply ? "multiply" : "add", {.kind = OperationKind::add}, {sum, parts[i]}, shape,
                     {.in_place = in_place, .saves_inputs = multiply}));
    }
    return sum;
  }

  Result<TensorId> concat(const Layer& layer, TensorId input, std::size_t known, int depth) {
    const std::vector<TensorId> parts = TRY(branches(layer, input, known, depth));
    Shape shape = graph_.shape(parts.front());
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const Shape& other = graph_.shape(parts[i]);
      if (other.kind != shape.kind || other.height != shape.height || other.width != shape.width)
        return layer.error(fmt::format("branches can only be joined along their channels, found {} and {}",
                                       to_string(shape), to_string(other)));
      shape.channels += other.channels;
    }
    return emit(graph_, layer, "concat", {.kind = OperationKind::concat}, parts, shape, {});
  }

  Result<TensorId> use(const Layer& layer, const Block& block, TensorId input, std::size_t known, int depth) {
    const auto index = static_cast<std::size_t>(&block - blocks_.data());
    if (index >= known)
      return layer.error(
          fmt::format("block {} is used before its end; blocks may only use those above them", quote(block.name)));
    const std::vector<std::string_view> keys(block.parameters.begin(), block.parameters.end());
    TRY_VOID(layer.only(keys, {}));
    Scope inner;
    inner.prefix = layer.scope->next_name(block.name) + ".";
    if (const auto sequence = layer.scope->values.find("sequence"); sequence != layer.scope->values.end())
      inner.values.insert(*sequence);
    for (const std::string& parameter : block.parameters) inner.values[parameter] = TRY(layer.count(parameter, 0));
    return run(block.place.at("layers"), *block.layers, inner, input, index, depth + 1);
  }

  Graph& graph_;
  std::vector<Block> blocks_;
  std::size_t steps_ = 0;
};

Result<std::vector<Block>> read_blocks(const YamlPlace& root, const YamlNode* blocks) {
  constexpr std::string_view kRequired[] = {"layers"};
  constexpr std::string_view kOptional[] = {"parameters"};
  std::vector<Block> out;
  if (!blocks) return out;
  TRY_VOID(as_mapping(root.at("blocks"), *blocks));
  for (const auto& [name, node] : blocks->members) {
    const YamlPlace place = root.at("blocks").at(name);
    TRY_VOID(require_keys(place, node, kRequired, kOptional));
    Block block{name, {}, node.find("layers"), place};
    if (const YamlNode* list = node.find("parameters")) {
      const YamlPlace at = place.at("parameters");
      const auto& items = *TRY(as_sequence(at, *list));
      for (const YamlNode& item : items) block.parameters.push_back(TRY(as_text(at, item)));
    }
    out.push_back(std::move(block));
  }
  return out;
}

Result<Shape> read_input(const YamlPlace& place, const YamlNode& node, const Scope& scope) {
  constexpr std::string_view kKeys[] = {"image", "tokens"};
  TRY_VOID(require_keys(place, node, {}, kKeys));
  if (node.members.size() != 1)
    return std::unexpected(yaml_error(place, node, "expected image: [channels, rows, columns] or tokens: N"));
  const YamlPlace at = place.at(node.members.front().first);
  const YamlNode& value = node.members.front().second;
  if (node.find("tokens")) {
    const auto tokens = TRY(evaluate(at, value, scope, 1));
    return Shape{Shape::Kind::ids, 1, tokens, 1};
  }
  const auto& sizes = *TRY(as_sequence(at, value));
  if (sizes.size() != 3) return std::unexpected(yaml_error(at, value, "expected [channels, rows, columns]"));
  const auto channels = TRY(evaluate(at.at(0), sizes[0], scope, 1));
  const auto rows = TRY(evaluate(at.at(1), sizes[1], scope, 1));
  const auto columns = TRY(evaluate(at.at(2), sizes[2], scope, 1));
  return Shape{Shape::Kind::image, channels, rows, columns};
}

}  // namespace

Result<Graph> build_graph(const YamlPlace& root, const YamlNode& input, const YamlNode* blocks, const YamlNode& layers,
                          int sequence) {
  std::vector<Block> known = TRY(read_blocks(root, blocks));
  const std::size_t count = known.size();
  Scope scope;
  if (sequence > 0) scope.values["sequence"] = sequence;
  const Shape shape = TRY(read_input(root.at("input"), input, scope));
  if (shape.elements() > kMaxElements)
    return std::unexpected(yaml_error(root.at("input"), input, "the input is too large"));
  Graph graph;
  const TensorId first = graph.source(shape);
  Builder builder(graph, std::move(known));
  TRY_VOID(builder.run(root.at("layers"), layers, scope, first, count));
  if (graph.size() == 0) return std::unexpected(yaml_error(root.at("layers"), layers, "expected at least one layer"));
  return graph;
}

}  // namespace partita::predict
