// Which limits hold for a caller, and whether a lease passes them.
#include "lease/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <tuple>

#include "base/duration.h"
#include "base/text.h"

namespace partita::lease {

namespace {

using std::chrono::milliseconds;

std::string source(const Policy& policy, int line) {
  const auto name = std::filesystem::path(policy.file).filename().string();
  if (name.empty()) return line == 0 ? "" : fmt::format("line {}", line);
  return line == 0 ? name : fmt::format("{}:{}", name, line);
}

const Limit* own_limit(const Policy& policy, std::string_view user) {
  const auto found = policy.users.find(user);
  return found == policy.users.end() ? nullptr : &found->second;
}

// A key that holds, and where it is written.
template <class T>
struct Key {
  std::optional<T> value;
  int line = 0;
  bool said = false;
};
template <class T>
Key<T> key(const Limit* limit, std::optional<T> Limit::* value, int LimitLines::* line) {
  if (!limit) return {};
  const int at = limit->lines.*line != 0 ? limit->lines.*line : limit->line;
  return {limit->*value, at, (limit->*value).has_value() || limit->lines.*line != 0};
}

// The user's own, else everyone's, from which administrators are exempt.
template <class T>
Key<T> users_key(const Policy& policy, std::string_view user, bool administrator, std::optional<T> Limit::* value,
                 int LimitLines::* line) {
  const auto own = key(own_limit(policy, user), value, line);
  return own.said || administrator ? own : key(&policy.everyone, value, line);
}

// The user's own, else the most generous of their groups', else everyone's.
template <class T>
Key<T> members_key(const Policy& policy, const api::Caller& caller, std::optional<T> Limit::* value,
                   int LimitLines::* line) {
  if (const auto own = key(own_limit(policy, caller.name), value, line); own.said) return own;
  if (caller.administrator) return {};
  Key<T> best;
  for (const auto& group : caller.groups) {
    const auto found = policy.groups.find(group);
    if (found == policy.groups.end()) continue;
    const auto here = key(&found->second, value, line);
    if (here.said && (!best.said || (best.value && (!here.value || *here.value > *best.value)))) best = here;
  }
  return best.said ? best : key(&policy.everyone, value, line);
}

// The three things that are counted.
struct Amount {
  std::string_view what;
  std::int64_t (*of)(const Usage&);
  std::string (*text)(std::int64_t);
};
std::string counted(std::int64_t n, std::string_view one) { return count_of(static_cast<std::size_t>(n), one); }
constexpr Amount kAmounts[] = {
    {"partitions", [](const Usage& u) -> std::int64_t { return u.partitions; },
     [](std::int64_t n) { return counted(n, "partition"); }},
    {"compute slices", [](const Usage& u) -> std::int64_t { return u.compute_slices; },
     [](std::int64_t n) { return counted(n, "compute slice"); }},
    {"memory", [](const Usage& u) { return static_cast<std::int64_t>(u.memory.value); },
     [](std::int64_t n) { return to_string(Bytes{static_cast<std::uint64_t>(n)}); }},
};
constexpr std::size_t kMemory = 2;

// What one user or one group may have, in the order of kAmounts.
struct Quota {
  bool group = false;
  std::string name;
  std::array<Key<std::int64_t>, std::size(kAmounts)> limits;
  Usage used;
  std::string who() const { return fmt::format("{} {}", group ? "group" : "user", name); }
};

template <class T>
Key<std::int64_t> as_amount(const Key<T>& from) {
  Key<std::int64_t> out{std::nullopt, from.line, from.said};
  if constexpr (std::is_same_v<T, Bytes>) {
    if (from.value) out.value = static_cast<std::int64_t>(from.value->value);
  } else {
    if (from.value) out.value = *from.value;
  }
  return out;
}

Usage usage_of(const std::map<std::string, Usage, std::less<>>& usages, std::string_view name) {
  const auto found = usages.find(name);
  return found == usages.end() ? Usage{} : found->second;
}

Quota quota_of_user(const Policy& policy, const std::string& user, bool administrator, const Usages& usages) {
  const auto get = [&](auto value, auto line) {
    return as_amount(users_key(policy, user, administrator, value, line));
  };
  return {false,
          user,
          {get(&Limit::partitions, &LimitLines::partitions), get(&Limit::compute_slices, &LimitLines::compute_slices),
           get(&Limit::memory, &LimitLines::memory)},
          usage_of(usages.users, user)};
}

Quota quota_of_group(const std::string& group, const Limit& limit, const Usages& usages) {
  return Quota{true,
               group,
               {as_amount(key(&limit, &Limit::partitions, &LimitLines::partitions)),
                as_amount(key(&limit, &Limit::compute_slices, &LimitLines::compute_slices)),
                as_amount(key(&limit, &Limit::memory, &LimitLines::memory))},
               usage_of(usages.groups, group)};
}

bool passes(std::int64_t limit, std::int64_t used, std::int64_t wanted) {
  return wanted > 0 && (wanted > limit || used > limit - wanted);
}

// A limit that would be passed.
struct Excess {
  const Quota& quota;
  std::size_t amount;
  std::int64_t limit() const { return quota.limits[amount].value.value_or(0); }
};

std::vector<const Holding*> counting(const Usages& usages, const Quota& quota, std::size_t amount) {
  std::vector<const Holding*> out;
  for (const Holding& held : usages.holdings)
    if ((quota.group ? std::ranges::count(held.groups, quota.name) != 0 : held.user == quota.name) &&
        kAmounts[amount].of(held.usage) > 0)
      out.push_back(&held);
  return out;
}

// The fewest leases whose end brings the usage down by `over`: one that is just large enough, else the largest ones.
// Leases of the caller before those of others.
std::vector<const Holding*> to_release(std::vector<const Holding*> held, const std::string& user, std::size_t amount,
                                       std::int64_t over) {
  const auto size = [&](const Holding* h) { return kAmounts[amount].of(h->usage); };
  std::ranges::sort(held, {}, [&](const Holding* h) { return std::tuple(h->user != user, -size(h), h->lease); });
  std::vector<const Holding*> chosen;
  std::int64_t freed = 0;
  for (const Holding* h : held) {
    if (freed >= over) break;
    const Holding* take = h;
    for (const Holding* smaller : held)
      if ((smaller->user == user) == (h->user == user) && std::ranges::count(chosen, smaller) == 0 &&
          size(smaller) >= over - freed && size(smaller) < size(take))
        take = smaller;
    chosen.push_back(take);
    freed += size(take);
  }
  return freed >= over ? chosen : std::vector<const Holding*>{};
}

std::string named(const Holding& held, const std::string& user, std::size_t amount) {
  const auto size = kAmounts[amount].text(kAmounts[amount].of(held.usage));
  return held.user == user ? fmt::format("{} ({})", held.lease, size)
                           : fmt::format("{} ({}, held by {})", held.lease, size, held.user);
}

std::string way_out(const api::Caller& caller, const Usages& usages, const Excess& excess, std::int64_t wanted) {
  const Amount& amount = kAmounts[excess.amount];
  if (wanted > excess.limit())
    return fmt::format("ask for at most {}, or have an administrator raise it", amount.text(excess.limit()));
  const std::int64_t over = amount.of(excess.quota.used) + wanted - excess.limit();
  std::vector<std::string> names;
  for (const Holding* held :
       to_release(counting(usages, excess.quota, excess.amount), caller.name, excess.amount, over))
    names.push_back(named(*held, caller.name, excess.amount));
  if (names.empty()) return fmt::format("{} must be released first", amount.text(over));
  return fmt::format("release {} first", join(names, " and "));
}

std::string told(const Policy& policy, const Excess& excess, std::int64_t wanted) {
  const Amount& amount = kAmounts[excess.amount];
  return fmt::format("{} may hold {} at once ({}), holds {}, and {} would be added", excess.quota.who(),
                     amount.text(excess.limit()), source(policy, excess.quota.limits[excess.amount].line),
                     excess.amount == kMemory ? amount.text(amount.of(excess.quota.used))
                                              : std::to_string(amount.of(excess.quota.used)),
                     excess.amount == kMemory ? amount.text(wanted) : std::to_string(wanted));
}

Error denied(const Policy& policy, const api::Caller& caller, const Usages& usages, const std::vector<Excess>& found,
             const Usage& wanted) {
  const auto asked = [&](const Excess& excess) { return kAmounts[excess.amount].of(wanted); };
  Error error{ErrorCode::denied,
              fmt::format("{}; {}", told(policy, found.front(), asked(found.front())),
                          way_out(caller, usages, found.front(), asked(found.front()))),
              {}};
  for (std::size_t i = 1; i < found.size(); ++i)
    error.details.push_back(fmt::format("{}; {}", told(policy, found[i], asked(found[i])),
                                        way_out(caller, usages, found[i], asked(found[i]))));
  for (const Holding* held : counting(usages, found.front().quota, found.front().amount))
    error.details.push_back(fmt::format("held by {}: {}", held->user, named(*held, held->user, found.front().amount)));
  return error;
}

std::vector<Quota> quotas_of(const Policy& policy, const api::Caller& caller, const Usages& usages) {
  std::vector<Quota> quotas{quota_of_user(policy, caller.name, caller.administrator, usages)};
  if (caller.administrator) return quotas;
  for (const auto& group : caller.groups)
    if (const auto limit = policy.groups.find(group); limit != policy.groups.end())
      quotas.push_back(quota_of_group(group, limit->second, usages));
  return quotas;
}

}  // namespace

void add(Usages& usages, const Holding& holding) {
  const auto count = [&](Usage& usage) {
    usage.partitions += holding.usage.partitions;
    usage.compute_slices += holding.usage.compute_slices;
    usage.memory.value += holding.usage.memory.value;
  };
  count(usages.users[holding.user]);
  for (const auto& group : holding.groups) count(usages.groups[group]);
  usages.holdings.push_back(holding);
}

Result<void> check_quota(const Policy& policy, const api::Caller& caller, const Usages& usages, const Usage& wanted) {
  const auto quotas = quotas_of(policy, caller, usages);
  std::vector<Excess> found;
  for (const Quota& quota : quotas)
    for (std::size_t i = 0; i < std::size(kAmounts); ++i)
      if (const auto& limit = quota.limits[i].value;
          limit && passes(*limit, kAmounts[i].of(quota.used), kAmounts[i].of(wanted)))
        found.push_back({quota, i});
  if (found.empty()) return {};
  return std::unexpected(denied(policy, caller, usages, found, wanted));
}

Usage left(const Policy& policy, const api::Caller& caller, const Usages& usages) {
  std::array<std::int64_t, std::size(kAmounts)> least{INT32_MAX, INT32_MAX, INT64_MAX};
  for (const Quota& quota : quotas_of(policy, caller, usages))
    for (std::size_t i = 0; i < std::size(kAmounts); ++i)
      if (const auto& limit = quota.limits[i].value)
        least[i] = std::min(least[i], std::max<std::int64_t>(0, *limit - kAmounts[i].of(quota.used)));
  return {static_cast<int>(least[0]), static_cast<int>(least[1]), Bytes{static_cast<std::uint64_t>(least[2])}};
}

DurationLimits duration_limits(const Policy& policy, const api::Caller& caller) {
  const auto longest = members_key(policy, caller, &Limit::longest, &LimitLines::longest);
  const auto standard = members_key(policy, caller, &Limit::standard, &LimitLines::standard);
  DurationLimits limits{longest.value, standard.value, ""};
  if (longest.value) {
    limits.longest_source = source(policy, longest.line);
    limits.standard = std::min(limits.standard.value_or(*longest.value), *longest.value);
  }
  return limits;
}

Result<std::optional<milliseconds>> duration_of(const Policy& policy, const api::Caller& caller,
                                                std::optional<milliseconds> asked) {
  const DurationLimits limits = duration_limits(policy, caller);
  if (!asked) return limits.standard;
  if (*asked <= milliseconds(0))
    return fail(ErrorCode::invalid,
                fmt::format("a lease lasts {}; expected a duration longer than 0s", to_string(*asked)));
  if (limits.longest && *asked > *limits.longest)
    return fail(ErrorCode::denied,
                fmt::format("user {} may have a lease for {} at the longest ({}), {} is asked; ask "
                            "for less and renew it",
                            caller.name, to_string(*limits.longest), limits.longest_source, to_string(*asked)));
  return asked;
}

Result<void> check_priority(const Policy& policy, const api::Caller& caller, api::Priority asked) {
  const auto highest = members_key(policy, caller, &Limit::highest, &LimitLines::highest);
  if (!highest.value || asked <= *highest.value) return {};
  return fail(ErrorCode::denied,
              fmt::format("user {} may ask with priority {} at the highest ({}), {} is asked", caller.name,
                          api::to_string(*highest.value), source(policy, highest.line), api::to_string(asked)));
}

std::vector<api::QuotaRow> explain(const Policy& policy, const api::Caller& caller, const Usages& usages) {
  std::vector<Quota> quotas;
  if (caller.administrator) {
    std::map<std::string, bool> users, groups;  // whether the user is the caller, so an administrator
    users[caller.name] = true;
    for (const auto& [name, limit] : policy.users) users.try_emplace(name, false);
    for (const auto& [name, usage] : usages.users) users.try_emplace(name, false);
    for (const auto& [name, administrator] : users)
      quotas.push_back(quota_of_user(policy, name, administrator, usages));
    for (const auto& [name, limit] : policy.groups) quotas.push_back(quota_of_group(name, limit, usages));
  } else {
    quotas = quotas_of(policy, caller, usages);
  }
  std::vector<api::QuotaRow> rows;
  for (const Quota& quota : quotas)
    for (std::size_t i = 0; i < std::size(kAmounts); ++i)
      rows.push_back({quota.who(), std::string(kAmounts[i].what), kAmounts[i].of(quota.used), quota.limits[i].value,
                      quota.limits[i].value ? source(policy, quota.limits[i].line) : ""});
  return rows;
}

}  // namespace partita::lease
