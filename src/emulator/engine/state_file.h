// The mapped state of an emulated node: a header, the spec (immutable), and per record two slots of which one is
// active. One 64-bit word says for every record which slot is active, so one store commits any number of records.
//
// Readers copy the active slot between two looks at its sequence number and start again when it moved: they take no
// lock, make no system call and never wait. Writers hold a lock on the file (an open-file-description lock: it ends
// with the process and excludes the process's own other opens) and a mutex of the process; they change private copies,
// write the idle slots and flip. A writer killed at any instruction leaves the old or the new state.
//
// Survives fork(): the child closes the inherited lock descriptor and opens its own when it first writes.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "emulator/engine/records.h"

namespace partita::emulator {

struct StateHeader;
struct StateControl;

class StateFile {
 public:
  // Writes folder/state complete, then gives it its name: it exists whole or not at all. `invalid` when there is one.
  static Result<void> create(const std::filesystem::path& folder, std::string_view immutable,
                             const std::vector<GpuRecord>& gpus, const NodeRecord& node);
  static Result<std::unique_ptr<StateFile>> open(const std::filesystem::path& folder);
  ~StateFile();
  StateFile(const StateFile&) = delete;
  StateFile& operator=(const StateFile&) = delete;

  std::string_view immutable() const;
  int gpu_count() const { return gpu_count_; }
  bool writable() const { return writable_; }

  // Snapshots. The second reads the mode and the counts only.
  void read_gpu(int gpu, GpuRecord& record) const;
  GpuHead read_gpu_summary(int gpu) const;
  // One GPU instance by id; false when there is none. Costs a fraction of a whole snapshot.
  bool read_instance(int gpu, int id, InstanceRecord& instance) const;
  NodeRecord read_node() const;
  std::uint32_t fault_count() const;
  FaultsRecord read_faults() const;

  // An event that has been counted by the node's record; false when it is not there yet or was overwritten since.
  bool read_event(std::uint64_t number, EventRecord& event) const;
  // The same for a process that has ended, counted by NodeRecord::next_account.
  bool read_account(std::uint64_t number, AccountRecord& account) const;
  // Returns when NodeRecord::next_event is beyond `number` (true) or the time is over. Sleeps, and is woken by
  // commit().
  bool wait_event(std::uint64_t number, std::chrono::milliseconds time_out) const;

  // How often this process's readers had to start again.
  std::uint64_t retries() const { return retries_.load(std::memory_order_relaxed); }

  // NodeRecord::change that the files under root/ show.
  std::uint64_t files_change() const;
  void set_files_change(std::uint64_t change);

  // One writer's turn. Holds the lock until it is destroyed; nothing is seen by others before commit().
  class Transaction {
   public:
    explicit Transaction(StateFile& file);
    ~Transaction();
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;

    // False when the file was removed or cannot be locked: nothing may be changed.
    explicit operator bool() const { return locked_; }

    GpuRecord& gpu(int index);  // loads a private copy on first use
    NodeRecord& node();
    FaultsRecord& faults();
    // Seen with the commit; gives it its number.
    void add_event(EventRecord event);
    void add_account(AccountRecord account);
    std::vector<int> changed_gpus() const;
    // Publishes all loaded copies at once. The lock stays held.
    void commit();

   private:
    StateFile& file_;
    bool locked_ = false;
    std::vector<std::pair<int, std::unique_ptr<GpuRecord>>> gpus_;
    std::optional<NodeRecord> node_;
    std::unique_ptr<FaultsRecord> faults_;
    bool has_events_ = false;
  };

  // For the fork handler only.
  void forget_lock_descriptor();

 private:
  StateFile() = default;
  bool lock();
  void unlock();
  bool reopen_lock_descriptor();
  char* slot(int record, int which) const;
  std::uint64_t active(int record) const;
  template <class Used>
  void read_record(int record, std::uint64_t* words, Used used_bytes) const;
  void write_idle(int record, const void* data, std::size_t used) const;
  void flip(std::uint64_t records);
  char* event_entry(std::uint64_t number) const;
  char* account_entry(std::uint64_t number) const;
  void wake_waiters() const;

  std::filesystem::path path_;
  char* base_ = nullptr;
  std::size_t size_ = 0;
  StateControl* control_ = nullptr;
  const StateHeader* header_ = nullptr;
  int gpu_count_ = 0;
  bool writable_ = false;
  int lock_fd_ = -1;
  pid_t lock_pid_ = 0;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  mutable std::atomic<std::uint64_t> retries_{0};
};

}  // namespace partita::emulator
