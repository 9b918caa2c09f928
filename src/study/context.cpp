#include "study/context.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/csv.h"
#include "base/text.h"
#include "catalog/embedded.h"
#include "study/sharing_priors.h"
#include "study/words.h"

namespace partita::study {

struct Context::Cached {
  std::shared_ptr<const catalog::Board> board;
  predict::Predictor predictor;
};

namespace {

// The number in the one row of a measured table that has these cells.
Result<double> measured_number(const Fields& fields) {
  const std::string file = TRY(fields.text("file"));
  const auto text = catalog::embedded_file("measured/" + file);
  if (!text) return fields.error("file", fmt::format("no measured table {} is shipped", quote(file)));
  const CsvTable table = TRY(parse_csv(*text, file));
  const std::string column = TRY(fields.text("column"));
  const std::size_t value = TRY(table.require(column));
  const Fields where = TRY(fields.section("where"));
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    bool all = true;
    for (const std::string& key : where.keys()) {
      all = all && table.rows[row][TRY(table.require(key))] == TRY(where.text(key));
    }
    if (all) rows.push_back(row);
  }
  if (rows.size() != 1)
    return fields.error("where", fmt::format("expected one row of {}, found {}", file, rows.size()));
  const auto number = TRY(table.number(rows[0], value));
  if (!number) return fields.error("where", fmt::format("{}: the cell of {} is empty", file, column));
  return *number;
}

}  // namespace

void Context::rests_on(std::string line) {
  if (std::ranges::find(rests_on_, line) == rests_on_.end()) rests_on_.push_back(std::move(line));
}

Result<void> Context::read_head(const Fields& head) {
  if (head.has("assume")) {
    for (const Fields& row : TRY(head.rows("assume"))) TRY_VOID(read_assumption(row));
  }
  if (head.has("host")) {
    const std::string name = TRY(head.text("host"));
    host_ = constants_.host(name);
    if (!host_) {
      std::vector<std::string> names;
      for (const auto& host : constants_.hosts) names.push_back(host.name);
      return head.error("host", fmt::format("no such host; known are {}", list_of(names)));
    }
    rests_on(fmt::format("host and software: as measured on {} (data/predict/constants.yaml)", name));
  }
  for (const std::string& line : TRY(head.texts("sources"))) rests_on(line);
  return {};
}

// A peak that the board's data lacks, taken from a measured rate of matrix products:
// peak = rate * flop per sample / reached share of the peak; TF32 is half of 16 bit.
Result<void> Context::read_assumption(const Fields& fields) {
  TRY_VOID(fields.only({"board", "source"}, {"fp32_tflops", "total_memory_gib", "from_measured"}));
  auto original = TRY(board(fields, "board"));
  auto changed = std::make_shared<catalog::Board>(*original);
  std::vector<std::string> said;
  if (fields.has("fp32_tflops")) {
    const double fp32 = TRY(fields.number("fp32_tflops", 1e-3, 1e6));
    changed->specs.fp32_tflops = fp32;
    said.push_back(fmt::format("{} TFLOPS in FP32", figure_of(fp32)));
  }
  if (fields.has("total_memory_gib")) {
    const Bytes memory = gib(static_cast<std::uint64_t>(TRY(fields.integer("total_memory_gib", 1, 1 << 20))));
    changed->total_memory = memory;
    said.push_back(to_string(memory));
  }
  if (fields.has("from_measured")) {
    const Fields from = TRY(fields.section("from_measured"));
    TRY_VOID(from.only({"file", "column", "where", "gflop_per_unit"}));
    const double rate = TRY(measured_number(from)), gflop = TRY(from.number("gflop_per_unit", 1e-6, 1e9));
    const double reached = rate * gflop / 1e3, efficiency = constants_[predict::Key::tensor_matmul_efficiency];
    changed->specs.fp16_tensor_tflops = reached / efficiency;
    changed->specs.tf32_tensor_tflops = reached / efficiency / 2;
    said.push_back(fmt::format(
        "{:.0f} TFLOPS in 16 bit and half of it in TF32, because {} measured units/s (data/measured/{}) of {} GFLOP "
        "reach {:.0f} TFLOPS, taken as the {} of the peak that the A100 reaches",
        reached / efficiency, figure_of(rate), TRY(from.text("file")), figure_of(gflop), reached, percent(efficiency)));
  }
  rests_on(fmt::format("assumed about {}: {}; {}", original->product, list_of(said), TRY(fields.text("source"))));
  assumed_[original->id] = std::move(changed);
  return {};
}

Result<std::shared_ptr<const catalog::Board>> Context::board(const Fields& at, std::string_view key) {
  const std::string id = TRY(at.text(key));
  if (auto found = assumed_.find(id); found != assumed_.end()) return found->second;
  auto board = catalog_.board(id);
  if (!board) return at.error(key, board.error().message);
  return *board;
}

std::optional<int> Context::profile_index(const catalog::Board& board, std::string_view name) {
  for (std::size_t i = 0; i < board.profiles.size(); ++i) {
    if (board.profiles[i].name == name) return static_cast<int>(i);
  }
  return std::nullopt;
}

namespace {

std::string hypervisor_name(std::string name) {
  name = lower(name);
  std::ranges::replace(name, ' ', '_');
  return name;
}

}  // namespace

std::string Context::vgpu_name(const catalog::Board& board, int profile) {
  for (const auto& type : board.vgpu_types) {
    if (type.profile == profile) return hypervisor_name(type.name);
  }
  return "";
}

Result<Place> Context::place(const std::shared_ptr<const catalog::Board>& board, const std::string& profile,
                             bool virtualised) const {
  Place place;
  place.board = board;
  place.partition.board = board.get();
  place.partition.virtualised = virtualised;
  place.partition.host = host_;
  if (!profile.empty()) {
    place.partition.profile = profile_index(*board, profile);
    if (!place.partition.profile) {
      std::vector<std::string> names;
      for (const auto& p : board->profiles) names.push_back(p.name);
      return fail(ErrorCode::invalid, fmt::format("{} has no profile {}{}", board->product, quote(profile),
                                                  names.empty() ? ": it has no MIG" : did_you_mean(profile, names)));
    }
    if (virtualised) place.vgpu = vgpu_name(*board, place.profile());
  }
  place.name = predict::partition_name(place.partition);
  return place;
}

Result<Place> Context::read_place(const Fields& fields, const std::string& default_board) {
  auto on = default_board.empty() || fields.has("board") ? board(fields, "board") : catalog_.board(default_board);
  auto given = TRY(std::move(on));
  if (auto found = assumed_.find(given->id); found != assumed_.end()) given = found->second;
  if (fields.has("vgpu")) {
    if (fields.has("profile")) return fields.error("profile", "expected either a profile or a vGPU type, found both");
    const std::string wanted = hypervisor_name(TRY(fields.text("vgpu")));
    std::vector<std::string> names;
    for (const auto& type : given->vgpu_types) {
      names.push_back(hypervisor_name(type.name));
      if (names.back() != wanted) continue;
      Place place = TRY(
          this->place(given, type.profile ? given->profiles[static_cast<std::size_t>(*type.profile)].name : "", true));
      place.vgpu = wanted;
      place.name = TRY(fields.text_or("name", wanted));
      return place;
    }
    return fields.error(
        "vgpu", fmt::format("{} has no vGPU type {}{}", given->product, quote(wanted), did_you_mean(wanted, names)));
  }
  auto made = place(given, TRY(fields.text_or("profile", "")), TRY(fields.flag("virtualised", false)));
  if (!made) return fields.error("profile", made.error().message);
  made->name = TRY(fields.text_or("name", made->name));
  return std::move(*made);
}

namespace {

template <class T>
Result<T> choice(const Fields& fields, std::string_view key, T otherwise,
                 std::initializer_list<std::pair<std::string_view, T>> choices) {
  if (!fields.has(key)) return otherwise;
  const std::string text = TRY(fields.text(key));
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) {
    if (name == text) return value;
    names.emplace_back(name);
  }
  return fields.error(key, fmt::format("expected one of {}, found {}", join(names, ", "), quote(text)));
}

}  // namespace

Result<Job> Context::read_job(const Fields& fields) {
  using namespace predict;
  TRY_VOID(fields.only({"workload"}, {"mode", "batch", "sequence", "matmul", "convolution", "framework", "optimizer",
                                      "copy_inside_step"}));
  Job job;
  Settings& s = job.settings;
  job.workload = TRY(fields.text("workload"));
  s.mode = TRY(choice(fields, "mode", s.mode, {{"inference", Mode::inference}, {"training", Mode::training}}));
  s.batch = TRY(fields.integer("batch", 1, 1 << 20, s.batch));
  if (fields.has("sequence")) s.sequence = TRY(fields.integer("sequence", 1, 1 << 20));
  const std::initializer_list<std::pair<std::string_view, Precision>> precisions = {
      {"fp32", Precision::fp32}, {"tf32", Precision::tf32}, {"fp16", Precision::fp16},
      {"bf16", Precision::bf16}, {"int8", Precision::int8}, {"fp8", Precision::fp8}};
  s.matmul = TRY(choice(fields, "matmul", s.matmul, precisions));
  s.convolution = TRY(choice(fields, "convolution", s.convolution, precisions));
  s.framework = TRY(choice(
      fields, "framework", s.framework,
      {{"eager", Framework::eager_overlapped}, {"serial", Framework::eager_serial}, {"graph", Framework::graph}}));
  s.optimizer =
      TRY(choice(fields, "optimizer", s.optimizer,
                 {{"sgd", Optimizer::sgd}, {"sgd_momentum", Optimizer::sgd_momentum}, {"adam", Optimizer::adam}}));
  s.copy_inside_step = TRY(fields.flag("copy_inside_step", false));
  if (auto known = workload(job); !known) return fields.error("workload", known.error().message);
  return job;
}

Result<predict::Workload> Context::read_workload(const Job& job) const {
  const std::string& name = job.workload;
  const bool file = name.find('/') != std::string::npos || name.ends_with(".yaml") || name.ends_with(".yml");
  if (!file) return predict::shipped_workload(name, job.settings.sequence);
  if (!options_.read_file)
    return fail(ErrorCode::invalid,
                fmt::format("{}: workload files are not read here; take a shipped one", quote(name)));
  return predict::read_workload(TRY(options_.read_file(name)), name, job.settings.sequence);
}

Result<const predict::Workload*> Context::workload(const Job& job) {
  auto& slot = workloads_[fmt::format("{}|{}", job.workload, job.settings.sequence.value_or(0))];
  if (!slot) slot = std::make_unique<predict::Workload>(TRY(read_workload(job)));
  return slot.get();
}

Result<Context::Cached*> Context::cached(const Job& job, const Place& place) {
  const auto& s = job.settings;
  const auto number = [](auto value) { return static_cast<int>(value); };
  auto& slot = cache_[fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}", job.workload, s.sequence.value_or(0), number(s.mode),
                                  number(s.matmul), number(s.convolution), number(s.framework), number(s.optimizer),
                                  s.copy_inside_step, place.board->id)];
  if (!slot) {
    const predict::Workload* workload = TRY(this->workload(job));
    auto predictor = TRY(predict::Predictor::make(constants_, *workload, s, *place.board, host_));
    slot = std::make_shared<Cached>(Cached{place.board, std::move(predictor)});
  }
  return slot.get();
}

Result<predict::Prediction> Context::predict(const Job& job, const Place& place, int batch, double busy) {
  Cached* cached = TRY(this->cached(job, place));
  predict::Partition partition = place.partition;
  partition.busy_neighbours = busy;
  auto prediction = TRY(cached->predictor.predict(partition, batch));
  for (const std::string& note : prediction.notes) rests_on(note);
  return prediction;
}

Result<double> Context::step_s(const Job& job, const Place& place, int batch, double busy) {
  Cached* cached = TRY(this->cached(job, place));
  predict::Partition partition = place.partition;
  partition.busy_neighbours = busy;
  return TRY(cached->predictor.time(partition, batch)).total_s;
}

Result<double> Context::gpu_s(const Job& job, const Place& place, int batch) {
  const double total_s = TRY(step_s(job, place, batch));
  const auto& predictor = TRY(cached(job, place))->predictor;
  if (predictor.plan().serial) return total_s;
  const predict::Factors without_host{.device = 1, .bandwidth = 1, .host = 0};
  return std::min(total_s, TRY(predictor.time(place.partition, batch, without_host)).total_s);
}

Result<Service> Context::service(const Job& job, const Place& place, int max_requests) {
  Service service;
  for (int n = 1; n <= max_requests; ++n) {
    service.batch_s.push_back(TRY(step_s(job, place, n * job.settings.batch)));
    service.gpu_s.push_back(TRY(gpu_s(job, place, n * job.settings.batch)));
  }
  const auto largest = TRY(predict(job, place, max_requests * job.settings.batch));
  service.memory_mib = largest.memory_mib.median;
  // The demand on a whole GPU follows from the time on its smallest slice.
  if (!place.partition.profile && place.board->has_mig()) {
    const auto& profiles = place.board->profiles;
    const auto smallest = std::ranges::min_element(profiles, {}, [](const auto& p) { return p.sm.value_or(1 << 20); });
    const int slice_sm = smallest->sm.value_or(0), whole_sm = place.board->specs.sm_count.value_or(0);
    if (slice_sm > 0 && whole_sm > 0) {
      const Place slice = TRY(this->place(place.board, smallest->name, place.partition.virtualised));
      service.demand = mps_demand(service.gpu_s.back(), TRY(gpu_s(job, slice, max_requests * job.settings.batch)),
                                  slice_sm, whole_sm);
    }
  }
  return service;
}

Result<double> Context::neighbour_loss(const Job& job, const Place& place, int batch) {
  return TRY(step_s(job, place, batch, 1)) / TRY(step_s(job, place, batch, 0)) - 1;
}

Result<std::optional<int>> Context::largest_batch(const Job& job, const Place& place, int most) {
  int low = 0, high = most + 1;  // low fits (0: as if), high is not known to
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    const bool fits = TRY(predict(job, place, middle)).fit == predict::Fit::fits;
    (fits ? low : high) = middle;
  }
  return low > 0 ? std::optional<int>(low) : std::nullopt;
}

std::string job_title(const predict::Workload& workload, const Job& job) {
  return fmt::format("{}, {}, batch {}", workload.title,
                     job.settings.mode == predict::Mode::training ? "training" : "inference", job.settings.batch);
}

}  // namespace partita::study
