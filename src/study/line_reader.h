// Lines from a pipe of which nothing can be trusted: neither their length nor that they end. Internal to study/.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace partita::study {

class LineReader {
 public:
  explicit LineReader(std::size_t most_bytes) : most_(most_bytes) {}
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;
  ~LineReader() { close(); }

  void watch(int fd);  // becomes the owner
  void close();
  int fd() const { return fd_; }
  bool open() const { return fd_ >= 0; }

  // What came since, without waiting; at most 4 MiB at a time. Of a line longer than `most_bytes` the first
  // `most_bytes` + 1 are told, once; text after the last newline becomes a line when the pipe ends. Bytes
  // above 0x7F of a line that is not UTF-8 are written \xNN.
  std::vector<std::string> lines();

 private:
  void take(const char* bytes, std::size_t size, std::vector<std::string>& out);

  std::size_t most_;
  int fd_ = -1;
  std::string pending_;
  bool skipping_ = false;  // the rest of a line that was too long
};

}  // namespace partita::study
