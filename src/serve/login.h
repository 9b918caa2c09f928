// Who a connection's user is: for the Unix socket by the kernel's word, looked up in the user database.
#pragma once

#include <sys/types.h>

#include <map>
#include <mutex>

#include "api/caller.h"
#include "base/clock.h"
#include "base/error.h"

namespace partita::serve {

// A user by name, with groups; `not_found` when the node has no such user.
Result<api::Caller> user_named(const std::string& name);

// Thread safe. Remembers answers for ten seconds, because the database may be far away.
class Login {
 public:
  Login(const Clock& clock, bool everyone_administers) : clock_(clock), everyone_administers_(everyone_administers) {}
  // uid 0 administers. A uid without an entry is called "uid 1234".
  api::Caller local(uid_t uid);

 private:
  struct Known {
    api::Caller caller;
    Time at;
  };
  const Clock& clock_;
  bool everyone_administers_;
  std::mutex mutex_;
  std::map<uid_t, Known> known_;
};

}  // namespace partita::serve
