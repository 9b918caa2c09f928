#include "serve/login.h"

#include <grp.h>
#include <pwd.h>

#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "base/text.h"

namespace partita::serve {
namespace {

constexpr std::size_t kEntryBytes = 16u << 10;

std::vector<std::string> groups_of(const passwd& user) {
  std::array<gid_t, 256> ids;
  int count = static_cast<int>(ids.size());
  if (::getgrouplist(user.pw_name, user.pw_gid, ids.data(), &count) < 0) count = static_cast<int>(ids.size());
  std::vector<std::string> names;
  std::vector<char> room(kEntryBytes);
  for (int i = 0; i < count; ++i) {
    group entry{};
    group* found = nullptr;
    if (::getgrgid_r(ids[static_cast<std::size_t>(i)], &entry, room.data(), room.size(), &found) == 0 && found)
      names.emplace_back(found->gr_name);
  }
  return names;
}

api::Caller caller_of(const passwd& user) {
  api::Caller out;
  out.uid = user.pw_uid;
  out.name = user.pw_name;
  out.groups = groups_of(user);
  return out;
}

}  // namespace

Result<api::Caller> user_named(const std::string& name) {
  std::vector<char> room(kEntryBytes);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwnam_r(name.c_str(), &entry, room.data(), room.size(), &found) != 0 || !found)
    return fail(ErrorCode::not_found, "this node has no user " + quote(name));
  return caller_of(*found);
}

api::Caller Login::local(uid_t uid) {
  constexpr std::chrono::seconds kFresh{10};
  const Time now = clock_.now();
  {
    const std::scoped_lock lock(mutex_);
    const auto found = known_.find(uid);
    const bool fresh = found != known_.end() && now >= found->second.at && now - found->second.at < kFresh;
    if (fresh) return found->second.caller;
  }
  std::vector<char> room(kEntryBytes);
  passwd entry{};
  passwd* found = nullptr;
  api::Caller caller;
  caller.uid = uid;
  caller.name = "uid " + std::to_string(uid);
  if (::getpwuid_r(uid, &entry, room.data(), room.size(), &found) == 0 && found) caller = caller_of(*found);
  caller.administrator = uid == 0 || everyone_administers_;
  const std::scoped_lock lock(mutex_);
  known_.insert_or_assign(uid, Known{caller, now});
  return caller;
}

}  // namespace partita::serve
