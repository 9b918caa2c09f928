#include "predict/naive.h"

#include <algorithm>

namespace partita::predict {

const std::array<NaiveRule, 3>& naive_rules() {
  static constexpr std::array<NaiveRule, 3> rules{{
      {"SM share", [](const Device& r, const Device& p) { return r.multiprocessors / p.multiprocessors; }},
      {"memory share", [](const Device& r, const Device& p) { return r.bandwidth / p.bandwidth; }},
      {"max of both shares",
       [](const Device& r, const Device& p) {
         return std::min(r.multiprocessors / p.multiprocessors, r.bandwidth / p.bandwidth);
       }},
  }};
  return rules;
}

}  // namespace partita::predict
