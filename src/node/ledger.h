// The node's memory: who made which instance, and what is being changed. SQLite, one database per node.
//
// An intent is on the disk before anything changes. What follows it is safe from the end of the process at once, but
// reaches the disk only when the ledger is closed: after a power cut no instance is left that a mark could speak of,
// and the intent leads to the same layout once more.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "node/database.h"
#include "node/records.h"

namespace partita::node {

class Ledger {
 public:
  using Event = std::function<void(std::string_view)>;

  static Result<Ledger> open(const std::filesystem::path& file, Database::Access access, Event on_event = {});

  // Marks of another epoch are void and left out.
  Result<std::vector<OwnedInstance>> owned(const Epoch& epoch);
  Result<void> own(const Epoch& epoch, std::span<const OwnedInstance> instances);
  Result<void> disown(std::span<const OwnedInstance> instances);

  // Writes the intent: from here on the operation is open. Fills in operation.id.
  Result<void> begin(Operation& operation, Time now);
  // Oldest first, with GPUs and steps.
  Result<std::vector<Operation>> open_operations();
  // Other steps take the place of those that are planned; ordinals go on. The new layouts are stored with them.
  Result<void> replan(const Operation& operation, std::span<const StepRecord> steps);
  // The step is about to be done; the one before it (if any) is done. One write.
  Result<void> mark(std::int64_t operation, std::optional<int> done, std::optional<int> doing);
  // The same, with what the step that is done made or destroyed.
  Result<void> mark_made(std::int64_t operation, int done, const Epoch& epoch, const OwnedInstance& instance);
  Result<void> mark_gone(std::int64_t operation, int done, const std::string& gpu, std::optional<int> gpu_instance);
  // Forgets that steps were under way: what they made is known. Those on the GPUs `but` (UUIDs) stay.
  Result<void> unmark(std::int64_t operation, std::span<const std::string> but = {});
  Result<void> end(std::int64_t operation, bool rolled_back, Time now);

  // All writes from here to commit() are one: stored together, or not at all when it ends without.
  class Group {
   public:
    explicit Group(Ledger& ledger) : ledger_(&ledger) {}
    Group(Group&& other) noexcept : ledger_(std::exchange(other.ledger_, nullptr)) {}
    Group& operator=(Group&&) = delete;
    ~Group() {
      if (ledger_ != nullptr) ledger_->database_.roll_back();
    }
    Result<void> commit(std::string_view what);

   private:
    Ledger* ledger_;
  };
  Result<Group> group(bool survive_power_cut);
  // One write of whatever `work` does to the database().
  Result<void> write(std::string_view what, bool survive_power_cut, const std::function<Result<void>()>& work);
  Database& database() { return database_; }

 private:
  Ledger(Database database, Event on_event) : database_(std::move(database)), on_event_(std::move(on_event)) {}
  Result<void> store_layouts(const Operation& operation);
  Result<void> store_steps(std::int64_t operation, std::span<const StepRecord> steps);
  Result<void> read_details(Operation& operation);
  Result<void> set_state(std::int64_t operation, int ordinal, StepState state);

  Database database_;
  Event on_event_;
};

}  // namespace partita::node
