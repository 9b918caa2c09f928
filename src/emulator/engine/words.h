// The mapped state is read and written in 64-bit words, each at once, so that processes never see half of one.
#pragma once

#include <atomic>
#include <cstdint>

namespace partita::emulator {

inline std::uint64_t load_word(const char* at) {
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(const_cast<char*>(at))).load(std::memory_order_acquire);
}
inline void store_word(char* at, std::uint64_t value) {
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(at)).store(value, std::memory_order_release);
}

}  // namespace partita::emulator
