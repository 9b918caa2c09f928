#include "study/arrival_source.h"

#include <limits>

namespace partita::study {
namespace {
constexpr double kNever = std::numeric_limits<double>::infinity();
}

ArrivalSource::ArrivalSource(const Arrivals& arrivals, Random random)
    : arrivals_(arrivals), random_(random), next_(kNever) {
  switch (arrivals.kind) {
    case Arrivals::Kind::closed:
      if (arrivals.think_s > 0) {
        thinking_ = arrivals.clients;
        next_think(0);
      }
      break;
    case Arrivals::Kind::poisson:
      if (arrivals.rate_per_s > 0) next_ = random_.exponential(1 / arrivals.rate_per_s);
      break;
    case Arrivals::Kind::trace:
      if (!arrivals.times_s.empty()) next_ = arrivals.times_s.front();
      break;
    case Arrivals::Kind::on_off:
      on_ = random_.uniform() * (arrivals.on_s + arrivals.off_s) < arrivals.on_s;
      phase_end_ = random_.exponential(on_ ? arrivals.on_s : arrivals.off_s);
      next_ = 0;
      if (arrivals.rate_per_s > 0)
        next_on_off();
      else
        next_ = kNever;
      break;
  }
}

int ArrivalSource::at_start() const {
  return arrivals_.kind == Arrivals::Kind::closed && arrivals_.think_s == 0 ? arrivals_.clients : 0;
}

void ArrivalSource::arrived() {
  switch (arrivals_.kind) {
    case Arrivals::Kind::closed:
      --thinking_;
      next_think(next_);
      break;
    case Arrivals::Kind::poisson:
      next_ += random_.exponential(1 / arrivals_.rate_per_s);
      break;
    case Arrivals::Kind::trace:
      next_ = ++index_ < arrivals_.times_s.size() ? arrivals_.times_s[index_] : kNever;
      break;
    case Arrivals::Kind::on_off:
      next_on_off();
      break;
  }
}

int ArrivalSource::completed(int requests, double now) {
  if (arrivals_.kind != Arrivals::Kind::closed) return 0;
  if (arrivals_.think_s == 0) return requests;
  thinking_ += requests;
  next_think(now);
  return 0;
}

// Exponential think times have no memory: the first of n clients comes back after mean / n, drawn anew whenever n
// changes. So any number of clients needs one clock.
void ArrivalSource::next_think(double now) {
  next_ = thinking_ == 0 ? kNever : now + random_.exponential(arrivals_.think_s / thinking_);
}

void ArrivalSource::next_on_off() {
  double at = next_;
  for (;;) {
    if (on_) {
      const double candidate = at + random_.exponential(1 / arrivals_.rate_per_s);
      if (candidate <= phase_end_) {
        next_ = candidate;
        return;
      }
    }
    at = phase_end_;
    on_ = !on_;
    phase_end_ = at + random_.exponential(on_ ? arrivals_.on_s : arrivals_.off_s);
  }
}

}  // namespace partita::study
