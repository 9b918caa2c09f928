// What a Driver holds: one NVML session and what was learned in it; shared by the files that implement it. No device
// handle outlives a call: after a reset or a reopen old ones are stale, so each operation begins with a UUID.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/driver.h"
#include "driver/nvml_table.h"
#include "driver/tables.h"

namespace partita::driver {

struct Session {
  Session(catalog::Catalog& catalog_in, Options options_in, NvmlLibrary library_in)
      : catalog(&catalog_in), options(std::move(options_in)), library(std::move(library_in)) {}

  // What does not change while NVML stays open and the mode stays on, read once per GPU; keyed by UUID.
  struct Known {
    ProfileTables tables;
    std::shared_ptr<const catalog::Board> board;  // made of `tables`; null: to be made
  };
  // A board made once and shared by all GPUs that show the same tables.
  struct MadeBoard {
    std::shared_ptr<const catalog::Board> catalog_board;
    GpuIdentity identity;
    ProfileTables tables;
    std::shared_ptr<const catalog::Board> board;
  };

  catalog::Catalog* catalog;
  Options options;
  NvmlLibrary library;
  std::map<std::string, Known, std::less<>> known;
  std::vector<MadeBoard> made_boards;

  const NvmlTable& nvml() const { return library.table(); }

  // `unavailable` when a reopen has failed: there is no session then.
  Result<void> ready() const;
  // The device of a GPU; `not_found` when NVML knows no such UUID.
  Result<NvmlDevice> device(std::string_view uuid);
  // "GPU 3 (00000000:47:00.0)", or the UUID when the driver does not tell.
  std::string describe(NvmlDevice device, std::string_view uuid) const;

  // tables.cpp's reading, kept. Needs MIG mode on.
  NvmlResult<Known*> tables_of(const std::string& uuid, NvmlDevice device);
  // The compute profiles of a live instance, kept by its profile.
  NvmlResult<const std::vector<ComputeProfileRow>*> compute_rows_of(const std::string& uuid, NvmlDevice device,
                                                                    NvmlGpuInstance instance);
  // Adds the compute profiles that a live instance of this profile tells, once.
  NvmlResult<void> learn_compute(Known& known_gpu, int profile_id, NvmlGpuInstance instance);
  std::shared_ptr<const catalog::Board> board_of(Known& known_gpu, std::shared_ptr<const catalog::Board> catalog_board,
                                                 const GpuIdentity& identity);
  void forget(std::string_view uuid);
};

// Text that an NVML function(device, buffer, size) writes.
template <std::size_t size>
NvmlResult<std::string> read_text(const NvmlFunction<NvmlDevice, char*, U32>& function, NvmlDevice device) {
  char text[size] = {};
  if (const int answer = function(device, text, size); answer != kNvmlSuccess) {
    return std::unexpected(NvmlRefusal{answer, function.name});
  }
  text[size - 1] = '\0';
  return std::string(text);
}

// The whole state of one GPU; what fails is told in Gpu::fault. `index` for messages and the case of a lost GPU.
layout::Gpu read_gpu(Session& session, NvmlDevice device, int index);

// What effective_board needs besides the tables, from a GPU read so far (gpu.board is the catalog's or null).
GpuIdentity identity_of(const NvmlTable& nvml, NvmlDevice device, const layout::Gpu& gpu);
// Where a row of the tables is in the board made from them.
int profile_index(const catalog::Board& board, const GpuProfileRow& row);

// Parts of it. Processes of all kinds, each place once. Peers: PCI bus ids of GPUs linked without a switch.
NvmlResult<std::vector<layout::Process>> read_processes(const NvmlTable& nvml, NvmlDevice device);
std::vector<std::string> read_nvlink_peers(const NvmlTable& nvml, NvmlDevice device);
// Fills gpu.instances and gpu.board of a GPU whose MIG mode is on.
NvmlResult<void> read_instances(Session& session, NvmlDevice device, layout::Gpu& gpu);

// A MIG device of one GPU.
struct MigDevice {
  int index = 0;
  int gpu_instance = 0, compute_instance = 0;
  std::string uuid;  // as this driver writes it
};
NvmlResult<std::vector<MigDevice>> read_mig_devices(const NvmlTable& nvml, NvmlDevice device);

struct Driver::Impl : Session {
  using Session::Session;
};

}  // namespace partita::driver
