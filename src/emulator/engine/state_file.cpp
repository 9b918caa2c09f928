#include "emulator/engine/state_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "emulator/engine/state_format.h"
#include "emulator/engine/words.h"

namespace partita::emulator {

namespace {

constexpr std::size_t kGpuHeadBytes = sizeof(GpuHead);
constexpr std::size_t kInstancesBegin = kGpuHeadBytes + sizeof(MeterRecord) + sizeof(SettingsRecord);
constexpr std::size_t kHoldersBegin = kInstancesBegin + sizeof(GpuRecord::instances);
static_assert(sizeof(GpuRecord) == kHoldersBegin + sizeof(GpuRecord::holders), "no padding");
constexpr std::size_t kWordLimit = sizeof(GpuRecord) / 8;
static_assert(sizeof(FaultsRecord) / 8 <= kWordLimit && sizeof(NodeRecord) / 8 <= kWordLimit);

// The first word of a GPU's record, and where the id is in the first word of an instance's.
GpuHead head_of(std::uint64_t first_word) { return std::bit_cast<GpuHead>(first_word); }
constexpr int kInstanceIdShift = 8 * offsetof(InstanceRecord, id);

// The part of a GPU's record that means anything: the head with the instances, then the holders. Counts from the file
// are never trusted beyond the arrays.
struct UsedParts {
  std::size_t instances_end, holders_begin, holders_end;
};
UsedParts used_parts(std::uint8_t instances, std::uint16_t holders) {
  const std::size_t i = std::min<std::size_t>(instances, kMaxLiveGpuInstances);
  const std::size_t h = std::min<std::size_t>(holders, kMaxHolders);
  return {kInstancesBegin + i * sizeof(InstanceRecord), kHoldersBegin, kHoldersBegin + h * sizeof(HolderRecord)};
}

void load_words(const char* slot, std::uint64_t* words, std::size_t begin, std::size_t end) {
  for (std::size_t at = begin; at < end; at += 8) words[at / 8] = load_word(slot + 8 + at);
}

// An instance's record as far as it means anything: to its last compute instance.
constexpr std::size_t kComputeBegin = offsetof(InstanceRecord, compute), kComputeCountWord = 1;
static_assert(offsetof(InstanceRecord, compute_count) == 8 * kComputeCountWord && kComputeBegin % 8 == 0);
void load_instance(const char* slot, std::uint64_t* words, std::size_t begin) {
  load_words(slot + begin, words, 0, kComputeBegin);
  const std::size_t count = std::min<std::size_t>(words[kComputeCountWord] & 0xff, kMaxComputeInstances);
  load_words(slot + begin, words, kComputeBegin, kComputeBegin + count * sizeof(ComputeRecord));
}

void bound_counts(GpuRecord& record) {
  record.instance_count = std::min<std::uint8_t>(record.instance_count, kMaxLiveGpuInstances);
  record.holder_count = std::min<std::uint16_t>(record.holder_count, kMaxHolders);
  for (std::size_t i = 0; i < record.instance_count; ++i) {
    auto& count = record.instances[i].compute_count;
    count = std::min<std::uint8_t>(count, kMaxComputeInstances);
  }
}

}  // namespace

char* StateFile::slot(int record, int which) const {
  return base_ + header_->slots_offset + slot_offset(record, which, gpu_count_);
}

std::uint64_t StateFile::active(int record) const {
  return control_->active.load(std::memory_order_acquire) >> record & 1;
}

// A copy is good when the slot is the active one at a moment after its sequence number was read (so that what it holds
// was committed), and that number is even and still the same at the end. A commit alone disturbs nobody: a reader
// starts again only when the very slot that it copies is written, that is, in the second commit since it began.
template <class Used>
void StateFile::read_record(int record, std::uint64_t* words, Used copy_used) const {
  for (;;) {
    const std::uint64_t which = active(record);
    const char* at = slot(record, static_cast<int>(which));
    const std::uint64_t before = load_word(at);
    if ((before & 1) == 0 && active(record) == which) {
      copy_used(at, words);
      if (load_word(at) == before) return;
    }
    retries_.fetch_add(1, std::memory_order_relaxed);
  }
}

void StateFile::read_gpu(int gpu, GpuRecord& record) const {
  read_record(gpu, reinterpret_cast<std::uint64_t*>(&record), [](const char* at, std::uint64_t* words) {
    words[0] = load_word(at + 8);
    const GpuHead head = head_of(words[0]);
    const UsedParts used = used_parts(head.instance_count, head.holder_count);
    load_words(at, words, kGpuHeadBytes, kInstancesBegin);
    for (std::size_t begin = kInstancesBegin; begin < used.instances_end; begin += sizeof(InstanceRecord)) {
      load_instance(at, words + begin / 8, begin);
    }
    load_words(at, words, used.holders_begin, used.holders_end);
  });
  bound_counts(record);
}

GpuHead StateFile::read_gpu_summary(int gpu) const {
  std::uint64_t word = 0;
  read_record(gpu, &word, [](const char* at, std::uint64_t* words) { words[0] = load_word(at + 8); });
  return head_of(word);
}

bool StateFile::read_instance(int gpu, int id, InstanceRecord& instance) const {
  bool found = false;
  read_record(gpu, reinterpret_cast<std::uint64_t*>(&instance), [&](const char* at, std::uint64_t* words) {
    found = false;
    const std::size_t end = used_parts(head_of(load_word(at + 8)).instance_count, 0).instances_end;
    for (std::size_t begin = kInstancesBegin; begin < end && !found; begin += sizeof(InstanceRecord)) {
      const std::uint64_t first = load_word(at + 8 + begin);
      if (static_cast<int>(first >> kInstanceIdShift & 0xff) != id) continue;
      found = true;
      load_instance(at, words, begin);
    }
  });
  instance.compute_count = std::min<std::uint8_t>(instance.compute_count, kMaxComputeInstances);
  return found;
}

NodeRecord StateFile::read_node() const {
  NodeRecord record;
  read_record(gpu_count_, reinterpret_cast<std::uint64_t*>(&record),
              [](const char* at, std::uint64_t* words) { load_words(at, words, 0, sizeof(NodeRecord)); });
  return record;
}

std::uint32_t StateFile::fault_count() const {
  std::uint64_t word = 0;
  read_record(gpu_count_ + 1, &word, [](const char* at, std::uint64_t* words) { words[0] = load_word(at + 8); });
  return std::min<std::uint32_t>(static_cast<std::uint32_t>(word & 0xffffffff), kMaxFaults);
}

FaultsRecord StateFile::read_faults() const {
  FaultsRecord record;
  read_record(gpu_count_ + 1, reinterpret_cast<std::uint64_t*>(&record),
              [](const char* at, std::uint64_t* words) { load_words(at, words, 0, sizeof(FaultsRecord)); });
  record.count = std::min<std::uint32_t>(record.count, kMaxFaults);
  for (FaultRecord& row : record.rows) row.function[sizeof row.function - 1] = '\0';
  return record;
}

std::uint64_t StateFile::files_change() const { return control_->files_change.load(std::memory_order_acquire); }
void StateFile::set_files_change(std::uint64_t change) {
  control_->files_change.store(change, std::memory_order_release);
}

// The release stores keep the order: odd number, data, even number. A kill in between leaves an odd number in the idle
// slot, which the next writer moves on from.
void StateFile::write_idle(int record, const void* data, std::size_t used) const {
  char* at = slot(record, static_cast<int>(active(record) ^ 1));
  const std::uint64_t odd = (load_word(at) + 1) | 1;
  store_word(at, odd);
  const char* bytes = static_cast<const char*>(data);
  auto copy = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; i += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes + i, 8);
      store_word(at + 8 + i, word);
    }
  };
  if (record < gpu_count_) {
    const auto& gpu = *static_cast<const GpuRecord*>(data);
    const UsedParts parts = used_parts(gpu.instance_count, gpu.holder_count);
    copy(0, parts.instances_end);
    copy(parts.holders_begin, parts.holders_end);
  } else {
    copy(0, used);
  }
  store_word(at, odd + 1);
}

void StateFile::flip(std::uint64_t records) {
  // Only the lock's holder flips, so a plain read-modify-write of the word loses nothing.
  control_->active.store(control_->active.load(std::memory_order_relaxed) ^ records, std::memory_order_seq_cst);
}

}  // namespace partita::emulator
