// The captured creation sequences, on the boards that they were seen on as data/boards describes them.
#include <gtest/gtest.h>

#include "emulator/control/compile.h"
#include "emulator/control/node_file.h"
#include "emulator/control/test_support.h"
#include "emulator/engine/engine.h"
#include "emulator/engine/test_captures.h"
#include "emulator/engine/test_folder.h"

namespace partita::emulator {
namespace {

using test::Capture;
using test::kRefused;

// A node with one such GPU, MIG on.
Engine node_of(const test::TestFolder& folder, const std::string& board, bool mirrored) {
  catalog::Catalog catalog = open_catalog();
  const std::string text =
      "gpus: [{board: " + board + ", mig: enabled, mirrored: " + (mirrored ? "true" : "false") + "}]";
  const NodeFile file = read_node_file(text, "lab.yaml").value();
  NodeSpec spec = compile(catalog, file, "lab", "lab").value();
  spec.files = false;
  EXPECT_TRUE(Engine::create(folder.path(), spec));
  return std::move(Engine::open(folder.path()).value());
}

void replay(const Capture& capture, const std::string& board) {
  SCOPED_TRACE(capture.name() + " on " + board);
  const test::TestFolder folder;
  Engine engine = node_of(folder, board, capture.mirrored);
  std::vector<int> ids, starts;
  for (const int profile : capture.profiles) {
    GpuInstanceState made;
    const NvmlReturn answer = engine.create_gpu_instance(0, profile, std::nullopt, made);
    const bool refused = answer == kInsufficientResources;
    EXPECT_TRUE(refused || answer == kSuccess) << answer;
    ids.push_back(refused ? kRefused : made.id);
    starts.push_back(refused ? kRefused : made.start);
  }
  EXPECT_EQ(ids, capture.ids);
  EXPECT_EQ(starts, capture.starts);
}

TEST(CapturedSequences, AreReproducedOnTheirBoards) {
  ASSERT_EQ(test::captures().size(), 12U);
  for (const Capture& capture : test::captures())
    for (const std::string& board : capture.boards) replay(capture, board);
}

}  // namespace
}  // namespace partita::emulator
