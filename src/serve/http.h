// What a route is asked and what it answers. No HTTP library here: that is engine.cpp's.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/caller.h"
#include "base/error.h"

namespace partita::serve {

struct Request {
  std::string method;  // HEAD is GET here
  std::string path;    // decoded
  std::multimap<std::string, std::string> query;
  std::multimap<std::string, std::string> headers;  // names in lower case
  std::string body;

  std::optional<std::string> header(const std::string& lower_name) const;
  // The first type of Accept that is `type` ("text/event-stream").
  bool accepts(std::string_view type) const;
};

// Where a streaming answer goes.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual bool write(std::string_view text) = 0;  // false: the client is gone
  virtual bool open() const = 0;                  // false: the client is gone, or the server ends
};

struct Response {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  std::function<void(Sink&)> stream;  // when set: instead of body
};

// {"type", "title", "status", "code", "detail", "details"}; the status is the code's (404 for not_found) unless one is
// given.
Response problem(const Error& error, std::optional<int> status = std::nullopt);
int http_status(ErrorCode code);
std::string_view reason_phrase(int status);

}  // namespace partita::serve
