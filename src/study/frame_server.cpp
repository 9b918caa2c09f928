// vGPU equal share and fixed share: time is cut into frames, in each of which every resident owns one slice, whether it
// has work or not. What one VM gets does not depend on what the others do, so the end of a batch follows from its start
// and no event is spent on slices. A lone resident with the whole GPU is not interrupted.
//
// A frame is residents * quantum long, plus a switch before each slice; a slice is the resident's share of it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "study/server_model.h"

namespace partita::study {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

class FrameServer final : public ServerModel {
 public:
  FrameServer(const std::vector<double>& shares, double quantum_s, double switch_s)
      : ServerModel(shares.size()), whole_(shares.size() == 1 && shares[0] >= 1), slices_(shares.size()) {
    const double period = quantum_s * static_cast<double>(shares.size());
    double at = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      slices_[i].begin = at + switch_s;
      slices_[i].length = shares[i] * period;
      at = slices_[i].begin + slices_[i].length;
    }
    frame_ = std::max(at, period + switch_s * static_cast<double>(shares.size()));
  }

  void start(int tenant, int batch, double work, double now) override {
    auto& slice = slices_[static_cast<std::size_t>(tenant)];
    slice.batch = batch;
    slice.remaining = work;
    slice.since = now;
    slice.end = end_of(slice, now);
    ++batches_;
  }

  void settle(double) override {
    next_ = kNever;
    for (std::size_t i = 0; i < slices_.size(); ++i)
      if (slices_[i].end < next_) next_ = slices_[i].end, first_ = i;
  }

  double next() const override { return next_; }

  std::optional<int> handle(double now) override {
    advance(first_, now);
    slices_[first_].end = kNever;
    --batches_;
    return std::exchange(slices_[first_].batch, std::nullopt);
  }

  void set_speed(double speed, double now) override {
    advance(now);
    speed_ = speed;
    for (auto& slice : slices_)
      if (slice.batch) slice.end = end_of(slice, now);
    settle(now);
  }

  void advance(double now) override {
    for (std::size_t i = 0; i < slices_.size(); ++i) advance(i, now);
  }

 private:
  struct Slice {
    double begin = 0, length = 0;  // within the frame
    std::optional<int> batch;      // that runs
    double remaining = 0, since = 0, end = kNever;
  };

  void advance(std::size_t tenant, double now) {
    auto& slice = slices_[tenant];
    if (!slice.batch) return;
    const double owned = std::max(0.0, owned_until(slice, now) - owned_until(slice, slice.since));
    slice.remaining -= owned * speed_;
    slice.since = now;
    used_[tenant] += owned;
    worked_ += owned;
  }

  // Time that the slice's owner had since time 0.
  double owned_until(const Slice& slice, double now) const {
    if (whole_) return now;
    const double frames = std::floor(now / frame_);
    return frames * slice.length + std::clamp(now - frames * frame_ - slice.begin, 0.0, slice.length);
  }

  double end_of(const Slice& slice, double now) const {
    double need = std::max(0.0, slice.remaining) / speed_;
    if (whole_) return now + need;
    double frames = std::floor(now / frame_);
    const double from = std::max(now - frames * frame_, slice.begin);
    const double left = std::max(0.0, slice.begin + slice.length - from);
    if (need <= left) return std::max(now, frames * frame_ + from + need);
    need -= left;
    const double full = std::ceil(need / slice.length) - 1;
    return (frames + 1 + full) * frame_ + slice.begin + (need - full * slice.length);
  }

  bool whole_;
  std::vector<Slice> slices_;
  double frame_ = 0, speed_ = 1, next_ = kNever;
  std::size_t first_ = 0;
};

}  // namespace

std::unique_ptr<ServerModel> make_frame_server(const std::vector<double>& shares, double quantum_s, double switch_s) {
  return std::make_unique<FrameServer>(shares, quantum_s, switch_s);
}

}  // namespace partita::study
