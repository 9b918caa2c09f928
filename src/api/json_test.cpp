#include "api/json.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

namespace partita::api {
namespace {

using Json = nlohmann::ordered_json;

std::shared_ptr<const catalog::Board> a100() {
  auto catalog = catalog::Catalog::open();
  return *catalog->board("a100-sxm4-40gb");
}

layout::Gpu gpu() {
  layout::Gpu out;
  out.uuid = "GPU-1";
  out.board = a100();
  out.pci_device_id = 0x20B010DE;
  out.mode = layout::MigMode{true, false};
  layout::GpuInstance instance;
  instance.id = 2;
  instance.profile = 4;
  instance.placement = {4, 4};
  layout::ComputeInstance compute;
  compute.profile = 0;
  compute.uuid = "MIG-1";
  instance.compute = {compute};
  instance.pins = {{layout::Pin::Reason::foreign, "not made by partita"}};
  out.instances = {instance};
  out.processes = {{4711, "", std::nullopt, 2, 0}};
  return out;
}

NodePlanAnswer plan_answer() {
  NodePlanAnswer out;
  GpuChange change;
  change.before = gpu();
  change.board = change.before.board;
  using Kind = plan::Step::Kind;
  change.plan.steps = {{Kind::destroy_compute, 4, 4, 0, 0}, {Kind::create_gpu_instance, 0, 3}};
  change.plan.result = {{0, 3}};
  out.changes = {change};
  return out;
}

// Every key of a document, at all depths.
void collect_keys(const Json& json, std::set<std::string>& keys) {
  for (const auto& [key, value] : json.items()) {
    if (json.is_object()) keys.insert(key);
    if (value.is_structured()) collect_keys(value, keys);
  }
}

TEST(Json, UnknownIsNull) {
  const auto json = Json::parse(to_json(StatusAnswer{{"", "", {layout::Gpu{}}}, "lab", true, {}}));
  EXPECT_TRUE(json["driver_version"].is_null());
  const auto& lost = json["gpus"][0];
  for (const auto* key :
       {"minor", "board", "memory_bytes", "used_memory_bytes", "utilization_percent", "mig_mode", "placement_units"})
    EXPECT_TRUE(lost[key].is_null()) << key;
}

TEST(Json, BoardNamesAttributesByTheWordsOfTheDataFiles) {
  auto catalog = catalog::Catalog::open();
  const auto board = catalog->board("rtx-pro-6000-server");
  const auto json = to_json(**board);
  for (const std::string word : {"me", "me_all", "gfx", "no_me"})
    EXPECT_NE(json.find('"' + word + '"'), std::string::npos) << word;
}

TEST(Json, StatusNamesInstancesDevicesAndHolders) {
  const auto json = Json::parse(to_json(StatusAnswer{{"550", "12", {gpu()}}, "lab", true, {"a note"}}));
  const auto& one = json["gpus"][0];
  EXPECT_EQ(one["pci_device_id"], "0x20B010DE");
  EXPECT_EQ(one["mig_mode"]["pending"], false);
  const auto& instance = one["gpu_instances"][0];
  EXPECT_EQ(instance["profile"], "3g.20gb");
  EXPECT_EQ(instance["placement_start"], 4);
  EXPECT_EQ(instance["memory_bytes"], std::uint64_t{20096} << 20);
  EXPECT_EQ(instance["pins"][0]["reason"], "foreign");
  EXPECT_EQ(instance["compute_instances"][0]["path"], "MIG-GPU-1/2/0");
  EXPECT_TRUE(one["processes"][0]["name"].is_null());
  EXPECT_EQ(json["notes"][0], "a note");
}

TEST(Json, KeysKeepTheirOrder) {
  const auto text = to_json(AssertAnswer{{{"GPU-1", "differs"}}, {}});
  EXPECT_LT(text.find("matches"), text.find("differences"));
  EXPECT_LT(text.find("differences"), text.find("warnings"));
}

TEST(Json, PlanNamesSteps) {
  const auto change = Json::parse(to_json(plan_answer()))["changes"][0];
  EXPECT_EQ(change["steps"][0]["action"], "destroy_compute_instance");
  EXPECT_EQ(change["steps"][0]["compute_profile"], "1c.3g.20gb");
  EXPECT_EQ(change["steps"][1]["action"], "create_gpu_instance");
  EXPECT_FALSE(change["steps"][1].contains("compute_profile"));
  EXPECT_TRUE(change["set_mig_mode"].is_null());
}

TEST(Json, TextThatIsNotUtf8IsReplaced) {
  const auto json = Json::parse(to_json(Error{ErrorCode::invalid, "bad \xff name", {}}), nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json["error"]["code"], "invalid");
}

// docs/json.md names every key that any answer has.
TEST(Json, EveryKeyIsDocumented) {
  std::ifstream in(std::string(PARTITA_SOURCE_DIR) + "/docs/json.md");
  std::ostringstream text;
  text << in.rdbuf();
  std::set<std::string> keys;
  ApplyAnswer applied;
  applied.plan = plan_answer();
  applied.after.gpus = {gpu()};
  for (const auto& answer :
       {to_json(StatusAnswer{{"550", "12", {gpu()}}, "lab", true, {}}), to_json(applied),
        to_json(AssertAnswer{{{"a", "b"}}, {}}), to_json(DoctorAnswer{{{Finding::Level::ok, "a", "b", ""}}}),
        to_json(Error{ErrorCode::busy, "a", {}}), to_json(*a100()),
        to_json(std::vector<catalog::BoardEntry>{{"a", "b", {1}}})})
    collect_keys(Json::parse(answer), keys);
  for (const auto& key : keys) {
    const bool documented =
        text.str().find("`" + key + "`") != std::string::npos || text.str().find("." + key + "`") != std::string::npos;
    EXPECT_TRUE(documented || key == "error") << key;
  }
}

}  // namespace
}  // namespace partita::api
