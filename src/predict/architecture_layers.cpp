// The layers that do not branch, each a function of its arguments and the tensor before it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "predict/architecture_builder.h"

namespace partita::predict {

namespace {

using Apply = Result<TensorId> (*)(Graph&, const Layer&, TensorId);

Result<Shape> expect(const Graph& graph, const Layer& layer, TensorId input, Shape::Kind kind, std::string_view what) {
  const Shape shape = graph.shape(input);
  if (shape.kind == kind) return shape;
  return layer.error(fmt::format("expected {}, found {}", what, to_string(shape)));
}
Result<Shape> expect_image(const Graph& graph, const Layer& layer, TensorId input) {
  return expect(graph, layer, input, Shape::Kind::image, "an image (channels x rows x columns) before it");
}
Result<Shape> expect_tokens(const Graph& graph, const Layer& layer, TensorId input) {
  return expect(graph, layer, input, Shape::Kind::tokens, "tokens before it (see flatten, to_tokens and embedding)");
}

struct Window {
  std::pair<double, double> kernel, stride, pad;
};

// Rows and columns that a window gives; `invalid` where it is larger than the padded image.
Result<Shape> slide(const Layer& layer, const Shape& shape, const Window& window, bool ceil) {
  const auto along = [&](double size, double kernel, double stride, double pad) {
    const double steps = (size + 2 * pad - kernel) / stride;
    return (ceil ? std::ceil(steps) : std::floor(steps)) + 1;
  };
  Shape out = shape;
  out.height = along(shape.height, window.kernel.first, window.stride.first, window.pad.first);
  out.width = along(shape.width, window.kernel.second, window.stride.second, window.pad.second);
  if (out.height < 1 || out.width < 1)
    return layer.error(fmt::format("a kernel of {} x {} does not fit {}", window.kernel.first, window.kernel.second,
                                   to_string(shape)));
  return out;
}

Result<TensorId> conv(Graph& graph, const Layer& layer, TensorId input) {
  constexpr std::string_view kRequired[] = {"out", "kernel"};
  constexpr std::string_view kOptional[] = {"stride", "pad", "groups", "bias"};
  TRY_VOID(layer.only(kRequired, kOptional));
  const Shape shape = TRY(expect_image(graph, layer, input));
  const Window window{TRY(layer.pair_or("kernel", 1)), TRY(layer.pair_or("stride", 1)),
                      TRY(layer.pair_or("pad", 0, 0))};
  const double out = TRY(layer.count("out"));
  const double groups = TRY(layer.count_or("groups", 1));
  if (std::fmod(shape.channels, groups) != 0 || std::fmod(out, groups) != 0)
    return layer.error(
        fmt::format("{} groups must divide the channels, found {} in and {} out", groups, shape.channels, out));
  Shape result = TRY(slide(layer, shape, window, false));
  result.channels = out;
  Operation operation;
  operation.kind = groups > 1 && groups == shape.channels ? OperationKind::depthwise : OperationKind::convolution;
  operation.m = result.positions();
  operation.n = out / groups;
  operation.k = shape.channels / groups * window.kernel.first * window.kernel.second;
  operation.groups = groups;
  const bool bias = TRY(layer.flag("bias", false));
  operation.weight_elements = operation.n * operation.k * groups + (bias ? out : 0);
  operation.parameter_elements = operation.weight_elements;
  operation.parameter_tensors = bias ? 2 : 1;
  return emit(graph, layer, "conv", std::move(operation), {input}, result, {.saves_inputs = true});
}

Result<TensorId> linear(Graph& graph, const Layer& layer, TensorId input) {
  constexpr std::string_view kRequired[] = {"out"};
  constexpr std::string_view kOptional[] = {"bias", "tied"};
  TRY_VOID(layer.only(kRequired, kOptional));
  Shape shape = TRY(expect_tokens(graph, layer, input));
  const double in = shape.channels;
  const bool bias = TRY(layer.flag("bias", true)), tied = TRY(layer.flag("tied", false));
  shape.channels = TRY(layer.count("out"));
  Operation operation{.kind = OperationKind::matmul, .m = shape.positions(), .n = shape.channels, .k = in};
  const double bias_elements = bias ? shape.channels : 0;
  operation.weight_elements = operation.n * operation.k + bias_elements;
  operation.parameter_elements = tied ? bias_elements : operation.weight_elements;
  operation.parameter_tensors = (tied ? 0 : 1) + (bias ? 1 : 0);
  return emit(graph, layer, "linear", std::move(operation), {input}, shape, {.saves_inputs = true});
}

// A layer that keeps the shape.
Result<TensorId> same_shape(Graph& graph, const Layer& layer, TensorId input, Operation operation, Handling handling) {
  return emit(graph, layer, layer.name, std::move(operation), {input}, graph.shape(input), handling);
}

Result<TensorId> batch_norm(Graph& graph, const Layer& layer, TensorId input) {
  TRY_VOID(layer.only({}, {}));
  const double channels = TRY(expect_image(graph, layer, input)).channels;
  return same_shape(graph, layer, input,
                    {.kind = OperationKind::batch_norm,
                     .weight_elements = 2 * channels,
                     .parameter_elements = 2 * channels,
                     .parameter_tensors = 2},
                    {.saves_inputs = true});
}

Result<TensorId> norm(Graph& graph, const Layer& layer, TensorId input) {
  TRY_VOID(layer.only({}, {}));
  const double width = TRY(expect_tokens(graph, layer, input)).channels;
  const double tensors = layer.name == "rms_norm" ? 1 : 2;
  return same_shape(graph, layer, input,
                    {.kind = OperationKind::layer_norm,
                     .weight_elements = tensors * width,
                     .parameter_elements = tensors * width,
                     .parameter_tensors = tensors},
                    {.saves_inputs = true});
}

// relu and relu6 work in place after images, as vision libraries write them, unless told otherwise.
Result<TensorId> relu(Graph& graph, const Layer& layer, TensorId input) {
  constexpr std::string_view kOptional[] = {"in_place"};
  TRY_VOID(layer.only({}, kOptional));
  const bool in_place = TRY(layer.flag("in_place", true));
  return same_shape(graph, layer, input, {.kind = OperationKind::activation},
                    {.in_place = in_place, .saves_output = true});
}

Result<TensorId> smooth_activation(Graph& graph, const Layer& layer, TensorId input) {
  TRY_VOID(layer.only({}, {}));
  const bool from_output = layer.name == "tanh" || layer.name == "sigmoid";  // their derivative needs only the result
  return same_shape(graph, layer, input, {.kind = OperationKind::activation},
                    {.saves_inputs = !from_output, .saves_output = from_output});
}

Result<TensorId> softmax(Graph& graph, const Layer& layer, TensorId input) {
  TRY_VOID(layer.only({}, {}));
  return same_shape(graph, layer, input, {.kind = OperationKind::softmax}, {.saves_output = true});
}

Result<TensorId> copy(Graph& graph, const Layer& layer, TensorId input) {
  TRY_VOID(layer.only({}, {}));
  return same_shape(graph, layer, input, {.kind = OperationKind::copy}, {});
}

Result<TensorId> dropout(Graph& graph, const Layer& layer, TensorId input) {
  TRY_VOID(layer.only({}, {}));
  const double mask_bytes = graph.shape(input).elements();
  return same_shape(graph, layer, input, {.kind = OperationKind::dropout},
                    {.none_in_inference = true, .saves_extra = mask_bytes / 4});
}

Result<TensorId> pool(Graph& graph, const Layer& layer, TensorId input) {
  constexpr std::string_view kRequired[] = {"kernel"};
  constexpr std::string_view kOptional[] = {"stride", "pad", "ceil"};
  TRY_VOID(layer.only(kRequired, kOptional));
  const Shape shape = TRY(expect_image(graph, layer, input));
  Window window{TRY(layer.pair_or("kernel", 1)), {}, TRY(layer.pair_or("pad", 0, 0))};
  window.stride = layer.find("stride") ? TRY(layer.pair_or("stride", 1)) : window.kernel;
  const bool ceil = TRY(layer.flag("ceil", false));
  const Shape out = TRY(slide(layer, shape, window, ceil));
  const double indices = layer.name == "max_pool" ? 2 * out.elements() : 0;  // 8 bytes each
  return emit(graph, layer, layer.name, {.kind = OperationKind::pool}, {input}, out,
              {.saves_inputs = true, .saves_extra = indices});
}

Result<TensorId> global_pool(Graph& graph, const Layer& layer, TensorId input) {
  TRY_VOID(layer.only({}, {}));
  Shape shape = TRY(expect_image(graph, layer, input));
  shape.height = shape.width = 1;
  return emit(graph, layer, layer.name, {.kind = OperationKind::pool}, {input}, shape, {.saves_inputs = true});
}

Result<TensorId> mean_tokens(Graph& graph, const Layer& layer, TensorId input) {
  TRY_VOID(layer.only({}, {}));
  Shape shape = TRY(expect_tokens(graph, layer, input));
  shape.height = 1;
  return emit(graph, layer, layer.name, {.kind = OperationKind::pool}, {input}, shape, {.saves_inputs = true});
}

// Views: no operation, the same storage.
Result<TensorId> flatten(Graph& graph, const Layer& layer, TensorId input) {
  TRY_VOID(layer.only({}, {}));
  const Shape shape = TRY(expect_image(graph, layer, input));
  return graph.view(input, {Shape::Kind::tokens, shape.elements(), 1, 1});
}

Result<TensorId> to_tokens(Graph& graph, const Layer& layer, TensorId input) {
  TRY_VOID(layer.only({}, {}));
  const Shape shape = TRY(expect_image(graph, layer, input));
  return graph.view(input, {Shape::Kind::tokens, shape.channels, shape.positions(), 1});
}

Result<TensorId> one_token(Graph& graph, const Layer& layer, TensorId input) {
  TRY_VOID(layer.only({}, {}));
  Shape shape = TRY(expect_tokens(graph, layer, input));
  shape.height = 1;
  return graph.view(input, shape);
}

// vocabularies: one table for each kind of id (words, positions, segments); their rows are added up.
Result<TensorId> embedding(Graph& graph, const Layer& layer, TensorId input) {
  constexpr std::string_view kRequired[] = {"dim", "tables"};
  TRY_VOID(layer.only(kRequired, {}));
  const Shape ids = TRY(expect(graph, layer, input, Shape::Kind::ids, "token ids before it"));
  const Shape shape{Shape::Kind::tokens, TRY(layer.count("dim")), ids.height, 1};
  const YamlPlace at = layer.place.at("tables");
  const auto& tables = *TRY(as_sequence(at, *layer.find("tables")));
  std::optional<TensorId> sum;
  for (const YamlNode& table : tables) {
    Operation operation{.kind = OperationKind::embedding, .input_elements = shape.elements(), .parameter_tensors = 1};
    operation.parameter_elements = TRY(evaluate(at, table, *layer.scope, 1)) * shape.channels;
    const TensorId rows = TRY(emit(graph, layer, "embedding", std::move(operation), {input}, shape, {}));
    sum = sum ? TRY(emit(graph, layer, "add", {.kind = OperationKind::add}, {*sum, rows}, shape, {})) : rows;
  }
  if (!sum) return layer.error("expected at least one table: its number of rows");
  return *sum;
}

Result<TensorId> class_token(Graph& graph, const Layer& layer, TensorId input) {
  TRY_VOID(layer.only({}, {}));
  Shape shape = TRY(expect_tokens(graph, layer, input));
  shape.height += 1;
  return emit(graph, layer, layer.name,
              {.kind = OperationKind::concat,
               .weight_elements = shape.channels,
               .parameter_elements = shape.channels,
               .parameter_tensors = 1},
              {input}, shape, {});
}

Result<TensorId> position_embedding(Graph& graph, const Layer& layer, TensorId input) {
  TRY_VOID(layer.only({}, {}));
  const double elements = TRY(expect_tokens(graph, layer, input)).elements();
  return same_shape(
      graph, layer, input,
      {.kind = OperationKind::add, .weight_elements = elements, .parameter_elements = elements, .parameter_tensors = 1},
      {});
}

struct Entry {
  std::string_view name;
  Apply apply;
};
constexpr Entry kLayers[] = {
    {"conv", conv},
    {"linear", linear},
    {"attention", apply_attention},
    {"bn", batch_norm},
    {"layer_norm", norm},
    {"rms_norm", norm},
    {"relu", relu},
    {"relu6", relu},
    {"gelu", smooth_activation},
    {"silu", smooth_activation},
    {"hard_swish", smooth_activation},
    {"tanh", smooth_activation},
    {"sigmoid", smooth_activation},
    {"softmax", softmax},
    {"dropout", dropout},
    {"copy", copy},
    {"max_pool", pool},
    {"avg_pool", pool},
    {"global_avg_pool", global_pool},
    {"mean_tokens", mean_tokens},
    {"first_token", one_token},
    {"last_token", one_token},
    {"flatten", flatten},
    {"to_tokens", to_tokens},
    {"embedding", embedding},
    {"class_token", class_token},
    {"position_embedding", position_embedding},
};

}  // namespace

Result<std::optional<TensorId>> apply_layer(Graph& graph, const Layer& layer, TensorId input) {
  const auto entry = std::ranges::find(kLayers, layer.name, &Entry::name);
  if (entry == std::end(kLayers)) return std::nullopt;
  return TRY(entry->apply(graph, layer, input));
}

std::span<const std::string_view> layer_names() {
  static constexpr auto kNames = [] {
    std::array<std::string_view, std::size(kLayers)> names;
    std::ranges::transform(kLayers, names.begin(), &Entry::name);
    return names;
  }();
  return kNames;
}

}  // namespace partita::predict
