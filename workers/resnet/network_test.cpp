// The networks have the published sizes, and learn.
#include "resnet/network.h"

#include <gtest/gtest.h>

#include <vector>

namespace partita::resnet {
namespace {

std::int64_t parameters(Model model) {
  std::int64_t sum = 0;
  const Network network(shape_of(model));
  for (const auto& tensor : network->parameters()) sum += tensor.numel();
  return sum;
}

// torchvision 0.14: resnet18, resnet50.
TEST(Network, HasThePublishedParameters) {
  EXPECT_EQ(parameters(Model::resnet18), 11'689'512);
  EXPECT_EQ(parameters(Model::resnet50), 25'557'032);
}

TEST(Network, TurnsPicturesIntoClasses) {
  torch::set_num_threads(2);
  const torch::InferenceMode no_gradients;
  for (const Model model : {Model::resnet18, Model::tiny}) {
    const Shape shape = shape_of(model);
    Network network(shape);
    network->eval();
    const auto out = network->forward(torch::randn({2, 3, shape.picture, shape.picture}));
    EXPECT_EQ(out.sizes(), (std::vector<std::int64_t>{2, shape.classes}));
    EXPECT_TRUE(torch::isfinite(out).all().item<bool>());
  }
}

TEST(Network, LearnsItsBatch) {
  torch::manual_seed(7);
  Network network(shape_of(Model::tiny));
  torch::optim::SGD optimizer(network->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  const auto pictures = torch::randn({16, 3, 32, 32});
  const auto labels = torch::randint(10, {16}, torch::kLong);
  float first = 0, last = 0;
  for (int step = 0; step < 40; ++step) {
    optimizer.zero_grad();
    auto loss = torch::nn::functional::cross_entropy(network->forward(pictures), labels);
    loss.backward();
    optimizer.step();
    (step == 0 ? first : last) = loss.item<float>();
  }
  EXPECT_GT(first, 1.5F);
  EXPECT_LT(last, 0.2F);
}

}  // namespace
}  // namespace partita::resnet
