// Round robin over the tenants that have work: each runs for a quantum, then the next, after the time of a switch. A
// tenant that is alone keeps running without switches; when another comes, its quantum ends at the next multiple of the
// quantum since its slice began. A tenant whose batch ends and that has another goes on within its quantum.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "study/server_model.h"

namespace partita::study {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

class TimeSliceServer final : public ServerModel {
 public:
  TimeSliceServer(std::size_t tenants, double quantum_s, double switch_s)
      : ServerModel(tenants), quantum_(quantum_s), switch_(switch_s), jobs_(tenants), waiting_(tenants + 1) {}

  void start(int tenant, int batch, double work, double) override {
    auto& job = jobs_[static_cast<std::size_t>(tenant)];
    job = {batch, work};
    ++batches_;
    if (!owned_ || tenant != owner_) push(tenant);
  }

  void settle(double now) override {
    if (state_ == State::idle) {
      const bool keeps = owned_ && job(owner_).batch;
      if (keeps && now < slice_end_) {
        state_ = State::running;
        since_ = now;
      } else if (batches_ > 0) {
        if (keeps) push(owner_);
        give_to(pop(), now);
      }
    }
    if (state_ == State::running && count_ > 0 && slice_end_ == kNever) {
      const double slices = std::floor((now - slice_start_) / quantum_) + 1;
      slice_end_ = std::max(now, slice_start_ + slices * quantum_);
    }
    plan();
  }

  double next() const override { return next_; }

  std::optional<int> handle(double now) override {
    advance(now);
    if (state_ == State::switching) {
      run(now);
      return std::nullopt;
    }
    auto& current = job(owner_);
    if (completes_) {
      const auto batch = current.batch;
      current = {};
      --batches_;
      state_ = State::idle;
      return batch;
    }
    push(owner_);  // its slice is over
    give_to(pop(), now);
    return std::nullopt;
  }

  void set_speed(double speed, double now) override {
    advance(now);
    speed_ = speed;
    plan();
  }

  void advance(double now) override {
    const double elapsed = now - since_;
    since_ = now;
    if (state_ == State::idle) return;
    worked_ += elapsed;
    if (state_ == State::switching) return;
    job(owner_).remaining -= elapsed * speed_;
    used_[static_cast<std::size_t>(owner_)] += elapsed;
  }

 private:
  enum class State { idle, switching, running };
  struct Job {
    std::optional<int> batch;  // that has work left
    double remaining = 0;
  };

  Job& job(int tenant) { return jobs_[static_cast<std::size_t>(tenant)]; }
  void push(int tenant) { waiting_[(head_ + count_++) % waiting_.size()] = tenant; }
  int pop() {
    const int tenant = waiting_[head_];
    head_ = (head_ + 1) % waiting_.size();
    --count_;
    return tenant;
  }

  void give_to(int tenant, double now) {
    const bool other = owned_ && tenant != owner_;
    owner_ = tenant;
    owned_ = true;
    since_ = now;
    if (other && switch_ > 0) {
      state_ = State::switching;
      switch_end_ = now + switch_;
    } else {
      run(now);
    }
  }

  void run(double now) {
    state_ = State::running;
    since_ = slice_start_ = now;
    slice_end_ = count_ > 0 ? now + quantum_ : kNever;
  }

  void plan() {
    if (state_ == State::idle) {
      next_ = kNever;
    } else if (state_ == State::switching) {
      next_ = switch_end_;
    } else {
      const double end = since_ + std::max(0.0, job(owner_).remaining) / speed_;
      completes_ = end <= slice_end_;
      next_ = completes_ ? end : slice_end_;
    }
  }

  double quantum_, switch_, speed_ = 1;
  std::vector<Job> jobs_;
  std::vector<int> waiting_;  // ring of tenants with work, without the owner
  std::size_t head_ = 0, count_ = 0;
  State state_ = State::idle;
  int owner_ = 0;       // runs, is switched to, or ran last
  bool owned_ = false;  // there was one
  bool completes_ = false;
  double since_ = 0, slice_start_ = 0, slice_end_ = kNever, switch_end_ = 0, next_ = kNever;
};

}  // namespace

std::unique_ptr<ServerModel> make_time_slice_server(std::size_t tenants, double quantum_s, double switch_s) {
  return std::make_unique<TimeSliceServer>(tenants, quantum_s, switch_s);
}

}  // namespace partita::study
