// What every fuzz target needs: its input as text, and a check that errors keep to the rules.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/error.h"

namespace partita::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Stops the run: the fuzzer keeps the input that led here.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

// A refusal is one line of bounded length, and never blames us for bad input.
template <class T>
bool accepted(const Result<T>& result) {
  constexpr std::size_t kLongest = 8192;
  if (result) return true;
  const Error& error = result.error();
  require(!error.message.empty() && error.message.size() < kLongest, "an error has a message of bounded length");
  require(error.message.find('\n') == std::string_view::npos, "an error is one line");
  require(error.code != ErrorCode::internal, "bad input is no internal error");
  return false;
}

}  // namespace partita::fuzz
