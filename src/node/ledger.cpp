#include "node/ledger.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>
#include <variant>

#include "node/schema.h"

namespace partita::node {
namespace {

constexpr std::int64_t kOperationsKept = 200;
constexpr std::array kStepKinds = {
    "set_mode", "reset", "destroy_compute", "destroy_gpu_instance", "create_gpu_instance", "create_compute"};
constexpr std::array kStepStates = {"planned", "doing", "done"};

template <class Enum, std::size_t N>
std::string word(const std::array<const char*, N>& words, Enum value) {
  return words[static_cast<std::size_t>(value)];
}
template <class Enum, std::size_t N>
Enum value_of(const std::array<const char*, N>& words, const std::string& text) {
  const auto found = std::ranges::find(words, text);
  if (found == words.end()) throw std::bad_variant_access();
  return static_cast<Enum>(found - words.begin());
}

// Rows to records. SQLite keeps in a column whatever was put there, so another type than ours is a damaged file.
template <class Read>
std::invoke_result_t<Read> read_rows(const Database& database, Read read) {
  try {
    return read();
  } catch (const std::bad_variant_access&) {
    return std::unexpected(database.damaged());
  }
}

Value number(std::int64_t n) { return n; }
int as_int(const Value& value) { return static_cast<int>(std::get<std::int64_t>(value)); }
bool as_flag(const Value& value) { return std::get<std::int64_t>(value) != 0; }
const std::string& as_string(const Value& value) { return std::get<std::string>(value); }

std::int64_t milliseconds(Time time) { return time.time_since_epoch().count(); }

void read_instance(LayoutRecord& layout, const Row& row) {  // profile, start, foreign, compute profile, start
  if (!layout.instances) return;
  auto& all = *layout.instances;
  const auto found = std::ranges::find(all, as_int(row.at(1)), &InstanceRecord::start);
  InstanceRecord& instance =
      found != all.end() ? *found : all.emplace_back(as_int(row.at(0)), as_int(row.at(1)), as_flag(row.at(2)));
  if (row.at(3).index() != 0) instance.compute.push_back({as_int(row.at(3)), as_int(row.at(4))});
}

}  // namespace

Result<Ledger> Ledger::open(const std::filesystem::path& file, Database::Access access, Event on_event) {
  return Ledger(TRY(Database::open(file, access, kMigrations)), std::move(on_event));
}

Result<void> Ledger::write(std::string_view what, bool survive_power_cut, const std::function<Result<void>()>& work) {
  if (database_.in_transaction()) return work();
  TRY_VOID(database_.survive_power_cut(survive_power_cut));
  TRY_VOID(database_.transaction(work));
  if (on_event_) on_event_(what);
  return {};
}

Result<Ledger::Group> Ledger::group(bool survive_power_cut) {
  TRY_VOID(database_.survive_power_cut(survive_power_cut));
  TRY_VOID(database_.begin());
  return Group(*this);
}

Result<void> Ledger::Group::commit(std::string_view what) {
  TRY_VOID(ledger_->database_.commit());
  const Ledger& ledger = *std::exchange(ledger_, nullptr);
  if (ledger.on_event_) ledger.on_event_(what);
  return {};
}

Result<std::vector<OwnedInstance>> Ledger::owned(const Epoch& epoch) {
  std::vector<OwnedInstance> result;
  if (database_.version() == 0) return result;
  const auto rows = TRY(database_.query(
      "SELECT gpu, gpu_instance, profile, start, generation FROM ownership WHERE boot_id = ? AND driver_load = ?",
      {epoch.boot_id, epoch.driver_load}));
  return read_rows(database_, [&]() -> Result<std::vector<OwnedInstance>> {
    for (const Row& row : rows)
      result.push_back({as_string(row.at(0)), as_int(row.at(1)), as_int(row.at(2)), as_int(row.at(3)),
                        std::get<std::int64_t>(row.at(4))});
    return std::move(result);
  });
}

Result<void> Ledger::own(const Epoch& epoch, std::span<const OwnedInstance> instances) {
  if (instances.empty()) return {};
  return write("own", false, [&]() -> Result<void> {
    for (const OwnedInstance& i : instances)
      TRY_VOID(database_.run("INSERT OR REPLACE INTO ownership VALUES (?, ?, ?, ?, ?, ?, ?)",
                             {i.gpu, number(i.gpu_instance), number(i.profile), number(i.start), epoch.boot_id,
                              epoch.driver_load, number(i.generation)}));
    return {};
  });
}

Result<void> Ledger::disown(std::span<const OwnedInstance> instances) {
  if (instances.empty()) return {};
  return write("disown", false, [&]() -> Result<void> {
    for (const OwnedInstance& i : instances)
      TRY_VOID(
          database_.run("DELETE FROM ownership WHERE gpu = ? AND gpu_instance = ?", {i.gpu, number(i.gpu_instance)}));
    return {};
  });
}

Result<void> Ledger::begin(Operation& operation, Time now) {
  return write("begin", true, [&]() -> Result<void> {
    TRY_VOID(database_.run(
        "INSERT INTO operation (state, forward, skip_reset, boot_id, driver_load, pid, command, begun_ms) "
        "VALUES ('open', ?, ?, ?, ?, ?, ?, ?)",
        {number(operation.forward ? 1 : 0), number(operation.skip_reset ? 1 : 0), operation.epoch.boot_id,
         operation.epoch.driver_load, number(operation.pid), operation.command, number(milliseconds(now))}));
    operation.id = database_.last_insert_id();
    TRY_VOID(store_layouts(operation));
    TRY_VOID(store_steps(operation.id, operation.steps));
    return database_.run("DELETE FROM operation WHERE state != 'open' AND id <= ?",
                         {number(operation.id - kOperationsKept)});
  });
}

Result<void> Ledger::store_layouts(const Operation& operation) {
  TRY_VOID(database_.run("DELETE FROM operation_gpu WHERE operation = ?", {number(operation.id)}));
  const auto store_side = [&](const OperationGpu& gpu, const LayoutRecord& layout, const char* side) -> Result<void> {
    if (!layout.instances) return {};
    for (const InstanceRecord& i : *layout.instances) {
      std::vector<std::pair<Value, Value>> computes;
      for (const ComputeRecord& c : i.compute) computes.emplace_back(number(c.profile), number(c.start));
      if (computes.empty()) computes.emplace_back();
      for (const auto& [profile, start] : computes)
        TRY_VOID(database_.run("INSERT INTO operation_instance VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                               {number(operation.id), gpu.gpu, std::string(side), number(i.profile), number(i.start),
                                number(i.foreign ? 1 : 0), profile, start}));
    }
    return {};
  };
  for (const OperationGpu& gpu : operation.gpus) {
    TRY_VOID(database_.run("INSERT INTO operation_gpu VALUES (?, ?, ?, ?, ?)",
                           {number(operation.id), gpu.gpu, number(gpu.old_layout.mig_enabled ? 1 : 0),
                            number(gpu.new_layout.mig_enabled ? 1 : 0), number(gpu.new_layout.instances ? 1 : 0)}));
    TRY_VOID(store_side(gpu, gpu.old_layout, "old"));
    TRY_VOID(store_side(gpu, gpu.new_layout, "new"));
  }
  return {};
}

Result<void> Ledger::store_steps(std::int64_t operation, std::span<const StepRecord> steps) {
  for (const StepRecord& step : steps)
    TRY_VOID(database_.run(
        "INSERT INTO operation_step VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        {number(operation), number(step.ordinal), step.gpu, word(kStepKinds, step.kind), number(step.enable ? 1 : 0),
         number(step.profile), number(step.start), word(kStepStates, step.state)}));
  return {};
}

Result<std::vector<Operation>> Ledger::open_operations() {
  std::vector<Operation> result;
  if (database_.version() == 0) return result;
  const auto rows =
      TRY(database_.query("SELECT id, boot_id, driver_load, pid, command, forward, skip_reset FROM operation "
                          "WHERE state = 'open' ORDER BY id"));
  return read_rows(database_, [&]() -> Result<std::vector<Operation>> {
    for (const Row& row : rows) {
      Operation operation;
      operation.id = std::get<std::int64_t>(row.at(0));
      operation.epoch = {as_string(row.at(1)), as_string(row.at(2))};
      operation.pid = as_int(row.at(3));
      operation.command = as_string(row.at(4));
      operation.forward = as_flag(row.at(5));
      operation.skip_reset = as_flag(row.at(6));
      TRY_VOID(read_details(operation));
      result.push_back(std::move(operation));
    }
    return std::move(result);
  });
}

Result<void> Ledger::read_details(Operation& operation) {
  const Row key = {number(operation.id)};
  for (const Row& row : TRY(database_.query(
           "SELECT gpu, old_mode, new_mode, new_instances FROM operation_gpu WHERE operation = ? ORDER BY rowid",
           key))) {
    OperationGpu gpu{
        as_string(row.at(0)), {as_flag(row.at(1)), std::vector<InstanceRecord>{}}, {as_flag(row.at(2)), {}}};
    if (as_flag(row.at(3))) gpu.new_layout.instances.emplace();
    operation.gpus.push_back(std::move(gpu));
  }
  for (OperationGpu& gpu : operation.gpus)
    for (const auto& [side, layout] : {std::pair{"old", &gpu.old_layout}, std::pair{"new", &gpu.new_layout}})
      for (const Row& row : TRY(database_.query("SELECT profile, start, foreign_made, compute_profile, compute_start "
                                                "FROM operation_instance WHERE operation = ? AND gpu = ? AND side = ? "
                                                "ORDER BY rowid",
                                                {number(operation.id), gpu.gpu, std::string(side)})))
        read_instance(*layout, row);
  for (const Row& row : TRY(database_.query("SELECT ordinal, gpu, kind, enable, profile, start, state "
                                            "FROM operation_step WHERE operation = ? ORDER BY ordinal",
                                            key)))
    operation.steps.push_back({as_int(row.at(0)), as_string(row.at(1)),
                               value_of<StepKind>(kStepKinds, as_string(row.at(2))), as_flag(row.at(3)),
                               as_int(row.at(4)), as_int(row.at(5)),
                               value_of<StepState>(kStepStates, as_string(row.at(6)))});
  return {};
}

Result<void> Ledger::replan(const Operation& operation, std::span<const StepRecord> steps) {
  return write("replan", false, [&]() -> Result<void> {
    TRY_VOID(database_.run("UPDATE operation SET forward = ? WHERE id = ?",
                           {number(operation.forward ? 1 : 0), number(operation.id)}));
    TRY_VOID(
        database_.run("DELETE FROM operation_step WHERE operation = ? AND state = 'planned'", {number(operation.id)}));
    TRY_VOID(store_layouts(operation));
    return store_steps(operation.id, steps);
  });
}

Result<void> Ledger::set_state(std::int64_t operation, int ordinal, StepState state) {
  return database_.run("UPDATE operation_step SET state = ? WHERE operation = ? AND ordinal = ?",
                       {word(kStepStates, state), number(operation), number(ordinal)});
}

Result<void> Ledger::mark(std::int64_t operation, std::optional<int> done, std::optional<int> doing) {
  return write(doing ? "doing" : "done", false, [&]() -> Result<void> {
    if (done) TRY_VOID(set_state(operation, *done, StepState::done));
    if (doing) TRY_VOID(set_state(operation, *doing, StepState::doing));
    return {};
  });
}

Result<void> Ledger::mark_made(std::int64_t operation, int done, const Epoch& epoch, const OwnedInstance& i) {
  return write("made", false, [&]() -> Result<void> {
    TRY_VOID(set_state(operation, done, StepState::done));
    return database_.run("INSERT OR REPLACE INTO ownership VALUES (?, ?, ?, ?, ?, ?, ?)",
                         {i.gpu, number(i.gpu_instance), number(i.profile), number(i.start), epoch.boot_id,
                          epoch.driver_load, number(i.generation)});
  });
}

Result<void> Ledger::mark_gone(std::int64_t operation, int done, const std::string& gpu,
                               std::optional<int> gpu_instance) {
  return write("gone", false, [&]() -> Result<void> {
    TRY_VOID(set_state(operation, done, StepState::done));
    if (gpu_instance)
      return database_.run("DELETE FROM ownership WHERE gpu = ? AND gpu_instance = ?", {gpu, number(*gpu_instance)});
    return database_.run("DELETE FROM ownership WHERE gpu = ?", {gpu});
  });
}

Result<void> Ledger::unmark(std::int64_t operation, std::span<const std::string> but) {
  return write("unmark", false, [&]() -> Result<void> {
    std::string sql = "UPDATE operation_step SET state = 'planned' WHERE operation = ? AND state = 'doing'";
    Row values = {number(operation)};
    for (const std::string& gpu : but) {
      sql += " AND gpu != ?";
      values.emplace_back(gpu);
    }
    return database_.run(sql, values);
  });
}

Result<void> Ledger::end(std::int64_t operation, bool rolled_back, Time now) {
  return write("end", false, [&]() -> Result<void> {
    return database_.run(
        "UPDATE operation SET state = ?, ended_ms = ? WHERE id = ?",
        {std::string(rolled_back ? "rolled_back" : "done"), number(milliseconds(now)), number(operation)});
  });
}

}  // namespace partita::node
