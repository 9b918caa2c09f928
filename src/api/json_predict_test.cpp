#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/json.h"

namespace partita::api {
namespace {

PredictAnswer some_answer() {
  auto board = std::make_shared<catalog::Board>();
  board->id = "some-board";
  board->profiles.emplace_back().name = "1g.5gb";
  PredictAnswer out;
  out.workload = "net";
  out.title = "Net";
  predict::TableRow row;
  row.name = "1g.5gb";
  row.partition.profile = 0;
  row.batch = 4;
  row.prediction.throughput = {123.456, 100, 150};
  row.prediction.step_ms = {32.4001, 26.6667, 40};
  row.prediction.memory_mib = {512, 500, 524.5};
  row.prediction.capacity_mib = 4864;
  row.prediction.share = {0.25, 0.5, 0.25, 0};
  BoardPrediction each;
  each.board = board;
  each.table = {board.get(), "images", {4}, {row}};
  out.boards.push_back(std::move(each));
  return out;
}

TEST(PredictJson, HasEveryKeyWithItsUnit) {
  const auto json = nlohmann::json::parse(to_json(some_answer()));
  EXPECT_EQ(json["unit"], "images");
  EXPECT_EQ(json["settings"]["mode"], "inference");
  EXPECT_TRUE(json["settings"]["optimizer"].is_null());
  const auto& board = json["boards"][0];
  EXPECT_EQ(board["board"], "some-board");
  EXPECT_TRUE(board["choice"].is_null());
  EXPECT_TRUE(board["calibration"].is_null());
  const auto& row = board["predictions"][0];
  EXPECT_EQ(row["profile"], "1g.5gb");
  EXPECT_EQ(row["memory_bytes"]["median"], 512u << 20);
  EXPECT_EQ(row["memory_bytes"]["high"], 549978112u);
  EXPECT_EQ(row["throughput_per_s"]["median"], 123.5);
  EXPECT_EQ(row["step_ms"]["low"], 26.67);
  EXPECT_EQ(row["shares"]["compute"], 0.5);
  EXPECT_EQ(row["fit"], "fits");
}

TEST(PredictJson, TheWholeGpuIsNoProfileAndUnknownCapacityNull) {
  auto answer = some_answer();
  auto& row = answer.boards[0].table.rows[0];
  row.partition.profile.reset();
  row.prediction.capacity_mib = 0;
  answer.boards[0].choice = predict::Choice{std::nullopt, {"1g.5gb: too slow"}, ""};
  const auto json = nlohmann::json::parse(to_json(answer));
  const auto& board = json["boards"][0];
  EXPECT_TRUE(board["predictions"][0]["profile"].is_null());
  EXPECT_TRUE(board["predictions"][0]["capacity_bytes"].is_null());
  EXPECT_EQ(board["choice"]["met"], false);
  EXPECT_EQ(board["choice"]["smaller"][0], "1g.5gb: too slow");
  EXPECT_TRUE(board["choice"]["larger"].is_null());
}

}  // namespace
}  // namespace partita::api
