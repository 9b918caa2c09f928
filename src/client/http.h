// HTTP to one server: the only part that knows the HTTP library. Inside client/ only.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "client/client.h"

namespace partita::client {

struct Ask {
  std::string method;  // "GET"
  std::string target;  // "/v1/leases?limit=5", encoded
  std::string body{};  // JSON; "" for none
  std::vector<std::pair<std::string, std::string>> headers{};
  std::chrono::seconds patience = std::chrono::minutes(2);  // between two pieces of the answer
  // Where the answer comes in lines as they are written: called with each, without its end.
  std::function<void(std::string_view)> on_line{};
};

struct Reply {
  int status = 0;
  std::string body;       // what was not told line by line
  std::string next_page;  // target of the next page, "" when there is none
};

class Http {
 public:
  virtual ~Http() = default;
  // `unavailable` when nobody answers. Any status is a reply.
  virtual Result<Reply> ask(const Ask& ask) = 0;
};

Result<std::unique_ptr<Http>> http_to(const std::filesystem::path& socket);
Result<std::unique_ptr<Http>> http_to(const Remote& remote);

// As a part of an address: all but letters, digits, '-', '.', '_' and '~' as %XX.
std::string percent_encoded(std::string_view text);

}  // namespace partita::client
