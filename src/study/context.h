// What all kinds of study share: boards with what a study assumes about them, places, jobs, predicted times, and the
// list of what the report rests on. Internal to study/.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "catalog/catalog.h"
#include "predict/model.h"
#include "study/fields.h"
#include "study/runner.h"
#include "study/simulator.h"

namespace partita::study {

// A workload (shipped, or a file's path) and how it is run; a request of a tenant is settings.batch samples.
struct Job {
  std::string workload;
  predict::Settings settings;
};

// Where a job runs.
struct Place {
  std::string name;  // as the report shows it
  std::shared_ptr<const catalog::Board> board;
  predict::Partition partition;
  std::string vgpu;                                               // the vGPU type, when it is one: "grid_a100-7-40c"
  int profile() const { return partition.profile.value_or(-1); }  // -1: the whole GPU
};

class Context {
 public:
  Context(catalog::Catalog& catalog, const predict::Constants& constants, const StudyOptions& options,
          Progress& progress)
      : catalog_(catalog), constants_(constants), options_(options), progress_(progress) {}

  // Keys of the head that all kinds have: "assume", "host", "sources".
  Result<void> read_head(const Fields& head);

  Result<std::shared_ptr<const catalog::Board>> board(const Fields& at, std::string_view key);
  // {name?, board, profile?, virtualised?} or {name?, board, vgpu}; without profile: the whole GPU.
  Result<Place> read_place(const Fields& fields, const std::string& default_board = "");
  Result<Place> place(const std::shared_ptr<const catalog::Board>& board, const std::string& profile,
                      bool virtualised) const;
  static std::optional<int> profile_index(const catalog::Board& board, std::string_view name);
  // The MIG-backed vGPU type of a profile as the hypervisor names it, "grid_a100-7-40c"; "" when there is none.
  static std::string vgpu_name(const catalog::Board& board, int profile);

  // {workload, mode?, batch?, sequence?, matmul?, convolution?, framework?, optimizer?, copy_inside_step?}
  Result<Job> read_job(const Fields& fields);
  Result<const predict::Workload*> workload(const Job& job);

  Result<predict::Prediction> predict(const Job& job, const Place& place, int batch, double busy_neighbours = 0);
  // Seconds of a batch, without interval.
  Result<double> step_s(const Job& job, const Place& place, int batch, double busy_neighbours = 0);
  // Of these, the seconds in which the GPU works. All of them where the host waits for each kernel: the step then
  // stands between the kernels, too.
  Result<double> gpu_s(const Job& job, const Place& place, int batch);
  // Times of batches of 1..max_requests requests, memory at the largest, and on a whole GPU what MPS needs: the demand.
  Result<Service> service(const Job& job, const Place& place, int max_requests);
  // What busy neighbours cost this job on this place: time beside them over time alone, less 1.
  Result<double> neighbour_loss(const Job& job, const Place& place, int batch);
  // Largest batch from 1 to `most` that fits for certain; nullopt: not even 1.
  Result<std::optional<int>> largest_batch(const Job& job, const Place& place, int most);

  const std::optional<MeasureOptions>& measure() const { return options_.measure; }
  std::uint64_t seed() const { return options_.seed; }
  std::uint64_t most_events() const { return options_.most_events; }
  Progress& progress() { return progress_; }
  const predict::Constants& constants() const { return constants_; }

  void rests_on(std::string line);  // once each
  std::vector<std::string> take_rests_on() { return std::move(rests_on_); }

 private:
  struct Cached;
  Result<predict::Workload> read_workload(const Job& job) const;
  Result<Cached*> cached(const Job& job, const Place& place);
  Result<void> read_assumption(const Fields& fields);

  catalog::Catalog& catalog_;
  const predict::Constants& constants_;
  const StudyOptions& options_;
  Progress& progress_;
  const predict::Host* host_ = nullptr;
  std::map<std::string, std::shared_ptr<const catalog::Board>, std::less<>> assumed_;
  std::map<std::string, std::unique_ptr<predict::Workload>> workloads_;
  std::map<std::string, std::shared_ptr<Cached>> cache_;
  std::vector<std::string> rests_on_;
};

std::string job_title(const predict::Workload& workload, const Job& job);  // "ResNet-50 v1.5, training, batch 64"

}  // namespace partita::study
