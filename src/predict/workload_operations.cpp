// `operations:`, the list that partita-onnx writes, one operation a line.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "predict/architecture.h"
#include "predict/workload_file.h"

namespace partita::predict {

namespace {

constexpr std::pair<OperationKind, std::string_view> kKinds[] = {
    {OperationKind::convolution, "convolution"},
    {OperationKind::depthwise, "depthwise"},
    {OperationKind::matmul, "matmul"},
    {OperationKind::batched_matmul, "batched_matmul"},
    {OperationKind::batch_norm, "batch_norm"},
    {OperationKind::layer_norm, "layer_norm"},
    {OperationKind::activation, "activation"},
    {OperationKind::softmax, "softmax"},
    {OperationKind::add, "add"},
    {OperationKind::pool, "pool"},
    {OperationKind::concat, "concat"},
    {OperationKind::embedding, "embedding"},
    {OperationKind::copy, "copy"},
    {OperationKind::dropout, "dropout"},
};

constexpr std::string_view kRequired[] = {"kind", "input", "output"};
constexpr std::string_view kOptional[] = {"name",    "m",          "n",       "k",     "groups",
                                          "weights", "parameters", "tensors", "fused", "saved"};

Result<OperationKind> read_kind(const YamlPlace& place, const YamlNode& node) {
  const std::string text = TRY(as_text(place, node));
  for (const auto& [kind, word] : kKinds)
    if (word == text) return kind;
  std::vector<std::string> words;
  for (const auto& [kind, word] : kKinds) words.emplace_back(word);
  return std::unexpected(
      yaml_error(place, node, fmt::format("expected one of {}, found {}", join(words, ", "), quote(text))));
}

bool is_product(OperationKind kind) {
  using enum OperationKind;
  return kind == convolution || kind == depthwise || kind == matmul || kind == batched_matmul;
}

class Row {
 public:
  Row(YamlPlace place, const YamlNode& node) : place_(std::move(place)), node_(node) {}

  Result<Operation> read() const {
    TRY_VOID(require_keys(place_, node_, kRequired, kOptional));
    Operation out;
    out.kind = TRY(read_kind(place_.at("kind"), *node_.find("kind")));
    if (const YamlNode* name = node_.find("name")) out.name = TRY(as_text(place_.at("name"), *name));
    const double none = is_product(out.kind) ? -1 : 0;  // products need all three sizes
    out.m = TRY(number("m", none));
    out.n = TRY(number("n", none));
    out.k = TRY(number("k", none));
    out.groups = TRY(number("groups", 1));
    out.input_elements = TRY(number("input", 0));
    out.output_elements = TRY(number("output", 0));
    out.weight_elements = TRY(number("weights", 0));
    out.parameter_elements = TRY(number("parameters", out.weight_elements));
    out.parameter_tensors = TRY(number("tensors", out.parameter_elements > 0 ? 1 : 0));
    out.fused_in_graph = TRY(flag("fused", false));
    out.saved_for_backward = TRY(flag("saved", true));
    if (out.macs() > 1e5 * kMaxElements)
      return std::unexpected(yaml_error(place_, node_, "the operation is too large"));
    return out;
  }

 private:
  // 0 or more; a negative default says that the key must be there.
  Result<double> number(std::string_view key, double otherwise) const {
    const YamlNode* node = node_.find(key);
    if (!node && otherwise < 0)
      return std::unexpected(yaml_error(place_, node_, fmt::format("key {} is missing", quote(key))));
    if (!node) return otherwise;
    const double value = TRY(as_number(place_.at(key), *node));
    if (value < 0 || value > kMaxElements)
      return std::unexpected(yaml_error(place_.at(key), *node,
                                        fmt::format("expected 0 to {:g}, found {}", kMaxElements, quote(node->text))));
    return value;
  }
  Result<bool> flag(std::string_view key, bool otherwise) const {
    const YamlNode* node = node_.find(key);
    return node ? as_bool(place_.at(key), *node) : Result<bool>(otherwise);
  }

  YamlPlace place_;
  const YamlNode& node_;
};

Result<double> elements(const YamlPlace& root, const YamlNode& node, std::string_view key, double otherwise) {
  const YamlNode* value = node.find(key);
  if (!value) return otherwise;
  const double out = TRY(as_number(root.at(key), *value));
  if (out >= 0 && out <= 1e5 * kMaxElements) return out;
  return std::unexpected(yaml_error(root.at(key), *value, fmt::format("expected 0 or more, found {}", value->text)));
}

}  // namespace

std::string_view name(OperationKind kind) {
  return std::ranges::find(kKinds, kind, &std::pair<OperationKind, std::string_view>::first)->second;
}

Result<void> read_operations(const YamlPlace& root, const YamlNode& node, Workload& workload) {
  constexpr std::string_view kInput[] = {"elements"};
  const YamlPlace place = root.at("operations");
  const YamlNode& list = *node.find("operations");
  const auto& items = *TRY(as_sequence(place, list));
  if (items.empty()) return std::unexpected(yaml_error(place, list, "expected at least one operation"));
  if (items.size() > kMaxOperations)
    return std::unexpected(yaml_error(place, list, fmt::format("more than {} operations", kMaxOperations)));
  double saved = 0, largest = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    Operation operation = TRY(Row(place.at(i), items[i]).read());
    if (operation.saved_for_backward) saved += operation.output_elements;
    largest = std::max(largest, operation.input_elements + operation.output_elements);
    workload.operations.push_back(std::move(operation));
  }
  const YamlNode& input = *node.find("input");
  TRY_VOID(require_keys(root.at("input"), input, kInput, {}));
  workload.input_bytes_per_sample = 4 * TRY(elements(root.at("input"), input, "elements", 0));
  workload.peak_live_elements = TRY(elements(root, node, "peak_live_elements", largest));
  workload.saved_elements = TRY(elements(root, node, "saved_elements", saved));
  return {};
}

}  // namespace partita::predict
