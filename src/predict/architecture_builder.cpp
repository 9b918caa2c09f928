#include "predict/architecture_builder.h"

#include <fmt/format.h>

#include <charconv>

#include "base/text.h"
#include "predict/architecture.h"

namespace partita::predict {

namespace {

constexpr double kMaxCount = 1e9;

bool read_whole(std::string_view text, double& value) {
  std::int64_t whole = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
  value = static_cast<double>(whole);
  return error == std::errc{} && stop == text.data() + text.size();
}

// One factor: a whole number or $name.
bool read_factor(std::string_view text, const Scope& scope, double& value) {
  if (!text.starts_with('$')) return read_whole(text, value);
  const auto found = scope.values.find(text.substr(1));
  if (found == scope.values.end()) return false;
  value = found->second;
  return true;
}

}  // namespace

std::string Scope::next_name(std::string_view layer) {
  const int number = ++used[std::string(layer)];
  return fmt::format("{}{}{}", prefix, layer, number);
}

Result<double> evaluate(const YamlPlace& place, const YamlNode& node, const Scope& scope, double min) {
  const auto wrong = [&] {
    return std::unexpected(yaml_error(
        place, node,
        fmt::format("expected a whole number from {} to {}, $parameter, or their product as in 4*$width, found {}", min,
                    kMaxCount, node.kind == YamlNode::Kind::scalar ? quote(node.text) : "none")));
  };
  if (node.kind != YamlNode::Kind::scalar) return wrong();
  double value = 1;
  for (const std::string& part : split(node.text, '*')) {
    double factor = 0;
    if (!read_factor(trim(part), scope, factor) || factor < 0) return wrong();
    value *= factor;
  }
  if (value < min || value > kMaxCount) return wrong();
  return value;
}

const YamlNode* Layer::find(std::string_view key) const {
  return node->kind == YamlNode::Kind::mapping ? node->find(key) : nullptr;
}

Result<void> Layer::only(std::span<const std::string_view> required, std::span<const std::string_view> optional) const {
  if (node->kind == YamlNode::Kind::null && required.empty()) return {};
  if (node->kind == YamlNode::Kind::null) return error(fmt::format("key {} is missing", quote(required.front())));
  return require_keys(place, *node, required, optional);
}

Result<double> Layer::count(std::string_view key, double min) const {
  const YamlNode* value = find(key);
  if (!value) return error(fmt::format("key {} is missing", quote(key)));
  return evaluate(place.at(key), *value, *scope, min);
}

Result<double> Layer::count_or(std::string_view key, double otherwise, double min) const {
  return find(key) ? count(key, min) : otherwise;
}

Result<std::pair<double, double>> Layer::pair_or(std::string_view key, double otherwise, double min) const {
  const YamlNode* value = find(key);
  if (!value) return std::pair(otherwise, otherwise);
  const YamlPlace at = place.at(key);
  if (value->kind == YamlNode::Kind::sequence && value->items.size() == 2)
    return std::pair(TRY(evaluate(at.at(0), value->items[0], *scope, min)),
                     TRY(evaluate(at.at(1), value->items[1], *scope, min)));
  const double both = TRY(evaluate(at, *value, *scope, min));
  return std::pair(both, both);
}

Result<bool> Layer::flag(std::string_view key, bool otherwise) const {
  const YamlNode* value = find(key);
  return value ? as_bool(place.at(key), *value) : Result<bool>(otherwise);
}

Result<TensorId> emit(Graph& graph, const Layer& layer, std::string_view name, Operation operation,
                      const std::vector<TensorId>& inputs, const Shape& output, Handling handling) {
  if (graph.size() >= kMaxOperations)
    return layer.error(fmt::format("the network has more than {} operations", kMaxOperations));
  if (output.elements() > kMaxElements || operation.macs() > 1e5 * kMaxElements ||
      operation.parameter_elements > kMaxElements)
    return layer.error(fmt::format("the layer is too large: output {}", to_string(output)));
  operation.name = layer.scope->next_name(name);
  return graph.add(std::move(operation), inputs, output, handling);
}

}  // namespace partita::predict
