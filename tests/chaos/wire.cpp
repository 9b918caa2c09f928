#include "wire.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "api/json.h"
#include "api/json_read.h"
#include "base/text.h"

namespace partita::chaos {
namespace {

bool send_all(int socket, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t sent = ::send(socket, bytes, size, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool receive_all(int socket, char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t got = ::recv(socket, bytes, size, 0);
    if (got < 0 && errno == EAGAIN) throw std::runtime_error("the daemon lives, but does not answer");
    if (got <= 0) return false;
    bytes += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

bool send_text(int socket, const std::string& text) {
  const std::uint64_t size = text.size();
  return send_all(socket, reinterpret_cast<const char*>(&size), sizeof size) &&
         send_all(socket, text.data(), text.size());
}

std::optional<std::string> receive_text(int socket) {
  std::uint64_t size = 0;
  if (!receive_all(socket, reinterpret_cast<char*>(&size), sizeof size)) return std::nullopt;
  std::string text(size, '\0');
  if (!receive_all(socket, text.data(), size)) return std::nullopt;
  return text;
}

// Six lines, then the body.
std::string encode(const Ask& ask) {
  return ask.verb + "\n" + std::to_string(ask.caller.uid) + "\n" + ask.caller.name + "\n" +
         (ask.caller.administrator ? "1" : "0") + "\n" + join(ask.caller.groups, ",") + "\n" + ask.name + "\n" +
         ask.body;
}

Ask decode_ask(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t at = 0;
  for (int i = 0; i < 6; ++i) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  Ask ask{lines[0], {}, lines[5], text.substr(at)};
  ask.caller.uid = static_cast<uid_t>(std::stoul(lines[1]));
  ask.caller.name = lines[2];
  ask.caller.administrator = lines[3] == "1";
  if (!lines[4].empty()) ask.caller.groups = split(lines[4], ',');
  return ask;
}

std::string encode(const Answer& answer) {
  return answer.error ? "-" + api::to_json(*answer.error) : "+" + api::to_json(answer.leases);
}

Answer decode_answer(const std::string& text) {
  Answer answer;
  const std::string json = text.substr(1);
  if (text.starts_with("+")) {
    auto leases = api::read_leases(json);
    if (!leases) throw std::runtime_error(leases.error().message + " in " + json);
    answer.leases = *std::move(leases);
    return answer;
  }
  auto error = api::read_error(json);
  if (!error) throw std::runtime_error(error.error().message + " in " + json);
  answer.error = *std::move(error);
  return answer;
}

}  // namespace partita::chaos
