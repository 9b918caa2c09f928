#include <cstring>
#include <iterator>
#include <utility>

#include "emulator/engine/state_file.h"
#include "emulator/engine/words.h"

namespace partita::emulator {

namespace {

template <class Record>
void write_entry(char* at, const Record& record) {
  std::uint64_t words[sizeof(Record) / 8];
  std::memcpy(words, &record, sizeof record);
  for (std::size_t i = 0; i < std::size(words); ++i) store_word(at + 8 * i, words[i]);
}

}  // namespace

StateFile::Transaction::Transaction(StateFile& file) : file_(file), locked_(file.lock()) {}

StateFile::Transaction::~Transaction() {
  if (locked_) file_.unlock();
}

GpuRecord& StateFile::Transaction::gpu(int index) {
  for (auto& [gpu, record] : gpus_) {
    if (gpu == index) return *record;
  }
  auto record = std::make_unique_for_overwrite<GpuRecord>();
  file_.read_gpu(index, *record);
  return *gpus_.emplace_back(index, std::move(record)).second;
}

NodeRecord& StateFile::Transaction::node() {
  if (!node_) node_ = file_.read_node();
  return *node_;
}

FaultsRecord& StateFile::Transaction::faults() {
  if (!faults_) faults_ = std::make_unique<FaultsRecord>(file_.read_faults());
  return *faults_;
}

void StateFile::Transaction::add_event(EventRecord event) {
  event.number = node().next_event++;
  write_entry(file_.event_entry(event.number), event);
  has_events_ = true;
}

void StateFile::Transaction::add_account(AccountRecord account) {
  account.number = node().next_account++;
  write_entry(file_.account_entry(account.number), account);
}

std::vector<int> StateFile::Transaction::changed_gpus() const {
  std::vector<int> indices;
  indices.reserve(gpus_.size());
  for (const auto& [gpu, record] : gpus_) indices.push_back(gpu);
  return indices;
}

void StateFile::Transaction::commit() {
  std::uint64_t records = 0;
  auto write = [&](int record, const void* data, std::size_t size) {
    file_.write_idle(record, data, size);
    records |= std::uint64_t{1} << record;
  };
  for (const auto& [gpu, record] : gpus_) write(gpu, record.get(), sizeof *record);
  if (node_) write(file_.gpu_count_, &*node_, sizeof *node_);
  if (faults_) write(file_.gpu_count_ + 1, faults_.get(), sizeof *faults_);
  // Up to here readers see the old state, from the next store on the new one.
  file_.flip(records);
  if (std::exchange(has_events_, false)) file_.wake_waiters();
}

}  // namespace partita::emulator
