// All that goes wrong on purpose, but for the daemon's own end.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "evidence.h"
#include "holders.h"
#include "node/lease_test_support.h"

namespace partita::chaos {

class Disturber {
 public:
  Disturber(node::LeaseWorld& world, Evidence& evidence, Holders& holders)
      : world_(world), evidence_(evidence), holders_(holders) {}

  // The driver's next calls of some kind answer with an error.
  void add_fault();
  void clear_faults();
  // A GPU falls off the bus, or one that did comes back.
  void lose_or_find_gpu();
  void find_all_gpus();
  // Another manager makes an instance, or takes one of its own away. Only while the node does nothing.
  void foreign();
  // Instances and processes are gone, the boot id is new. `machine`: all processes, and files in memory, too.
  void reboot(bool machine);

  // Serials of what other managers made and that is still theirs.
  const std::set<std::uint32_t>& foreign_serials() const { return foreign_; }
  const std::map<std::string, int>& counts() const { return counts_; }

 private:
  void make_foreign();
  void remove_foreign();

  node::LeaseWorld& world_;
  Evidence& evidence_;
  Holders& holders_;
  std::set<std::uint32_t> foreign_;
  std::set<int> lost_;
  std::map<std::string, int> counts_;
};

}  // namespace partita::chaos
