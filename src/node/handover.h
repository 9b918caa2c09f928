// Handing a lease's partition over, and taking it back: permissions, CDI file, control group. The only user of deliver/
// in this folder.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/lease.h"
#include "base/error.h"
#include "deliver/confine.h"
#include "driver/driver.h"
#include "layout/layout.h"
#include "node/lease_record.h"
#include "node/node.h"

namespace partita::node {

// Is the instance of the place there, as it was granted? The driver's ids and UUIDs may be others than before.
const layout::GpuInstance* instance_at(const layout::Gpu& gpu, const LeasePlace& place);

// The kernel's numbers of NVIDIA's device files.
struct Majors {
  int gpu = 195, caps = 0, uvm = 0;
  std::vector<int> guarded;
};

// A fault of a GPU after which nothing on it is as it was. All others may be over at the next look.
inline bool is_for_good(std::string_view fault) { return fault == "lost" || fault == "reset required"; }

class Handover {
 public:
  Handover(driver::Driver& driver, const Options& options);

  // What the holder gets, read from the live GPU.
  Result<api::Grant> grant_of(const layout::Gpu& gpu, const LeasePlace& place);
  // Those of its nodes that owner and mode guard.
  std::vector<deliver::CapabilityNode> capability_nodes(const api::Grant& grant) const;
  // Permissions to the holder, the CDI file written; again: makes them anew. Nothing is left when it fails.
  Result<void> give(LeaseRecord& record);
  // The CDI file alone, because a device is called otherwise now.
  Result<void> write_cdi(LeaseRecord& record);
  // Permissions to root, the CDI file removed.
  Result<void> take(LeaseRecord& record);
  // Instances of ours that nobody has are root's alone.
  Result<void> close(const layout::Gpu& gpu, const layout::GpuInstance& instance);
  // CDI files of leases that are none: removed. The names.
  Result<std::vector<std::string>> remove_files_but(const std::set<std::string, std::less<>>& live);

  // The lease's control group. Made by confine(); without one processes() is empty and the rest does nothing.
  Result<void> confine(const LeaseRecord& record, pid_t pid);
  Result<void> let_out(std::string_view lease, pid_t pid);
  Result<std::vector<pid_t>> processes(std::string_view lease);
  Result<void> signal(std::string_view lease, int signal);
  Result<void> dissolve(std::string_view lease);
  // Ends at once what is in it, and the group, of a lease that has nothing any more. What takes longer than a moment to
  // die keeps the group.
  void clear_group(std::string_view lease);
  // Of leases of earlier processes, too.
  std::vector<std::string> groups();
  // How processes are confined here, or why they are not.
  Result<std::string> confinement_kind();

  // All processes of the lease's group, and that one, are told to the emulated driver.
  Result<void> register_processes(LeaseRecord& record, std::optional<pid_t> also = std::nullopt);

 private:
  const Majors& majors();
  Result<deliver::Confinement*> confinement();
  Result<bool> has_group(std::string_view lease);
  Result<api::DeviceNode> capability(const layout::Gpu& gpu, int gi, std::optional<int> ci);
  std::filesystem::path below_root(std::string_view path) const;
  std::filesystem::path access_file(int minor, int gi, std::optional<int> ci) const;
  std::vector<int> near_processors(std::string_view bus_id) const;
  gid_t group_of(uid_t uid);
  bool gives_permissions() const;
  void happened(const char* what) const;

  driver::Driver& driver_;
  const Options& options_;
  std::optional<Majors> majors_;
  std::unique_ptr<deliver::Confinement> confinement_;
  std::optional<Error> no_confinement_;
  std::set<std::string, std::less<>> groups_;
  std::map<uid_t, gid_t> gids_;
};

}  // namespace partita::node
