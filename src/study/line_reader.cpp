#include "study/line_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace partita::study {
namespace {

std::string as_utf8(std::string line) {
  if (!line_of_bad_utf8(line)) return line;
  std::string out;
  for (const char c : line) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80)
      out += c;
    else
      out += fmt::format("\\x{:02X}", byte);
  }
  return out;
}

}  // namespace

void LineReader::watch(int fd) {
  close();
  fd_ = fd;
  fcntl(fd_, F_SETFL, O_NONBLOCK);
}

void LineReader::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

std::vector<std::string> LineReader::lines() {
  constexpr std::size_t kMostAtOnce = 4u << 20;
  std::vector<std::string> out;
  char bytes[65536];
  for (std::size_t total = 0; open() && total < kMostAtOnce;) {
    const ssize_t n = read(fd_, bytes, sizeof bytes);
    if (n > 0) {
      total += static_cast<std::size_t>(n);
      take(bytes, static_cast<std::size_t>(n), out);
    } else if (n == 0) {
      close();
      if (!pending_.empty()) out.push_back(as_utf8(std::exchange(pending_, {})));
    } else if (errno != EINTR) {
      break;
    }
  }
  return out;
}

void LineReader::take(const char* bytes, std::size_t size, std::vector<std::string>& out) {
  while (size > 0) {
    const auto* newline = static_cast<const char*>(std::memchr(bytes, '\n', size));
    const std::size_t part = newline ? static_cast<std::size_t>(newline - bytes) : size;
    if (!skipping_) pending_.append(bytes, part);
    if (!skipping_ && (newline || pending_.size() > most_)) {
      if (pending_.size() > most_) pending_.resize(most_ + 1);
      out.push_back(as_utf8(std::exchange(pending_, {})));
      skipping_ = !newline;
    } else if (newline) {
      skipping_ = false;
    }
    const std::size_t used = part + (newline ? 1 : 0);
    bytes += used;
    size -= used;
  }
}

}  // namespace partita::study
