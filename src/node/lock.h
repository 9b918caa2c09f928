// node.lock: whoever holds it is the node. A file lock (flock) that dies with its process. Only its owner can open it:
// who can open a file can lock it. All others read beside it, in node.holder, who holds the lock.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/progress.h"

namespace partita::node {

struct LockHolder {
  pid_t pid = 0;
  std::string command;           // "partita apply -f a.yaml"
  std::filesystem::path socket;  // where a daemon answers; "": it is none
};
// "pid 4711 (partita apply -f a.yaml)".
std::string to_string(const LockHolder& holder);

class Lock {
 public:
  Lock(int fd, std::filesystem::path file) : fd_(fd), file_(std::move(file)) {}
  Lock(Lock&& other) noexcept : fd_(std::exchange(other.fd_, -1)), file_(std::move(other.file_)) {}
  Lock& operator=(Lock&&) = delete;
  ~Lock();  // removes node.holder and lets the lock go
  // The file is still the one that is locked: not removed, nor made anew, which another process could lock too.
  bool stands() const;

 private:
  int fd_ = -1;
  std::filesystem::path file_;
};

// `socket`: told to those who ask who holds it. `unavailable`, naming the holder, when `no_wait`, after `timeout`, and
// at once where a daemon holds it; `denied` when the file may not be written. While it waits it says for whom.
Result<Lock> take_lock(const std::filesystem::path& file, const std::string& command, bool no_wait,
                       std::chrono::milliseconds timeout, Progress& progress, const std::filesystem::path& socket = {});

// Who holds the lock now; nullopt when nobody does. Who may not open the lock is told by node.holder, as long as the
// process named there lives.
std::optional<LockHolder> lock_holder(const std::filesystem::path& file);

// This process's command line, shortened.
std::string own_command();

}  // namespace partita::node
