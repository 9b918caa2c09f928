#include "predict/architecture_graph.h"

#include <fmt/format.h>

#include <algorithm>

namespace partita::predict {

std::string to_string(const Shape& shape) {
  switch (shape.kind) {
    case Shape::Kind::image:
      return fmt::format("{} x {} x {}", shape.channels, shape.height, shape.width);
    case Shape::Kind::tokens:
      return fmt::format("{} tokens of {}", shape.height, shape.channels);
    case Shape::Kind::ids:
      return fmt::format("{} token ids", shape.height);
  }
  return {};
}

int Graph::new_storage(double elements) {
  const int id = static_cast<int>(storages_.size());
  storages_.push_back({.elements = elements, .same_in_inference = id});
  return id;
}

TensorId Graph::source(const Shape& shape) {
  tensors_.push_back({shape, new_storage(shape.elements())});
  storages_.back().given = storages_.back().kept = true;  // the caller holds it
  return static_cast<TensorId>(tensors_.size() - 1);
}

TensorId Graph::view(TensorId tensor, const Shape& shape) {
  tensors_.push_back({shape, tensors_[static_cast<std::size_t>(tensor)].storage});
  return static_cast<TensorId>(tensors_.size() - 1);
}

TensorId Graph::add(Operation operation, std::initializer_list<TensorId> inputs, const Shape& output,
                    Handling handling) {
  return add(std::move(operation), std::vector<TensorId>(inputs), output, handling);
}

TensorId Graph::add(Operation operation, const std::vector<TensorId>& inputs, const Shape& output, Handling handling) {
  const bool measure = operation.input_elements == 0;
  Step step;
  step.handling = handling;
  for (const TensorId id : inputs) {
    const Tensor& tensor = tensors_[static_cast<std::size_t>(id)];
    if (measure) operation.input_elements += tensor.shape.elements();
    step.inputs.push_back(tensor.storage);
    step.producers.push_back(storages_[static_cast<std::size_t>(tensor.storage)].producer);
  }
  if (operation.output_elements == 0) operation.output_elements = output.elements();
  step.output = handling.in_place ? step.inputs.front() : new_storage(output.elements());
  auto& written = storages_[static_cast<std::size_t>(step.output)];
  written.producer = static_cast<int>(operations_.size());
  if (handling.none_in_inference && !handling.in_place) written.same_in_inference = step.inputs.front();
  tensors_.push_back({output, step.output});
  operations_.push_back(std::move(operation));
  steps_.push_back(std::move(step));
  return static_cast<TensorId>(tensors_.size() - 1);
}

void Graph::keep(TensorId tensor) {
  storages_[static_cast<std::size_t>(tensors_[static_cast<std::size_t>(tensor)].storage)].kept = true;
}

std::vector<bool> Graph::saved_storages() const {
  std::vector<bool> saved(storages_.size());
  for (const Step& step : steps_) {
    if (step.handling.saves_inputs)
      for (const int input : step.inputs) saved[static_cast<std::size_t>(input)] = true;
    if (step.handling.saves_output) saved[static_cast<std::size_t>(step.output)] = true;
  }
  return saved;
}

double Graph::saved_elements() const {
  const std::vector<bool> saved = saved_storages();
  double sum = 0;
  for (std::size_t i = 0; i < saved.size(); ++i)
    if (saved[i]) sum += storages_[i].elements;
  for (const Step& step : steps_) sum += step.handling.saves_extra;
  return sum;
}

double Graph::peak_live_elements() const {
  const auto storage = [&](int id) {
    while (storages_[static_cast<std::size_t>(id)].same_in_inference != id)
      id = storages_[static_cast<std::size_t>(id)].same_in_inference;
    return static_cast<std::size_t>(id);
  };
  const std::size_t end = steps_.size();
  std::vector<std::size_t> first(storages_.size(), end), last(storages_.size(), 0);
  double live = 0, peak = 0;
  for (std::size_t i = 0; i < storages_.size(); ++i) {
    if (storages_[i].kept) last[storage(static_cast<int>(i))] = end;
    if (storages_[i].given) {
      first[i] = 0;
      live += storages_[i].elements;
    }
  }
  for (std::size_t i = 0; i < end; ++i) {
    const std::size_t output = storage(steps_[i].output);
    first[output] = std::min(first[output], i);
    last[output] = std::max(last[output], i);
    for (const int input : steps_[i].inputs) last[storage(input)] = std::max(last[storage(input)], i);
  }
  std::vector<double> change(end + 2);
  for (std::size_t i = 0; i < storages_.size(); ++i) {
    if (storage(static_cast<int>(i)) != i || first[i] == end) continue;
    if (!storages_[i].given) change[first[i]] += storages_[i].elements;
    if (last[i] < end) change[last[i] + 1] -= storages_[i].elements;
  }
  peak = live;
  for (std::size_t i = 0; i < end; ++i) {
    live += change[i];
    peak = std::max(peak, live);
  }
  return peak;
}

// Graph execution (TensorRT, compiled CUDA graphs) works these out while the producing operation still holds the data.
bool Graph::folds(std::size_t operation) const {
  const auto producer_is = [&](int producer, std::initializer_list<OperationKind> kinds) {
    return producer >= 0 &&
           std::ranges::find(kinds, operations_[static_cast<std::size_t>(producer)].kind) != kinds.end();
  };
  using enum OperationKind;
  const Step& step = steps_[operation];
  const auto any = [&](std::initializer_list<OperationKind> kinds) {
    return std::ranges::any_of(step.producers, [&](int producer) { return producer_is(producer, kinds); });
  };
  switch (operations_[operation].kind) {
    case dropout:
      return true;
    case copy:  // layouts are chosen so that none is needed
      return any({matmul, batched_matmul});
    case batch_norm:
      return any({convolution, depthwise});
    case activation:
      return any({convolution, depthwise, matmul, batched_matmul, batch_norm, add, activation});
    case add:
      return any({convolution, depthwise, matmul, batched_matmul, batch_norm, activation, dropout});
    default:
      return false;
  }
}

std::vector<Operation> Graph::operations() const {
  std::vector<Operation> out = operations_;
  const std::vector<bool> saved = saved_storages();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto output = static_cast<std::size_t>(steps_[i].output);
    out[i].fused_in_graph = folds(i);
    out[i].saved_for_backward = saved[output] && storages_[output].producer == static_cast<int>(i);
  }
  return out;
}

}  // namespace partita::predict
