// A node that is asked through its server shows what it shows when it is asked itself, on every emulated node type.
#include <gtest/gtest.h>

#include <thread>

#include "api/json.h"
#include "base/test_folder.h"
#include "cli/draw/draw.h"
#include "cli/draw/draw_emulated.h"
#include "client/client.h"
#include "node/node.h"
#include "serve/server.h"

namespace partita::cli {
namespace {

struct Variable {  // set while it lives
  const char* name;
  Variable(const char* variable, const std::string& value) : name(variable) { setenv(variable, value.c_str(), 1); }
  ~Variable() { unsetenv(name); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
};

template <class T>
T value(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

// MIG on everywhere it can be, and the first profile of each board once.
api::PlanRequest request_for(const layout::NodeState& state) {
  layout::MigPartedLabel label{"test", {}, 1};
  for (const auto& gpu : state.gpus) {
    layout::MigPartedEntry entry;
    entry.devices = std::vector{gpu.index};
    entry.mig_enabled = gpu.mode && gpu.board && gpu.board->has_mig();
    if (entry.mig_enabled)
      entry.mig_devices = std::vector<std::pair<std::string, int>>{{gpu.board->profiles.front().name, 1}};
    label.entries.push_back(entry);
  }
  api::PlanRequest out;
  out.caller.administrator = true;
  out.wanted = api::LayoutRequest{label, "test.yaml"};
  return out;
}

void compare(api::Node& own, api::Node& remote) {
  const Look look{100, false, true, false};
  const auto state = value(own.status());
  EXPECT_EQ(draw_status(look, value(remote.status()), true, state.state.gpus.size()),
            draw_status(look, state, true, state.state.gpus.size()));
  const auto request = request_for(state.state);
  EXPECT_EQ(draw_plan(look, value(remote.plan(request))), draw_plan(look, value(own.plan(request))));
  EXPECT_EQ(api::to_json(value(remote.check(request))), api::to_json(value(own.check(request))));
  EXPECT_EQ(draw_findings(look, value(remote.doctor())), draw_findings(look, value(own.doctor())));
}

TEST(Remote, ShowsWhatTheNodeShowsOnEveryType) {
  const TestFolder folder;
  const Variable root("PARTITA_EMULATED_ROOT", folder.path().string());
  auto catalog = value(catalog::Catalog::open());
  const SystemClock clock;
  for (const auto& type : value(node_types())) {
    SCOPED_TRACE(type.name);
    const auto emulated = value(emulator::start(catalog, type.name));
    const Variable node_variable("PARTITA_EMULATED_NODE", emulated.folder.string());
    node::Options options;
    options.driver.library = value(emulator::library_path());
    options.driver.device_root = emulated.folder / "root";
    options.state_dir = emulated.folder;
    options.name = emulated.name;
    options.emulated = true;
    const auto node = value(node::open_node(catalog, clock, options));
    serve::Options serving;
    serving.socket = emulated.folder / "s";
    serving.tokens = emulated.folder / "tokens.db";
    serving.everyone_administers = true;
    serving.threads = 2;
    const auto server = value(serve::Server::open(*node, clock, serving));
    std::jthread thread([&](const std::stop_token& stop) { EXPECT_TRUE(server->run(stop)); });
    const auto remote = value(client::connect(serving.socket));
    compare(*node, *remote);
  }
}

}  // namespace
}  // namespace partita::cli
