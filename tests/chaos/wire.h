// What the test and the daemon's process say to each other: whole messages over a stream socket.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/node.h"

namespace partita::chaos {

struct Ask {
  std::string verb;  // "lease", "release", "renew", "resize", "park", "unpark", "attach", "leases", "demand", "reload"
  api::Caller caller;
  std::string name;  // of the lease; demand: a profile
  std::string body;  // the request's JSON
};
struct Answer {
  std::vector<api::Lease> leases;
  std::optional<Error> error;
};

bool send_text(int socket, const std::string& text);
// nullopt: the other side is gone.
std::optional<std::string> receive_text(int socket);

std::string encode(const Ask& ask);
Ask decode_ask(const std::string& text);
std::string encode(const Answer& answer);
Answer decode_answer(const std::string& text);

}  // namespace partita::chaos
