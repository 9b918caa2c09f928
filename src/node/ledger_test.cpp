#include "node/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "node/schema.h"

namespace partita::node {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Epoch kNow = {"boot-1", "load-1"};

class LedgerFile : public ::testing::Test {
 protected:
  Ledger open(Database::Access access = Database::Access::write) { return Ledger::open(file_, access).value(); }
  // One owned instance, one open operation.
  void fill() {
    Ledger ledger = open();
    ASSERT_TRUE(ledger.own(kNow, std::vector{OwnedInstance{"GPU-1", 1, 9, 4, 7}}));
    Operation operation;
    operation.epoch = kNow;
    operation.command = "partita apply";
    operation.gpus = {{"GPU-1", {true, std::vector{InstanceRecord{9, 4, false, {{2, 0}, {0, 2}}}}}, {false, {}}}};
    operation.steps = {{1, "GPU-1", StepKind::destroy_gpu_instance, false, 9, 4, StepState::planned}};
    ASSERT_TRUE(ledger.begin(operation, Time{}));
  }
  void change(std::string_view sql) {
    auto database = Database::open(file_, Database::Access::write, kMigrations);
    ASSERT_TRUE(database) << database.error().message;
    ASSERT_TRUE(database->run(sql));
  }

  TestFolder folder_;
  std::filesystem::path file_ = folder_.path() / "ledger.db";
};

TEST_F(LedgerFile, KeepsWhatIsOwnedInThisEpochOnly) {
  fill();
  EXPECT_EQ(open().owned(kNow)->size(), 1u);
  EXPECT_THAT(*open().owned({"boot-2", "load-1"}), IsEmpty());
  EXPECT_THAT(*open().owned({"boot-1", "load-2"}), IsEmpty());
}

TEST_F(LedgerFile, GivesAnOpenOperationBackAsItWas) {
  fill();
  const auto operations = open(Database::Access::read).open_operations();
  ASSERT_TRUE(operations);
  ASSERT_EQ(operations->size(), 1u);
  const Operation& operation = operations->front();
  EXPECT_EQ(operation.epoch, kNow);
  ASSERT_EQ(operation.gpus.size(), 1u);
  EXPECT_TRUE(operation.gpus[0].old_layout.mig_enabled);
  const auto instances = operation.gpus[0].old_layout.instances.value_or(std::vector<InstanceRecord>{});
  ASSERT_EQ(instances.size(), 1u);
  EXPECT_EQ(instances[0].start, 4);
  ASSERT_EQ(instances[0].compute.size(), 2u);
  EXPECT_EQ(instances[0].compute[1].start, 2);
  EXPECT_FALSE(operation.gpus[0].new_layout.instances);
  ASSERT_EQ(operation.steps.size(), 1u);
  EXPECT_EQ(operation.steps[0].kind, StepKind::destroy_gpu_instance);
}

TEST_F(LedgerFile, AnOperationThatEndedIsNotOpen) {
  fill();
  Ledger ledger = open();
  ASSERT_TRUE(ledger.end(ledger.open_operations()->front().id, false, Time{}));
  EXPECT_THAT(*ledger.open_operations(), IsEmpty());
}

// Valid SQLite, but nothing that this program writes.
TEST_F(LedgerFile, ForeignValuesAreADamagedDatabase) {
  for (const std::string_view sql : {
           "UPDATE ownership SET start = 'four'",
           "UPDATE operation SET command = 5, pid = 'x'",
           "UPDATE operation_gpu SET old_mode = 'on'",
           "UPDATE operation_instance SET compute_start = NULL",
           "UPDATE operation_instance SET profile = x'00'",
           "UPDATE operation_step SET kind = 'explode'",
           "UPDATE operation_step SET ordinal = 'first'",
       }) {
    std::filesystem::remove(file_);
    fill();
    change(sql);
    Ledger ledger = open(Database::Access::read);
    const auto owned = ledger.owned(kNow);
    const auto operations = ledger.open_operations();
    ASSERT_FALSE(owned && operations) << sql;
    const Error& error = owned ? operations.error() : owned.error();
    EXPECT_EQ(error.code, ErrorCode::unavailable) << sql;
    EXPECT_THAT(error.message, HasSubstr("ledger.db: the database is damaged: move ")) << sql;
  }
}

}  // namespace
}  // namespace partita::node
