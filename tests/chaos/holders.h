// Two hundred holders: what they ask at random, and what they were promised.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "evidence.h"
#include "service.h"
#include "wire.h"

namespace partita::chaos {

using Random = std::mt19937_64;

// What the checker needs to know of a lease that was acknowledged: what was said, and what may have happened since.
struct Promise {
  int holder = 0;
  api::Lease lease;          // as it was told last
  std::uint32_t serial = 0;  // of its instance then; 0: it had none, or it may be another one by now
  bool release_asked = false;
  bool unsure = false;             // resize, park, unpark or renew was asked and not answered
  std::optional<Time> may_expire;  // the earliest that is sure, when a renewal was not answered
  bool rebooted = false, faulted = false;
  std::set<int> lost;  // GPUs that were lost since
};

struct Tally {
  std::map<std::string, int> asked, granted, refused;  // by verb; refused: by verb and code
  std::map<std::string, int> causes;                   // of ends
};

// A process of a user, which waits until it is killed.
class Process {
 public:
  explicit Process(uid_t uid);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

class Holders {
 public:
  static constexpr int kCount = 200, kUsers = 12, kGroups = 4;

  Holders(std::uint64_t seed, const Clock& clock, Evidence& evidence)
      : random_(seed), clock_(clock), evidence_(evidence) {}

  // Something that an idle holder would ask now; nullopt: it is content.
  std::optional<Ask> next(int connection);
  void answered(int connection, Answer answer);
  // The daemon died: whoever waited for an answer gets none.
  void unanswered();
  bool waiting() const { return !asked_.empty(); }

  // Ends the process of some holder; of all, as a reboot does.
  void end_one_process();
  void end_all_processes();
  bool process_lives(pid_t pid) const { return processes_.contains(pid); }

  std::map<std::string, Promise>& promises() { return promises_; }
  // Names of leases that may be there or not: their callers got no answer.
  std::map<std::string, int>& unanswered_leases() { return unanswered_; }
  // Ids of leases that ended, as was answered.
  std::set<std::int64_t>& finished() { return finished_; }
  std::vector<std::string>& violations() { return violations_; }
  Tally& tally() { return tally_; }
  Random& random() { return random_; }
  // Whether the driver may refuse what is asked from here on.
  void set_faults(bool on) {
    faults_ = on;
    for (auto& [name, promise] : promises_) promise.faulted |= on;
  }
  static api::Caller user(int holder);
  int draw(int below) { return static_cast<int>(random_() % static_cast<std::uint64_t>(below)); }
  bool chance(int percent) { return draw(100) < percent; }

 private:
  struct Asked {
    Ask ask;
    int holder = 0;
    bool stranger = false;  // asks for another's lease
    bool busy = false;      // a process of its lease ran
    pid_t process = 0;      // that may have been ended meanwhile
  };

  Ask ask_lease(int holder, Asked& asked);
  std::optional<Ask> ask_change(int holder, Asked& asked);
  api::Requirement requirement();
  pid_t new_process(uid_t uid);
  bool runs_something(const Promise& promise) const;
  void promised(int holder, const api::Lease& lease);
  void refused(const Asked& asked, const Error& error);
  void changed(const Asked& asked, const api::Lease& lease);
  void check_handed_over(const api::Lease& lease);
  void violation(const std::string& text) { violations_.push_back(text); }
  std::vector<std::string> names_of(int holder) const;

  Random random_;
  const Clock& clock_;
  Evidence& evidence_;
  std::map<std::string, Promise> promises_;  // by name
  std::map<std::string, int> unanswered_;
  std::set<std::int64_t> finished_;
  std::map<int, Asked> asked_;  // by connection
  std::set<int> busy_holders_;  // they wait for an answer
  std::map<pid_t, std::unique_ptr<Process>> processes_;
  std::vector<std::string> violations_;
  bool faults_ = false;
  Tally tally_;
};

api::ProcessId process_id(pid_t pid);  // read from /proc

}  // namespace partita::chaos
