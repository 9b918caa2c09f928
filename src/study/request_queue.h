// First in, first out; its memory grows to the longest queue and is reused.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace partita::study {

class RequestQueue {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  double front() const { return ring_[head_]; }
  double operator[](std::size_t i) const { return ring_[(head_ + i) & (ring_.size() - 1)]; }

  void push(double arrived_s) {
    if (size_ == ring_.size()) grow();
    ring_[(head_ + size_++) & (ring_.size() - 1)] = arrived_s;
  }
  double pop() {
    const double front = ring_[head_];
    head_ = (head_ + 1) & (ring_.size() - 1);
    --size_;
    return front;
  }

 private:
  void grow() {
    std::vector<double> larger(ring_.empty() ? 16 : 2 * ring_.size());
    for (std::size_t i = 0; i < size_; ++i) larger[i] = (*this)[i];
    ring_ = std::move(larger);
    head_ = 0;
  }

  std::vector<double> ring_;  // a power of two long
  std::size_t head_ = 0, size_ = 0;
};

}  // namespace partita::study
