#include "node/lease_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "api/lease_bounds.h"
#include "base/host_limits.h"
#include "base/text.h"

namespace partita::node {
namespace {

constexpr std::size_t kLongestName = 63;

bool is_letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }
bool may_be_in_name(char c) { return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-'; }

// CDI names are one space for all: a lease that is called as a device would stand for that device to containers.
bool names_a_device(const std::string& name) {
  return name == "all" || name.find_first_not_of("0123456789") == std::string::npos || name.starts_with("MIG-") ||
         name.starts_with("GPU-");
}

Result<void> check_name(const api::LeaseRequest& request) {
  const std::string& name = request.name;
  if (name.empty()) return {};
  const std::size_t longest = request.count == 1 ? kLongestName : kLongestName - 5;
  if (name.size() > longest || !is_letter_or_digit(name.front()) || !std::ranges::all_of(name, may_be_in_name))
    return fail(
        ErrorCode::invalid,
        fmt::format("lease name {}: expected 1 to {} characters of a-z, A-Z, 0-9, '.', '_', '-', beginning with "
                    "a letter or digit",
                    quote(name), longest));
  if (names_a_device(name))
    return fail(ErrorCode::invalid,
                fmt::format("lease name {}: containers find devices by such names; expected neither 'all', nor digits "
                            "alone, nor MIG- or GPU- at the beginning",
                            quote(name)));
  return {};
}

}  // namespace

std::string caller_text(const api::Caller& caller) {
  return caller.name.empty() ? fmt::format("uid {}", caller.uid) : caller.name;
}

Result<void> check_request(const api::LeaseRequest& request) {
  if (request.count < 1 || request.count > api::kMostLeasesAtOnce)
    return fail(ErrorCode::invalid,
                fmt::format("count: expected 1 to {}, found {}", api::kMostLeasesAtOnce, request.count));
  TRY_VOID(check_name(request));
  if (request.duration && (request.duration->count() <= 0 || *request.duration > api::kLongestDuration))
    return fail(ErrorCode::invalid, fmt::format("duration: expected more than 0 and at most 36500 days, found {} ms",
                                                request.duration->count()));
  if (request.labels.size() > api::kMostLabels)
    return fail(ErrorCode::invalid,
                fmt::format("labels: expected at most {}, found {}", api::kMostLabels, request.labels.size()));
  for (const auto& [key, value] : request.labels)
    if (key.empty() || key.size() > api::kLongestLabel || value.size() > api::kLongestLabel)
      return fail(ErrorCode::invalid,
                  fmt::format("label {}: expected 1 to {} bytes as key and at most as many as value", quote(key),
                              api::kLongestLabel));
  TRY_VOID(check_host_limits(request.host_limits.cpus, request.host_limits.memory));
  if (request.holder.id.size() > api::kLongestLabel)
    return fail(ErrorCode::invalid, fmt::format("holder: expected at most {} bytes of id", api::kLongestLabel));
  return {};
}

std::string made_name(const std::string& user, std::int64_t id) {
  std::string name;
  for (const char c : user)
    if (may_be_in_name(c) && (!name.empty() || is_letter_or_digit(c))) name += c;
  if (name.empty()) name = "lease";
  if (names_a_device(name + '-')) name.insert(0, "lease-");  // a user called MIG
  return fmt::format("{}-{}", name.substr(0, kLongestName - 21), id);
}

}  // namespace partita::node
