#include "api/lease.h"

#include <array>
#include <utility>

namespace partita::api {
namespace {

template <class T>
struct Word {
  T value;
  std::string_view text;
};

constexpr std::array kStates = {
    Word{LeaseState::waiting, "waiting"},   Word{LeaseState::cutting, "cutting"},
    Word{LeaseState::granting, "granting"}, Word{LeaseState::active, "active"},
    Word{LeaseState::parked, "parked"},     Word{LeaseState::releasing, "releasing"},
    Word{LeaseState::ended, "ended"},
};
constexpr std::array kKinds = {
    Word{HolderKind::user, "user"}, Word{HolderKind::process, "process"}, Word{HolderKind::container, "container"},
    Word{HolderKind::vm, "vm"},     Word{HolderKind::pod, "pod"},         Word{HolderKind::job, "job"},
};
constexpr std::array kPriorities = {
    Word{Priority::low, "low"},
    Word{Priority::normal, "normal"},
    Word{Priority::high, "high"},
};

template <class Words, class T>
std::string_view text_of(const Words& words, T value) {
  for (const auto& word : words)
    if (word.value == value) return word.text;
  return "";
}
template <class Words>
auto value_of(const Words& words, std::string_view text) -> std::optional<decltype(words[0].value)> {
  for (const auto& word : words)
    if (word.text == text) return word.value;
  return std::nullopt;
}

}  // namespace

std::string_view to_string(LeaseState state) { return text_of(kStates, state); }
std::string_view to_string(HolderKind kind) { return text_of(kKinds, kind); }
std::string_view to_string(Priority priority) { return text_of(kPriorities, priority); }
std::optional<LeaseState> lease_state(std::string_view text) { return value_of(kStates, text); }
std::optional<HolderKind> holder_kind(std::string_view text) { return value_of(kKinds, text); }
std::optional<Priority> priority(std::string_view text) { return value_of(kPriorities, text); }

}  // namespace partita::api
