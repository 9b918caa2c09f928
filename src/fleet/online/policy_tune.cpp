#include "fleet/online/policy_tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <random>
#include <string>

namespace partita::fleet {

namespace {

struct Sampled {
  Potential weights;
  double score = 0;
};

class Tuner {
 public:
  Tuner(const GpuStates& states, const Features& features, const TuneCases& cases, const TuneOptions& options)
      : states_(states), cases_(cases), options_(options), table_(states, features), random_(options.seed) {
    start_.weights = mean_ = options.start ? options.start->weights : guess(features);
    for (std::size_t i = 0; i < mean_.size(); ++i) spread_.push_back(table_.varies(i) ? options.spread : 0);
  }

  Tuned run() {
    Tuned out;
    for (int g = 0; g < options_.generations && !stopped(); ++g) {
      draw_traces(g);
      auto samples = generation();
      if (samples.empty()) break;
      std::ranges::stable_sort(samples, std::greater<>(), &Sampled::score);
      learn(samples);
      out.generations = g + 1;
      if (options_.progress) options_.progress(g + 1, samples.front().score);
    }
    choose(out);
    return out;
  }

 private:
  bool stopped() const { return options_.stop && options_.stop(); }

  static std::vector<double> guess(const Features& features) {
    std::vector<double> out;
    for (const auto& name : features.names())
      out.push_back(name.starts_with("free ") && name.find(' ', 5) == std::string::npos ? 2 : 0);
    return out;
  }

  // Six digits, as people read them.
  static double rounded(double weight) { return std::strtod(fmt::format("{:.6g}", weight).c_str(), nullptr); }

  // Keeps the start where the search found nothing better: chance helps some weights on the traces of a generation.
  void choose(Tuned& out) {
    draw_traces(options_.generations);
    for (const double weight : mean_) out.weights.weights.push_back(rounded(weight));
    out.accepted = served(out.weights);
    out.at_start = served(start_);
    out.kept_start = out.accepted.mean() <= out.at_start.mean();
    if (!out.kept_start) return;
    out.weights = start_;
    out.accepted = out.at_start;
  }

  void draw_traces(int generation) {
    traces_.clear();
    const bool late = generation >= options_.generations * 2 / 3;
    for (const auto& mix : cases_.mixes)
      traces_.push_back(make_trace(states_, mix, options_.requests * (late ? 2 : 1), random_()));
  }

  double normal() {
    const auto uniform = [&] { return static_cast<double>((random_() >> 11) + 1) * 0x1p-53; };  // (0, 1]
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

  // The mean itself takes part: what is good already is not lost.
  std::vector<Sampled> generation() {
    std::vector<Sampled> out;
    for (int s = 0; s < options_.samples && !stopped(); ++s) {
      Sampled one{{mean_}, 0};
      if (s > 0)
        for (std::size_t i = 0; i < mean_.size(); ++i) one.weights.weights[i] += spread_[i] * normal();
      one.score = served(one.weights).mean();
      out.push_back(std::move(one));
    }
    return out;
  }

  // Mean over the cases. A user's trace counts from its first request on, as where it is simulated.
  Accepted served(const Potential& weights) const {
    const Scores scores(states_, table_.potentials(weights));
    Accepted sum;
    const auto add = [&](const std::vector<Request>& trace, const RunOptions& options) {
      const auto one = accepted(states_, fleet::run(states_, scores, trace, options));
      sum.requests += one.requests;
      sum.slices += one.slices;
    };
    constexpr std::size_t kWarmUp = 10;  // the fleet fills
    for (std::size_t i = 0; i < traces_.size(); ++i)
      add(traces_[i], {.gpus = cases_.mixes[i].gpus, .from = traces_[i][traces_[i].size() / kWarmUp].arrival});
    for (const auto& given : cases_.traces) add(given.trace, {.gpus = given.gpus, .patience = given.patience});
    const auto count = static_cast<double>(traces_.size() + cases_.traces.size());
    return {sum.requests / count, sum.slices / count};
  }

  void learn(const std::vector<Sampled>& sorted) {
    const auto best = std::max<std::size_t>(1, sorted.size() / 4);
    const auto count = static_cast<double>(best);
    for (std::size_t i = 0; i < mean_.size(); ++i) {
      double sum = 0;
      double squares = 0;
      for (std::size_t s = 0; s < best; ++s) {
        sum += sorted[s].weights.weights[i];
        const double off = sorted[s].weights.weights[i] - mean_[i];
        squares += off * off;
      }
      mean_[i] = sum / count;
      constexpr double kKeep = 0.7;  // of the spread, per generation: it shrinks slowly
      constexpr double kLeast = 0.02;
      if (spread_[i] > 0)
        spread_[i] = std::max(kLeast, std::sqrt((kKeep * spread_[i] * spread_[i]) + ((1 - kKeep) * squares / count)));
    }
  }

  const GpuStates& states_;
  const TuneCases& cases_;
  const TuneOptions& options_;
  FeatureTable table_;
  std::mt19937_64 random_;
  Potential start_;
  std::vector<double> mean_, spread_;
  std::vector<std::vector<Request>> traces_;  // of this generation, per mix
};

}  // namespace

Tuned tune(const GpuStates& states, const Features& features, const TuneCases& cases, const TuneOptions& options) {
  return Tuner(states, features, cases, options).run();
}

Accepted accepted(const GpuStates& states, const RunResult& result) {
  double asked = 0;
  double got = 0;
  double slices_asked = 0;
  double slices_got = 0;
  for (std::size_t p = 0; p < result.profiles.size(); ++p) {
    const auto& served = result.profiles[p];
    asked += static_cast<double>(served.asked);
    got += static_cast<double>(served.accepted);
    slices_asked += static_cast<double>(served.asked) * states.memory_of(p);
    slices_got += static_cast<double>(served.accepted) * states.memory_of(p);
  }
  return asked > 0 ? Accepted{got / asked, slices_got / slices_asked} : Accepted{};
}

}  // namespace partita::fleet
