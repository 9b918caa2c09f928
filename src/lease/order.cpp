#include <algorithm>
#include <tuple>

#include "lease/queue.h"

namespace partita::lease {

std::vector<std::int64_t> order(std::span<const Waiting> waiting,
                                const std::map<std::string, std::int64_t, std::less<>>& last_served) {
  std::vector<const Waiting*> by_age;
  for (const Waiting& one : waiting) by_age.push_back(&one);
  const auto age = [](const Waiting* one) { return std::tuple(one->asked, one->id); };
  std::ranges::sort(by_age, {}, age);

  struct Entry {
    int rank = 0;  // -priority
    int round = 0;
    std::int64_t served = 0;
    std::tuple<Time, std::int64_t> age;
    auto operator<=>(const Entry&) const = default;
  };
  std::map<std::pair<api::Priority, std::string_view>, int> rounds;
  std::vector<Entry> entries;
  for (const Waiting* one : by_age) {
    const auto served = last_served.find(one->user);
    entries.push_back({-static_cast<int>(one->priority), rounds[{one->priority, one->user}]++,
                       served == last_served.end() ? 0 : served->second, age(one)});
  }
  std::ranges::sort(entries);
  std::vector<std::int64_t> ids;
  for (const Entry& entry : entries) ids.push_back(std::get<1>(entry.age));
  return ids;
}

}  // namespace partita::lease
