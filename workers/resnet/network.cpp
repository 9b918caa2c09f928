#include "resnet/network.h"

namespace partita::resnet {
namespace {

namespace nn = torch::nn;

nn::Conv2d convolution(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride) {
  return nn::Conv2d(nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

// The residual unit: relu(path(x) + shortcut(x)).
class BlockImpl final : public nn::Module {
 public:
  BlockImpl(std::int64_t in, std::int64_t width, std::int64_t stride, bool bottleneck) {
    const std::int64_t out = bottleneck ? 4 * width : width;
    if (bottleneck) {
      add(in, width, 1, 1);
      path_->push_back(nn::ReLU());
      add(width, width, 3, stride);
      path_->push_back(nn::ReLU());
      add(width, out, 1, 1);
    } else {
      add(in, width, 3, stride);
      path_->push_back(nn::ReLU());
      add(width, out, 3, 1);
    }
    register_module("path", path_);
    if (stride == 1 && in == out) return;
    shortcut_->push_back(convolution(in, out, 1, stride));
    shortcut_->push_back(nn::BatchNorm2d(out));
    register_module("shortcut", shortcut_);
  }

  torch::Tensor forward(const torch::Tensor& x) {
    const torch::Tensor beside = shortcut_->is_empty() ? x : shortcut_->forward(x);
    return torch::relu(path_->forward(x) + beside);
  }

 private:
  void add(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride) {
    path_->push_back(convolution(in, out, kernel, stride));
    path_->push_back(nn::BatchNorm2d(out));
  }

  nn::Sequential path_, shortcut_;
};
TORCH_MODULE(Block);

}  // namespace

Shape shape_of(Model model) {
  Shape shape;
  switch (model) {
    case Model::resnet18:
      shape.blocks = {2, 2, 2, 2};
      break;
    case Model::resnet50:
      shape.blocks = {3, 4, 6, 3};
      shape.bottleneck = true;
      break;
    case Model::tiny:
      shape.blocks = {1, 1};
      shape.width = 8;
      shape.picture = 32;
      shape.classes = 10;
      break;
  }
  return shape;
}

NetworkImpl::NetworkImpl(const Shape& shape)
    : stem_(convolution(3, shape.width, 7, 2), nn::BatchNorm2d(shape.width), nn::ReLU(),
            nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2).padding(1))),
      head_(nullptr) {
  std::int64_t channels = shape.width, width = shape.width;
  for (std::size_t stage = 0; stage < shape.blocks.size(); ++stage, width *= 2)
    for (int block = 0; block < shape.blocks[stage]; ++block) {
      stages_->push_back(Block(channels, width, stage > 0 && block == 0 ? 2 : 1, shape.bottleneck));
      channels = shape.bottleneck ? 4 * width : width;
    }
  head_ = nn::Linear(channels, shape.classes);
  register_module("stem", stem_);
  register_module("stages", stages_);
  register_module("head", head_);
}

torch::Tensor NetworkImpl::forward(const torch::Tensor& pictures) {
  const torch::Tensor features = stages_->forward(stem_->forward(pictures));
  return head_->forward(features.mean({2, 3}));
}

}  // namespace partita::resnet
