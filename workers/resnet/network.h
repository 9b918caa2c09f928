// The networks that the worker runs: ResNet-18 and ResNet-50 v1.5 (He et al., arXiv:1512.03385; the stride of a
// bottleneck lies in its 3x3 convolution, as in torchvision and NVIDIA's examples), and a tiny one for tests.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "resnet/job.h"

namespace partita::resnet {

struct Shape {
  std::vector<int> blocks;     // per stage; each stage after the first halves the picture
  std::int64_t width = 64;     // channels of the first stage; each later one doubles them
  bool bottleneck = false;     // 1x1, 3x3, 1x1 with four times the channels, instead of two 3x3
  std::int64_t picture = 224;  // height and width of the input, three channels
  std::int64_t classes = 1000;
};
Shape shape_of(Model model);

class NetworkImpl final : public torch::nn::Module {
 public:
  explicit NetworkImpl(const Shape& shape);
  // {batch, 3, picture, picture} to {batch, classes}, before any softmax.
  torch::Tensor forward(const torch::Tensor& pictures);

 private:
  torch::nn::Sequential stem_, stages_;
  torch::nn::Linear head_;
};
TORCH_MODULE(Network);

}  // namespace partita::resnet
