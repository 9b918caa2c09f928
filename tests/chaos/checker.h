// What must hold, told from the driver's state, its files, the ledger's tables and what callers were told.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "disturb.h"
#include "evidence.h"
#include "holders.h"
#include "service.h"

namespace partita::chaos {

struct Limits {  // per user and per group, as the policy file says
  int partitions = 0, compute_slices = 0, memory_mib = 0;
};

class Checker {
 public:
  Checker(node::LeaseWorld& world, const Clock& clock, Evidence& evidence, Holders& holders, Disturber& disturber,
          Limits user, Limits group)
      : world_(world),
        clock_(clock),
        evidence_(evidence),
        holders_(holders),
        disturber_(disturber),
        user_(user),
        group_(group) {}

  using Words = std::vector<std::string>;
  // What holds at every moment, whatever is going on: nothing pinned is gone, one holder per device, quotas.
  Words always(const std::vector<api::Lease>& live);
  // What holds once all has settled: ledger, driver, permissions and files say the same.
  Words settled(const std::vector<api::Lease>& live);
  // What was acknowledged is there, or has ended for a reason that did happen. Learns what is there now.
  Words kept(const std::vector<api::Lease>& all);

 private:
  void one_holder(const std::vector<api::Lease>& live, Words& words) const;
  void quotas(const std::vector<api::Lease>& live, Words& words) const;
  void pinned_are_there(Words& words);
  void ledger_is_driver(const std::vector<api::Lease>& live, Words& words) const;
  void permissions(const std::vector<api::Lease>& live, Words& words) const;
  void files(const std::vector<api::Lease>& live, Words& words) const;
  void groups(const std::vector<api::Lease>& live, Words& words) const;
  void file_of(const api::Lease& lease, Words& words) const;
  Limits size_of(const api::Lease& lease) const;
  void kept_alive(Promise& promise, const api::Lease& now, Words& words);
  std::string may_end(const Promise& promise, const api::Lease& ended) const;

  node::LeaseWorld& world_;
  const Clock& clock_;
  Evidence& evidence_;
  Holders& holders_;
  Disturber& disturber_;
  Limits user_, group_;
};

}  // namespace partita::chaos
