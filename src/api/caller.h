// Who asks a node for something.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace partita::api {

// Roles and quotas are kept in node/, authentication in serve/ and cli/.
struct Caller {
  uid_t uid = 0;
  std::string name;
  bool administrator = false;       // root, or anyone on an emulated node without a daemon
  bool viewer = false;              // may look, not change
  std::vector<std::string> groups;  // names, for quotas
};

}  // namespace partita::api
