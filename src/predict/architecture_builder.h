// What layers are made with: the graph so far, the tensor that they apply to, their arguments. Internal to predict/.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/yaml.h"
#include "predict/architecture_graph.h"

namespace partita::predict {

// Where layers stand: inside one use of a block, or at the top.
struct Scope {
  std::string prefix;                                 // "bottleneck3."
  std::map<std::string, double, std::less<>> values;  // "$width"
  std::map<std::string, int, std::less<>> used;       // layers of each name so far
  // "bottleneck3.conv2"
  std::string next_name(std::string_view layer);
};

// One layer as written: {conv: {out: 64}}, with its arguments' values.
struct Layer {
  std::string name;  // "conv"
  YamlPlace place;
  const YamlNode* node = nullptr;  // the arguments: a mapping, one value or null
  Scope* scope = nullptr;

  std::unexpected<Error> error(std::string_view message) const {
    return std::unexpected(yaml_error(place, *node, message));
  }
  // All of `required` and none but those and `optional`; a layer without arguments is an empty mapping.
  Result<void> only(std::span<const std::string_view> required, std::span<const std::string_view> optional) const;
  // A whole number of 1 or more: 64, $width, 4*$width.
  Result<double> count(std::string_view key, double min = 1) const;
  Result<double> count_or(std::string_view key, double otherwise, double min = 1) const;
  // One number for both, or [rows, columns].
  Result<std::pair<double, double>> pair_or(std::string_view key, double otherwise, double min = 1) const;
  Result<bool> flag(std::string_view key, bool otherwise) const;
  const YamlNode* find(std::string_view key) const;
};

// Value of an integer term in a scope.
Result<double> evaluate(const YamlPlace& place, const YamlNode& node, const Scope& scope, double min);

// Applies a layer that does not branch. `unknown` (nullopt): no such layer.
Result<std::optional<TensorId>> apply_layer(Graph& graph, const Layer& layer, TensorId input);
// Names of those layers.
std::span<const std::string_view> layer_names();

// Adds the operation under the layer's next name after checking the limits.
Result<TensorId> emit(Graph& graph, const Layer& layer, std::string_view name, Operation operation,
                      const std::vector<TensorId>& inputs, const Shape& output, Handling handling);

// architecture_attention.cpp
Result<TensorId> apply_attention(Graph& graph, const Layer& layer, TensorId input);

}  // namespace partita::predict
