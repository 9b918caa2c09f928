// The bytes of a state file: header, control words, spec, slots, rings of events and of accounts. Little endian, as the
// machines that run it.
#pragma once

#include <atomic>
#include <cstdint>

#include "emulator/engine/records.h"

namespace partita::emulator {

inline constexpr char kStateMagic[8] = {'P', 'A', 'R', 'T', 'I', 'T', 'A', '\x1a'};
inline constexpr std::uint32_t kStateVersion = 3;

struct StateHeader {
  char magic[8];
  std::uint32_t version, gpu_count;
  std::uint64_t file_size, immutable_offset, immutable_size, slots_offset;
  std::uint64_t check;  // of this header with check = 0, and the immutable part
};

// Bit r of `active`: the slot of record r that readers take. The records are the GPUs, then the node, then the faults.
struct StateControl {
  std::atomic<std::uint64_t> active;
  std::atomic<std::uint64_t> files_change;
  std::atomic<std::uint32_t> event_word;  // changes with every event: what waiters sleep on
  std::atomic<std::uint32_t> waiters;     // how many may sleep; too high when one was killed
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

inline constexpr std::uint64_t kControlOffset = 128;
inline constexpr std::uint64_t kImmutableOffset = 256;
static_assert(sizeof(StateHeader) <= kControlOffset);

// A slot is its sequence number (odd while it is written) and the record, on cache lines of its own.
constexpr std::uint64_t slot_stride(std::uint64_t record_size) { return (8 + record_size + 63) / 64 * 64; }

inline std::uint64_t record_size(int record, int gpu_count) {
  if (record < gpu_count) return sizeof(GpuRecord);
  return record == gpu_count ? sizeof(NodeRecord) : sizeof(FaultsRecord);
}

inline std::uint64_t slot_offset(int record, int which, int gpu_count) {
  std::uint64_t at = 0;
  const int gpus_before = record < gpu_count ? record : gpu_count;
  at += static_cast<std::uint64_t>(gpus_before) * 2 * slot_stride(sizeof(GpuRecord));
  if (record > gpu_count) at += 2 * slot_stride(sizeof(NodeRecord));
  return at + static_cast<std::uint64_t>(which) * slot_stride(record_size(record, gpu_count));
}

// The rings of events and of accounts follow the slots. An entry is written before the node's record that counts it is
// committed, so that of a ring's entries all but the oldest are whole at any time.
inline std::uint64_t ring_offset(int gpu_count) {
  return slot_offset(gpu_count + 1, 0, gpu_count) + 2 * slot_stride(sizeof(FaultsRecord));
}
inline std::uint64_t accounts_offset(int gpu_count) {
  return ring_offset(gpu_count) + kEventRing * sizeof(EventRecord);
}
inline std::uint64_t slots_size(int gpu_count) {
  return accounts_offset(gpu_count) + kAccountRing * sizeof(AccountRecord);
}

}  // namespace partita::emulator
