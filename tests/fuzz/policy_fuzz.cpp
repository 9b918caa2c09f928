// Any bytes as a policy: limits that can be kept, or an error.
#include "fuzz.h"
#include "lease/policy.h"

using namespace partita;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto policy = lease::read_policy(fuzz::text_of(data, size), "f");
  if (!fuzz::accepted(policy)) return 0;
  const auto sound = [](const lease::Limit& limit) {
    fuzz::require(!limit.partitions || *limit.partitions >= 0, "a count is not negative");
    fuzz::require(!limit.longest || limit.longest->count() > 0, "a lease lasts");
    fuzz::require(!limit.longest || !limit.standard || *limit.standard <= *limit.longest, "the default can be had");
  };
  sound(policy->everyone);
  for (const auto* limits : {&policy->users, &policy->groups})
    for (const auto& [name, limit] : *limits) {
      sound(limit);
      api::Caller caller;
      caller.name = name;
      caller.groups = {name};
      const auto duration = lease::duration_of(*policy, caller, std::nullopt);
      fuzz::require(duration.has_value(), "what a policy gives by default it allows");
      fuzz::accepted(lease::check_quota(*policy, caller, {}, {1, 1, gib(1)}));
    }
  return 0;
}
