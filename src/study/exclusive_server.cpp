// One batch at a time, from start to end.
#include <limits>

#include "study/server_model.h"

namespace partita::study {
namespace {

class ExclusiveServer final : public ServerModel {
 public:
  using ServerModel::ServerModel;

  void start(int tenant, int batch, double work, double now) override {
    tenant_ = tenant;
    batch_ = batch;
    remaining_ = work;
    since_ = now;
    batches_ = 1;
  }
  void settle(double) override { next_ = busy() ? since_ + remaining_ / speed_ : kNever; }
  double next() const override { return next_; }
  std::optional<int> handle(double now) override {
    advance(now);
    batches_ = 0;
    return batch_;
  }
  void set_speed(double speed, double now) override {
    advance(now);
    speed_ = speed;
    settle(now);
  }
  void advance(double now) override {
    const double elapsed = now - since_;
    since_ = now;
    if (!busy()) return;
    remaining_ -= elapsed * speed_;
    used_[static_cast<std::size_t>(tenant_)] += elapsed;
    worked_ += elapsed;
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  int tenant_ = 0, batch_ = 0;
  double remaining_ = 0, speed_ = 1, since_ = 0, next_ = kNever;
};

}  // namespace

std::unique_ptr<ServerModel> make_exclusive_server(std::size_t tenants) {
  return std::make_unique<ExclusiveServer>(tenants);
}

}  // namespace partita::study
