// A file that is open for long: whoever removes or replaces it takes the ground from under what is stored in it.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <utility>

namespace partita::node {

class KeptFile {
 public:
  explicit KeptFile(std::filesystem::path path) : path_(std::move(path)) {
    there_ = ::stat(path_.c_str(), &first_) == 0;
  }
  const std::filesystem::path& path() const { return path_; }
  // It is the one that was there at the beginning.
  bool stands() const {
    struct stat now{};
    return there_ && ::stat(path_.c_str(), &now) == 0 && now.st_ino == first_.st_ino && now.st_dev == first_.st_dev;
  }

 private:
  std::filesystem::path path_;
  struct stat first_{};
  bool there_ = false;
};

}  // namespace partita::node
