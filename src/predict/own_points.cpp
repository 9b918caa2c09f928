#include "predict/own_points.h"

#include <algorithm>

namespace partita::predict {

bool alone(const Measurement& m) {
  return m.left_out.empty() && m.throughput && m.settings.processes == 1 && m.neighbours == 0;
}

Point point_of(const Case& one) {
  return {one.partition, one.measured.settings.batch, one.measured.step_ms.value_or(0)};
}

std::vector<std::size_t> own_points(const std::vector<Case>& cases, const std::vector<Device>& devices,
                                    const std::vector<std::size_t>& rows, std::size_t wanted) {
  auto batch = [&](std::size_t i) { return cases[i].measured.settings.batch; };
  auto sm = [&](std::size_t i) { return devices[i].multiprocessors; };
  auto best = [&](auto better) { return *std::ranges::min_element(rows, better); };
  std::vector<std::size_t> points{
      best([&](auto a, auto b) { return std::pair(-sm(a), -batch(a)) < std::pair(-sm(b), -batch(b)); })};
  if (wanted == 1) return points;
  points.push_back(best([&](auto a, auto b) { return std::pair(-sm(a), batch(a)) < std::pair(-sm(b), batch(b)); }));
  points.push_back(best([&](auto a, auto b) { return std::pair(sm(a), -batch(a)) < std::pair(sm(b), -batch(b)); }));
  std::ranges::sort(points);
  points.erase(std::unique(points.begin(), points.end()), points.end());
  return points;
}

Sizes sizes_of(const std::vector<Device>& devices, const std::vector<std::size_t>& rows) {
  auto sm = [&](std::size_t i) { return devices[i].multiprocessors; };
  Sizes out{*std::ranges::max_element(rows, {}, sm), *std::ranges::min_element(rows, {}, sm), {}};
  std::ranges::copy_if(rows, std::back_inserter(out.between),
                       [&](std::size_t i) { return sm(i) != sm(out.largest) && sm(i) != sm(out.smallest); });
  return out;
}

}  // namespace partita::predict
