// For the tests of this folder: a temporary root for emulated nodes, and processes that wait until they are ended.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "catalog/catalog.h"

namespace partita::emulator {

// PARTITA_EMULATED_ROOT is a new folder for the life of this.
class TemporaryRoot {
 public:
  TemporaryRoot() {
    std::string pattern = (std::filesystem::temp_directory_path() / "partita-control-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
    ::setenv("PARTITA_EMULATED_ROOT", path_.c_str(), 1);
  }
  ~TemporaryRoot() {
    ::unsetenv("PARTITA_EMULATED_ROOT");
    std::error_code none;
    std::filesystem::remove_all(path_, none);
  }
  TemporaryRoot(const TemporaryRoot&) = delete;
  TemporaryRoot& operator=(const TemporaryRoot&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(std::string_view name, std::string_view text) const {
    std::ofstream(path_ / name) << text;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
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
