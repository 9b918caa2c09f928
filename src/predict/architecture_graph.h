// The dataflow of a network while it is put together: tensors, the storages that they live in, and the operations
// between them. Gives the operation list and what must be held in memory. Internal to predict/.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "predict/operation.h"

namespace partita::predict {

// What one sample of a tensor holds.
struct Shape {
  enum class Kind { image, tokens, ids };
  Kind kind = Kind::image;
  double channels = 0;           // image: channels; tokens: width of a token; ids: 1
  double height = 0, width = 1;  // image: rows and columns; tokens and ids: how many
  double positions() const { return height * width; }
  double elements() const { return channels * height * width; }
};
// "64 x 56 x 56", "128 tokens of 768", "128 token ids".
std::string to_string(const Shape& shape);

using TensorId = int;

// How an operation treats its operands.
struct Handling {
  bool in_place = false;           // writes over its first input
  bool saves_inputs = false;       // keeps its inputs for the backward pass
  bool saves_output = false;       // keeps its output
  bool none_in_inference = false;  // not run at all outside training (dropout)
  double saves_extra = 0;          // further elements kept per sample (masks)
};

class Graph {
 public:
  // A tensor that nothing produces: the input, or state such as a cache of keys (kept to the end).
  TensorId source(const Shape& shape);
  // The same storage seen with another shape.
  TensorId view(TensorId tensor, const Shape& shape);
  // Adds an operation; its input and output elements are filled in from the tensors where they are 0.
  TensorId add(Operation operation, std::initializer_list<TensorId> inputs, const Shape& output, Handling handling);
  TensorId add(Operation operation, const std::vector<TensorId>& inputs, const Shape& output, Handling handling);
  // Kept until the step ends, as a cache is.
  void keep(TensorId tensor);

  const Shape& shape(TensorId tensor) const { return tensors_[static_cast<std::size_t>(tensor)].shape; }
  std::size_t size() const { return operations_.size(); }

  // Marks what graph execution folds and what is saved, and hands the list over.
  std::vector<Operation> operations() const;
  double peak_live_elements() const;  // forward, without dropout
  double saved_elements() const;

 private:
  struct Tensor {
    Shape shape;
    int storage = 0;
  };
  struct Storage {
    double elements = 0;
    int producer = -1;      // the operation that wrote it last
    int same_in_inference;  // the storage that it is without dropout; itself otherwise
    bool given = false;     // it was there before the first operation
    bool kept = false;
  };
  struct Step {
    std::vector<int> inputs;     // storages
    std::vector<int> producers;  // of the inputs; -1: none
    int output = 0;
    Handling handling;
  };
  int new_storage(double elements);
  std::vector<bool> saved_storages() const;
  bool folds(std::size_t operation) const;

  std::vector<Tensor> tensors_;
  std::vector<Storage> storages_;
  std::vector<Operation> operations_;
  std::vector<Step> steps_;
};

}  // namespace partita::predict
