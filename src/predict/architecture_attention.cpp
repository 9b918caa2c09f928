// Multi-head attention as an eager framework runs it: projections, layout copies, scores, scale, masks, softmax, mix.
#include <fmt/format.h>

#include <cmath>

#include "predict/architecture_builder.h"

namespace partita::predict {

namespace {

struct Arguments {
  double heads = 0, kv_heads = 0, head_dim = 0;
  double context = 0;             // keys that each query looks at; beyond the layer's own tokens they come from a cache
  bool fused_projection = false;  // one linear layer for query, key and value
  bool bias = true;
  bool mask = false, position_bias = false, dropout = true, rotary = false, cache = false;
  bool fused = false;  // one kernel for scores, softmax and mix; scores are never written
};

Result<Arguments> read(const Layer& layer, const Shape& shape) {
  constexpr std::string_view kRequired[] = {"heads"};
  constexpr std::string_view kOptional[] = {"kv_heads", "head_dim", "context",       "fused_projection",
                                            "bias",     "mask",     "position_bias", "dropout",
                                            "rotary",   "cache",    "fused"};
  TRY_VOID(layer.only(kRequired, kOptional));
  Arguments out;
  out.heads = TRY(layer.count("heads"));
  out.kv_heads = TRY(layer.count_or("kv_heads", out.heads));
  if (!layer.find("head_dim") && std::fmod(shape.channels, out.heads) != 0)
    return layer.error(fmt::format("{} heads must divide the width of a token, {}", out.heads, shape.channels));
  if (std::fmod(out.heads, out.kv_heads) != 0)
    return layer.error(fmt::format("{} kv_heads must divide the {} heads", out.kv_heads, out.heads));
  out.head_dim = TRY(layer.count_or("head_dim", shape.channels / out.heads));
  out.context = TRY(layer.count_or("context", shape.height));
  if (out.context < shape.height)
    return layer.error(fmt::format("a context of {} is shorter than the {} tokens in it", out.context, shape.height));
  out.fused_projection = TRY(layer.flag("fused_projection", false));
  out.bias = TRY(layer.flag("bias", true));
  out.mask = TRY(layer.flag("mask", false));
  out.position_bias = TRY(layer.flag("position_bias", false));
  out.dropout = TRY(layer.flag("dropout", true));
  out.rotary = TRY(layer.flag("rotary", false));
  out.cache = TRY(layer.flag("cache", false));
  out.fused = TRY(layer.flag("fused", false));
  return out;
}

// The steps share the graph, the layer and the arguments.
class Attention {
 public:
  Attention(Graph& graph, const Layer& layer, const Arguments& arguments, const Shape& shape)
      : graph_(graph),
        layer_(layer),
        a_(arguments),
        shape_(shape),
        scores_{Shape::Kind::tokens, a_.heads * a_.context, shape.height, 1} {}

  Result<TensorId> run(TensorId input) {
    TRY_VOID(project(input));
    if (a_.rotary) query_ = TRY(rotate());
    if (a_.cache || a_.context > shape_.height) TRY_VOID(use_cache());
    const TensorId mixed = a_.fused ? TRY(fused_mix()) : TRY(mix());
    return linear("output", mixed, shape_.channels);
  }

 private:
  Shape wide(double width) const { return {Shape::Kind::tokens, width, shape_.height, 1}; }

  Result<TensorId> put(std::string_view name, Operation operation, const std::vector<TensorId>& inputs,
                       const Shape& output, Handling handling = {}) {
    return emit(graph_, layer_, name, std::move(operation), inputs, output, handling);
  }

  Result<TensorId> linear(std::string_view name, TensorId input, double out) {
    const double in = graph_.shape(input).channels;
    Operation operation{.kind = OperationKind::matmul, .m = shape_.height, .n = out, .k = in};
    operation.weight_elements = operation.parameter_elements = in * out + (a_.bias ? out : 0);
    operation.parameter_tensors = a_.bias ? 2 : 1;
    return put(name, std::move(operation), {input}, wide(out), {.saves_inputs = true});
  }

  // query_, key_ and value_, laid out by heads.
  Result<void> project(TensorId input) {
    const double q = a_.heads * a_.head_dim, kv = a_.kv_heads * a_.head_dim;
    if (a_.fused_projection) {
      const TensorId all = TRY(linear("query_key_value", input, q + 2 * kv));
      query_ = graph_.view(all, wide(q));
      key_ = graph_.view(all, wide(kv));
      value_ = graph_.view(all, wide(kv));
    } else {
      query_ = TRY(linear("query", input, q));
      key_ = TRY(linear("key", input, kv));
      value_ = TRY(linear("value", input, kv));
    }
    if (a_.fused) return {};
    for (TensorId* part : {&query_, &key_, &value_})
      *part = TRY(put("layout", {.kind = OperationKind::copy}, {*part}, graph_.shape(*part)));
    return {};
  }

  Result<TensorId> rotate() {
    Operation operation{.kind = OperationKind::activation};
    operation.input_elements = operation.output_elements =
        graph_.shape(query_).elements() + graph_.shape(key_).elements();
    return put("rotary", std::move(operation), {query_, key_}, graph_.shape(query_));
  }

  // Keys and values of this step are written behind those of earlier ones, which stay in memory.
  Result<void> use_cache() {
    const double kv = a_.kv_heads * a_.head_dim;
    for (TensorId* part : {&key_, &value_}) {
      const TensorId cache = graph_.source({Shape::Kind::tokens, kv, a_.context, 1});
      Operation operation{.kind = OperationKind::copy, .cached = true};
      operation.input_elements = operation.output_elements = kv * shape_.height;
      *part = TRY(put("cache", std::move(operation), {cache, *part}, graph_.shape(cache), {.in_place = true}));
    }
    return {};
  }

  Operation product(double n, double k) const {
    return {.kind = OperationKind::batched_matmul, .m = shape_.height, .n = n, .k = k, .groups = a_.heads};
  }

  Result<TensorId> elementwise(std::string_view name, OperationKind kind, TensorId input, Handling handling = {}) {
    return put(name, {.kind = kind}, {input}, graph_.shape(input), handling);
  }

  Result<TensorId> mix() {
    TensorId scores =
        TRY(put("scores", product(a_.context, a_.head_dim), {query_, key_}, scores_, {.saves_inputs = true}));
    scores = TRY(elementwise("scale", OperationKind::activation, scores));
    if (a_.position_bias) scores = TRY(elementwise("position_bias", OperationKind::add, scores));
    if (a_.mask) scores = TRY(elementwise("mask", OperationKind::add, scores));
    scores = TRY(elementwise("softmax", OperationKind::softmax, scores, {.saves_output = true}));
    if (a_.dropout)
      scores = TRY(elementwise("dropout", OperationKind::dropout, scores,
                               {.none_in_inference = true, .saves_extra = scores_.elements() / 4}));
    const Shape out = wide(a_.heads * a_.head_dim);
    const TensorId mixed =
        TRY(put("mix", product(a_.head_dim, a_.context), {scores, value_}, out, {.saves_inputs = true}));
    return elementwise("layout", OperationKind::copy, mixed);
  }

  // One kernel: both products, reading query, key and value once.
  Result<TensorId> fused_mix() {
    Operation operation = product(2 * a_.context, a_.head_dim);
    return put("attention", std::move(operation), {query_, key_, value_}, wide(a_.heads * a_.head_dim),
               {.saves_inputs = true, .saves_output = true});
  }

  Graph& graph_;
  const Layer& layer_;
  const Arguments& a_;
  Shape shape_, scores_;
  TensorId query_ = 0, key_ = 0, value_ = 0;
};

}  // namespace

Result<TensorId> apply_attention(Graph& graph, const Layer& layer, TensorId input) {
  const Shape shape = graph.shape(input);
  if (shape.kind != Shape::Kind::tokens)
    return layer.error(fmt::format("expected tokens before it, found {}", to_string(shape)));
  const Arguments arguments = TRY(read(layer, shape));
  return Attention(graph, layer, arguments, shape).run(input);
}

}  // namespace partita::predict
