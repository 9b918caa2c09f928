// Partitions of a node for measured runs: instances are made as `apply --demand` makes them. When the last one is given
// back, the GPUs that were changed for them are as they were.
#pragma once

#include <set>
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
  Result<void> release(const study::Held& held) override;

 private:
  struct Taken {
    std::string uuid, profile;
  };
  // One more instance of that profile, beside those that are taken.
  Result<layout::NodeState> make(const std::string& profile);
  Result<void> restore();
  bool taken(const std::string& uuid) const;

  Session& session_;
  std::vector<Taken> taken_;
  layout::NodeState before_;       // when the first was asked for
  std::set<std::string> changed_;  // UUIDs of the GPUs that differ from that
};

// `command`, held on the emulated node for as long as it runs: it shows up in status there.
std::vector<std::string> held_on_emulated(const std::string& program, const std::string& node,
                                          const std::vector<std::string>& command);

}  // namespace partita::cli
