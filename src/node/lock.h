// node.lock: whoever holds it is the node. A file lock (flock) that dies with its process; the file tells who holds it.
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
  explicit Lock(int fd) : fd_(fd) {}
  Lock(Lock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Lock& operator=(Lock&&) = delete;
  ~Lock();  // empties the file and lets the lock go

 private:
  int fd_ = -1;
};

// `socket`: told to those who ask who holds it. `unavailable`, naming the holder, when `no_wait` or after `timeout`;
// `denied` when the file may not be written. While it waits it says for whom.
Result<Lock> take_lock(const std::filesystem::path& file, const std::string& command, bool no_wait,
                       std::chrono::milliseconds timeout, Progress& progress, const std::filesystem::path& socket = {});

// Who holds the lock now; nullopt when nobody does or the file cannot be read.
std::optional<LockHolder> lock_holder(const std::filesystem::path& file);

// This process's command line, shortened.
std::string own_command();

}  // namespace partita::node
