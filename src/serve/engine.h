// HTTP itself: the one file that knows the HTTP library. Reads one request from a connection, asks, and leaves the
// answer with the connection, which sends it. One per thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "serve/connection.h"
#include "serve/http.h"

namespace partita::serve {

// What stands behind it.
class Application {
 public:
  virtual ~Application() = default;
  // Once the head is here and before a body is read. An answer refuses; nullopt goes on.
  virtual std::optional<Response> refuse(const Request& head, const Peer& peer) = 0;
  virtual Response answer(const Request& request, const Peer& peer) = 0;
  virtual std::size_t most_body_bytes() const = 0;
};

class Engine {
 public:
  // `stop` ends streaming answers.
  Engine(Application& application, std::stop_token stop);
  ~Engine();
  // One request, which has arrived. False: the connection ends when its answer is sent.
  bool answer(Connection& connection);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace partita::serve
