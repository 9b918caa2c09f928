// For the tests of this folder: a temporary root for emulated nodes, and processes that wait until they are ended.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "base/test_folder.h"
#include "catalog/catalog.h"

namespace partita::emulator {

// PARTITA_EMULATED_ROOT is a new folder for the life of this.
class TemporaryRoot : public TestFolder {
 public:
  TemporaryRoot() { ::setenv("PARTITA_EMULATED_ROOT", path().c_str(), 1); }
  ~TemporaryRoot() { ::unsetenv("PARTITA_EMULATED_ROOT"); }
};

class Child {
 public:
  Child() : pid_(::fork()) {
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) ::pause();
  }
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_;
};

inline catalog::Catalog open_catalog() {
  auto catalog = catalog::Catalog::open();
  if (!catalog) throw std::runtime_error(catalog.error().message);
  return std::move(*catalog);
}

}  // namespace partita::emulator
