// Partitions of a node for measured runs: instances are made as `apply --demand` makes them, and stay when given back.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/common.h"
#include "study/provider.h"

namespace partita::cli {

class NodePartitions final : public study::PartitionProvider {
 public:
  // Keeps a reference to the session.
  explicit NodePartitions(Session& session) : session_(session) {}

  std::string label() const override;
  // Commands find the MIG device, or the whole GPU, in CUDA_VISIBLE_DEVICES. An instance goes to one tenant; a whole
  // GPU without MIG to all that ask.
  Result<study::Held> acquire(const study::PartitionRequest& request) override;
  void release(const study::Held& held) override;

 private:
  struct Taken {
    std::string uuid, profile;
  };
  // The instances given out that no process uses yet, by profile: a demand counts them, those in use it does not. Waits
  // a little for commands that have just been started.
  Result<std::map<std::string, int>> idle_ones() const;
  bool taken(const std::string& uuid) const;

  Session& session_;
  std::vector<Taken> taken_;
};

// `command`, held on the emulated node for as long as it runs: it shows up in status there.
std::vector<std::string> held_on_emulated(const std::string& program, const std::string& node,
                                          const std::vector<std::string>& command);

}  // namespace partita::cli
