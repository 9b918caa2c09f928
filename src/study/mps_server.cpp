// All batches run at once; each tenant asks for a share of the GPU and is slowed by what the others ask for.
//
// Tenant i runs k_i batches that alone take a share d_i each, and has the limit w_i (weight):
//     E_i = min(k_i d_i, w_i)                      the share it asks for
//     D   = sum of E_i over busy tenants
//     S_i = (k_i d_i / E_i) * (1 - E_i^p + D^p)^(1/p) * (1 + contention * other busy tenants)
// is the factor by which its batches are slowed; p is the server's saturation. Alone and below its limit S_i = 1. For p
// infinite the middle factor is max(1, D): nothing is lost until the GPU is full. A finite p says that demands vary
// within a batch, so that some moments are full although the mean is not. For every p sum(k_i d_i / S_i) <= 1: no more
// than one GPU is given away, and with d_i = 1 it is exact processor sharing.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "study/random.h"
#include "study/server_model.h"

namespace partita::study {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

class MpsServer final : public ServerModel {
 public:
  MpsServer(const std::vector<Resident>& residents, double contention, double saturation)
      : ServerModel(residents.size()), contention_(contention), saturation_(saturation), tenants_(residents.size()) {
    for (std::size_t i = 0; i < residents.size(); ++i) {
      tenants_[i].limit = residents[i].weight;
      tenants_[i].demand = residents[i].demand;
    }
  }

  void start(int tenant, int batch, double work, double now) override {
    advance(now);
    auto& t = tenants_[static_cast<std::size_t>(tenant)];
    if (t.running.empty()) t.attained = 0;
    t.running.emplace_back(t.attained + work, batch);
    std::push_heap(t.running.begin(), t.running.end(), std::greater<>());
    ++batches_;
    changed_ = true;
  }

  void settle(double now) override {
    if (!changed_) return;
    changed_ = false;
    since_ = now;
    share_out();
    next_ = kNever;
    for (std::size_t i = 0; i < tenants_.size(); ++i) {
      const auto& t = tenants_[i];
      if (t.running.empty()) continue;
      const double end = now + std::max(0.0, t.running.front().first - t.attained) / t.rate;
      if (end < next_) next_ = end, first_ = i;
    }
  }

  double next() const override { return next_; }

  std::optional<int> handle(double now) override {
    advance(now);
    auto& running = tenants_[first_].running;
    const int batch = running.front().second;
    std::pop_heap(running.begin(), running.end(), std::greater<>());
    running.pop_back();
    --batches_;
    changed_ = true;
    return batch;
  }

  void set_speed(double speed, double now) override {
    advance(now);
    speed_ = speed;
    changed_ = true;
    settle(now);
  }

  void advance(double now) override {
    const double elapsed = now - since_;
    if (elapsed == 0) return;
    since_ = now;
    if (!busy()) return;
    worked_ += elapsed;
    for (std::size_t i = 0; i < tenants_.size(); ++i) {
      auto& t = tenants_[i];
      if (t.running.empty()) continue;
      t.attained += elapsed * t.rate;
      used_[i] += elapsed;
    }
  }

 private:
  struct Sharer {
    double limit = 1;
    const double* demand = nullptr;
    double attained = 0;  // work of each batch since the tenant was last idle
    double rate = 1, asks = 0;
    std::vector<std::pair<double, int>> running;  // heap: `attained` at the end, batch
  };

  void share_out() {
    double total = 0;
    int busy_tenants = 0;
    for (auto& t : tenants_) {
      if (t.running.empty()) continue;
      t.asks = std::min(static_cast<double>(t.running.size()) * *t.demand, t.limit);
      total += t.asks;
      ++busy_tenants;
    }
    const double contended = 1 + contention_ * (busy_tenants - 1);
    for (auto& t : tenants_) {
      if (t.running.empty()) continue;
      const double wants = static_cast<double>(t.running.size()) * *t.demand;
      const double crowd = busy_tenants == 1 ? 1 : crowding(t.asks, total);
      t.rate = speed_ * t.asks / (wants * crowd * contended);
    }
  }

  double crowding(double own, double total) const {
    if (saturation_ == 2) return std::sqrt(1 - own * own + total * total);
    if (saturation_ == kNever) return std::max(1.0, total);
    const auto power = [](double x, double p) { return portable_exp(p * portable_log(x)); };
    return power(1 - power(own, saturation_) + power(total, saturation_), 1 / saturation_);
  }

  double contention_, saturation_, speed_ = 1;
  std::vector<Sharer> tenants_;
  bool changed_ = false;
  std::size_t first_ = 0;
  double since_ = 0, next_ = kNever;
};

}  // namespace

std::unique_ptr<ServerModel> make_mps_server(const std::vector<Resident>& residents, double contention,
                                             double saturation) {
  return std::make_unique<MpsServer>(residents, contention, saturation);
}

}  // namespace partita::study
