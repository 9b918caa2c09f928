// How much a request for leases may say: the same for who reads it and for who serves it.
#pragma once

#include <chrono>
#include <cstddef>

namespace partita::api {

inline constexpr std::size_t kMostLabels = 32;
inline constexpr std::size_t kLongestLabel = 253;  // bytes, of a key, of a value, and of a holder's id
inline constexpr std::size_t kMostComputeInstances = 8;
inline constexpr std::chrono::milliseconds kLongestDuration = std::chrono::days(36'500);

}  // namespace partita::api
