#include "resnet/intervals.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace partita::resnet {
namespace {

constexpr std::size_t kMostLatencies = 10'000;

std::string json(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", c);
    else
      out.append(c == '"' || c == '\\' ? 1 : 0, '\\').push_back(c);
  }
  return out + '"';
}

}  // namespace

std::string first_line(std::string_view device, std::string_view what) {
  return fmt::format(R"({{"t": 0, "samples": 0, "device": {}, "what": {}}})", json(device), json(what));
}

std::string error_line(double t_s, std::string_view error) {
  return fmt::format(R"({{"t": {:.4f}, "error": {}}})", t_s, json(error));
}

bool Intervals::add(double t_s, int samples, double latency_ms) {
  samples_ += samples;
  if (latencies_ms_.size() == kMostLatencies) {
    for (std::size_t i = 0; i < kMostLatencies / 2; ++i) latencies_ms_[i] = latencies_ms_[2 * i];
    latencies_ms_.resize(kMostLatencies / 2);
    stride_ *= 2;
  }
  if (steps_++ % stride_ == 0) latencies_ms_.push_back(latency_ms);
  return t_s - begin_s_ >= interval_s_;
}

std::string Intervals::line(double t_s) {
  const auto out = fmt::format(R"({{"t": {:.4f}, "samples": {:.0f}, "latency_ms": [{:.4g}]}})", t_s, samples_,
                               fmt::join(latencies_ms_, ", "));
  begin_s_ = t_s;
  samples_ = 0;
  steps_ = 0;
  stride_ = 1;
  latencies_ms_.clear();
  return out;
}

}  // namespace partita::resnet
