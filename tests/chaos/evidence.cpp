#include "evidence.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <stdexcept>

#include "emulator/engine/root_files.h"

namespace partita::chaos {
namespace {

emulator::Engine open_engine(const std::filesystem::path& folder) {
  auto engine = emulator::Engine::open(folder);
  if (!engine) throw std::runtime_error(engine.error().message);
  return *std::move(engine);
}

using RowDo = std::function<void(sqlite3_stmt*)>;

void each_row(sqlite3* database, const char* sql, const RowDo& row) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database, sql, -1, &statement, nullptr) != SQLITE_OK)
    throw std::runtime_error(sqlite3_errmsg(database));
  while (sqlite3_step(statement) == SQLITE_ROW) row(statement);
  sqlite3_finalize(statement);
}

std::string text(sqlite3_stmt* row, int column) {
  return reinterpret_cast<const char*>(sqlite3_column_text(row, column));
}

sqlite3* open_ledger(const std::filesystem::path& file) {
  sqlite3* database = nullptr;
  if (sqlite3_open_v2(file.c_str(), &database, SQLITE_OPEN_READONLY, nullptr) != SQLITE_OK)
    throw std::runtime_error("cannot open the ledger");
  sqlite3_busy_timeout(database, 5000);
  return database;
}

}  // namespace

Evidence::Evidence(const std::filesystem::path& node_folder)
    : root_(node_folder / "root"), engine_(open_engine(node_folder)) {}

std::vector<Seen> Evidence::instances() const {
  std::vector<Seen> all;
  for (int gpu = 0; gpu < gpus(); ++gpu) {
    const emulator::GpuSpec& spec = engine_.spec().gpus[static_cast<std::size_t>(gpu)];
    for (const emulator::GpuInstanceState& instance : engine_.gpu(gpu).instances) {
      Seen seen{gpu, instance.id, instance.start, instance.profile, instance.serial, {}, {}, 0, 0, ""};
      for (const emulator::ComputeInstanceState& compute : instance.compute) {
        seen.compute.push_back(compute.id);
        seen.uuids.push_back(compute.uuid);
      }
      const auto profile = std::ranges::find(spec.profiles, instance.profile, &emulator::ProfileSpec::nvml_profile);
      seen.compute_slices = profile->compute_slices;
      seen.memory_mib = profile->memory_mib;
      seen.profile_name = profile->name;
      all.push_back(std::move(seen));
    }
  }
  return all;
}

std::optional<Seen> Evidence::at(const std::string& gpu_uuid, int start) const {
  for (Seen& seen : instances())
    if (uuid(seen.gpu) == gpu_uuid && seen.start == start) return std::move(seen);
  return std::nullopt;
}

const emulator::ProfileSpec* Evidence::profile(int gpu, const std::string& name) const {
  for (const emulator::ProfileSpec& profile : spec(gpu).profiles)
    if (name == profile.name || name.ends_with("c." + profile.name)) return &profile;
  return nullptr;
}

bool Evidence::busy(const Seen& instance) const {
  return std::ranges::any_of(engine_.gpu(instance.gpu).holders,
                             [&](const auto& holder) { return holder.gpu_instance == instance.id; });
}

std::vector<Evidence::Access> Evidence::access(const Seen& instance) const {
  const int minor = engine_.spec().gpus[static_cast<std::size_t>(instance.gpu)].minor;
  std::vector<int> minors = {emulator::capability_minor(minor, instance.id)};
  for (const int ci : instance.compute) minors.push_back(emulator::capability_minor(minor, instance.id, ci));
  std::vector<Access> all;
  for (const int number : minors) {
    Access access;
    access.node = "nvidia-cap" + std::to_string(number);
    struct stat info{};
    if (::stat((root_ / "dev/nvidia-caps" / access.node).c_str(), &info) == 0) {
      access.uid = static_cast<long>(info.st_uid);
      access.mode = info.st_mode & 07777U;
    }
    all.push_back(std::move(access));
  }
  return all;
}

int Evidence::capability_nodes() const {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(root_ / "dev/nvidia-caps")) {
    const int number = std::stoi(entry.path().filename().string().substr(std::string("nvidia-cap").size()));
    if (number != emulator::kConfigMinor && number != emulator::kMonitorMinor && number != emulator::kFabricMinor)
      ++count;
  }
  return count;
}

std::vector<Evidence::Group> Evidence::groups(const std::string& parent) {
  constexpr std::string_view kPrefix = "lease-";
  std::vector<Group> all;
  std::vector<std::filesystem::path> roots = {"/sys/fs/cgroup"};
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(roots[0], error))
    if (entry.is_directory() && !entry.is_symlink()) roots.push_back(entry.path());
  for (const auto& root : roots)
    for (const auto& entry : std::filesystem::directory_iterator(root / parent, error)) {
      const std::string name = entry.path().filename();
      if (!name.starts_with(kPrefix)) continue;
      Group group{name.substr(kPrefix.size()), {}};
      std::ifstream processes(entry.path() / "cgroup.procs");
      for (std::string pid; std::getline(processes, pid);)
        if (struct stat info{}; ::stat(("/proc/" + pid).c_str(), &info) == 0) group.users.insert(info.st_uid);
      all.push_back(std::move(group));
    }
  return all;
}

LedgerSeen Evidence::ledger(const std::filesystem::path& file) const {
  sqlite3* const database = open_ledger(file);
  LedgerSeen seen;
  std::string boot;
  std::getline(std::ifstream(root_ / "proc/sys/kernel/random/boot_id") >> std::ws, boot);
  each_row(database, "SELECT gpu, gpu_instance, profile, start, boot_id FROM ownership", [&](sqlite3_stmt* row) {
    if (boot != text(row, 4)) return;  // of an earlier boot: void
    seen.marks.push_back(
        {text(row, 0), sqlite3_column_int(row, 1), sqlite3_column_int(row, 2), sqlite3_column_int(row, 3)});
  });
  each_row(
      database,
      "SELECT 'operation ' || id || ' of pid ' || pid || iif(forward, ' forward', ' back') || ', boot ' || boot_id "
      "|| ': ' || coalesce((SELECT group_concat(gpu || ' ' || kind || ' ' || profile || '@' || start || ' ' || "
      "state, ', ') FROM operation_step WHERE operation = operation.id), '') FROM operation WHERE state = 'open'",
      [&](sqlite3_stmt* row) { seen.open_operations.push_back(text(row, 0)); });
  each_row(database, "SELECT id FROM lease WHERE ended_number IS NULL",
           [&](sqlite3_stmt* row) { seen.live.insert(sqlite3_column_int64(row, 0)); });
  sqlite3_close(database);
  return seen;
}

std::vector<std::string> Evidence::last_events(const std::filesystem::path& file, int most) const {
  std::vector<std::string> lines;
  sqlite3* const database = open_ledger(file);
  const std::string sql =
      "SELECT number, kind, lease, text FROM event ORDER BY number DESC LIMIT " + std::to_string(most);
  each_row(database, sql.c_str(), [&](sqlite3_stmt* row) {
    lines.push_back("event " + text(row, 0) + " " + text(row, 1) + " " + text(row, 2) + ": " + text(row, 3));
  });
  sqlite3_close(database);
  return lines;
}

}  // namespace partita::chaos
