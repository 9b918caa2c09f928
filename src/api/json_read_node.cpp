// A node's state, plans and what became of them, from JSON with its boards.
#include <span>

#include <nlohmann/json.hpp>

#include "api/json_board_in.h"
#include "api/json_read.h"

namespace partita::api {
namespace {

using Boards = std::vector<std::shared_ptr<const catalog::Board>>;

constexpr int kUnknown = -1;

Boards read_boards(const Members& in) {
  in.need("boards");
  Boards out;
  in.each("boards", [&](const Json& item, const std::string& path) {
    out.push_back(std::make_shared<const catalog::Board>(read_board(in.reading(), item, path)));
  });
  return out;
}

std::shared_ptr<const catalog::Board> board_at(const Members& in, const Boards& boards) {
  const auto table = in.maybe_number("board_table", 0, kMostNumber);
  if (!table) return nullptr;
  if (static_cast<std::size_t>(*table) < boards.size()) return boards[static_cast<std::size_t>(*table)];
  in.wrong("board_table", "the number of a board");
  return nullptr;
}

int compute_called(const catalog::Board* board, int profile, const std::string& name) {
  const auto* found = profile_at(board, profile);
  for (std::size_t i = 0; found && i < found->compute.size(); ++i)
    if (found->compute[i].name == name) return static_cast<int>(i);
  return kUnknown;
}

layout::Placement read_placement(const Members& in) {
  return {in.number("placement_start", 0, kMostNumber), in.number("placement_size", 0, kMostNumber)};
}

layout::ComputeInstance read_compute(Reading& reading, const Json& json, const std::string& path,
                                     const catalog::Board* board, int profile) {
  const Members in(reading, json, path, {});
  layout::ComputeInstance out;
  out.id = in.number("id", 0, kMostNumber);
  out.profile = compute_called(board, profile, in.text("profile"));
  out.placement = read_placement(in);
  out.uuid = in.text("uuid");
  out.mig_index = in.maybe_number("mig_index", 0, kMostNumber);
  return out;
}

std::optional<layout::Pin::Reason> pin_reason(std::string_view text) {
  using Reason = layout::Pin::Reason;
  if (text == "busy") return Reason::busy;
  if (text == "leased") return Reason::leased;
  if (text == "foreign") return Reason::foreign;
  return std::nullopt;
}

layout::GpuInstance read_instance(Reading& reading, const Json& json, const std::string& path,
                                  const catalog::Board* board) {
  const Members in(reading, json, path, {});
  layout::GpuInstance out;
  out.id = in.number("id", 0, kMostNumber);
  out.profile = profile_called(board, in.text("profile"));
  out.placement = read_placement(in);
  in.each("compute_instances", [&](const Json& item, const std::string& at) {
    out.compute.push_back(read_compute(reading, item, at, board, out.profile));
  });
  in.each("pins", [&](const Json& item, const std::string& at) {
    const Members pin(reading, item, at, {});
    out.pins.push_back({pin.word("reason", pin_reason, "busy, leased and foreign").value_or(layout::Pin::Reason::busy),
                        pin.text("holder")});
  });
  return out;
}

layout::Process read_device_process(Reading& reading, const Json& json, const std::string& path) {
  const Members in(reading, json, path, {});
  return {in.number<pid_t>("pid", 0, kMostNumber), in.text("name"), in.bytes("memory_bytes"),
          in.maybe_number("gpu_instance_id", 0, kMostNumber), in.maybe_number("compute_instance_id", 0, kMostNumber)};
}

layout::Gpu read_gpu(Reading& reading, const Json& json, const std::string& path, const Boards& boards) {
  const Members in(reading, json, path, {});
  for (const auto* key : {"index", "uuid"}) in.need(key);
  layout::Gpu out;
  out.index = in.number("index", 0, kMostNumber);
  out.minor = in.maybe_number("minor", 0, kMostNumber);
  out.uuid = in.text("uuid");
  out.pci_bus_id = in.text("pci_bus_id");
  out.pci_device_id = reading.hex(in.path_of("pci_device_id"), in.text("pci_device_id"));
  out.pci_subsystem_id = reading.hex(in.path_of("pci_subsystem_id"), in.text("pci_subsystem_id"));
  out.product = in.text("product");
  out.board = board_at(in, boards);
  out.total_memory = in.bytes("memory_bytes").value_or(Bytes{});
  out.used_memory = in.bytes("used_memory_bytes");
  out.utilization_percent = in.maybe_number("utilization_percent", 0, 100);
  out.fault = in.maybe_text("fault");
  if (in.has("mig_mode")) {
    const Members mode(reading, in.at("mig_mode"), in.path_of("mig_mode"), {});
    out.mode = layout::MigMode{mode.flag("current"), mode.flag("pending")};
  }
  in.each("gpu_instances", [&](const Json& item, const std::string& at) {
    out.instances.push_back(read_instance(reading, item, at, out.board.get()));
  });
  in.each("processes", [&](const Json& item, const std::string& at) {
    out.processes.push_back(read_device_process(reading, item, at));
  });
  out.nvlink_peers = in.texts("nvlink_peers");
  return out;
}

layout::NodeState read_node(const Members& in, const Boards& boards) {
  in.need("gpus");
  layout::NodeState out;
  out.driver_version = in.text("driver_version");
  out.nvml_version = in.text("nvml_version");
  in.each("gpus", [&](const Json& item, const std::string& at) {
    out.gpus.push_back(read_gpu(in.reading(), item, at, boards));
  });
  return out;
}

std::optional<plan::Step::Kind> step_kind(std::string_view text) {
  using Kind = plan::Step::Kind;
  if (text == "destroy_compute_instance") return Kind::destroy_compute;
  if (text == "destroy_gpu_instance") return Kind::destroy_gpu_instance;
  if (text == "create_gpu_instance") return Kind::create_gpu_instance;
  if (text == "create_compute_instance") return Kind::create_compute;
  return std::nullopt;
}

plan::Step read_step(Reading& reading, const Json& json, const std::string& path, const catalog::Board* board) {
  using Kind = plan::Step::Kind;
  const Members in(reading, json, path, {});
  plan::Step out;
  out.kind = in.word("action", step_kind, "the actions of a plan").value_or(Kind::create_gpu_instance);
  out.profile = profile_called(board, in.text("profile"));
  out.start = in.number("placement_start", 0, kMostNumber);
  if (out.kind != Kind::destroy_compute && out.kind != Kind::create_compute) return out;
  out.compute = compute_called(board, out.profile, in.text("compute_profile"));
  out.compute_start = in.number("compute_placement_start", 0, kMostNumber);
  return out;
}

std::vector<plan::Placed> read_places(const Members& in, std::string_view key, const catalog::Board* board) {
  std::vector<plan::Placed> out;
  in.each(key, [&](const Json& item, const std::string& path) {
    const Members place(in.reading(), item, path, {});
    out.push_back({profile_called(board, place.text("profile")), place.number("placement_start", 0, kMostNumber)});
  });
  return out;
}

GpuChange read_change(Reading& reading, const Json& json, const std::string& path, const Boards& boards) {
  const Members in(reading, json, path, {});
  in.need("before");
  GpuChange out;
  out.before = read_gpu(reading, in.at("before"), in.path_of("before"), boards);
  out.board = board_at(in, boards);
  const auto* board = out.board ? out.board.get() : out.before.board.get();
  if (in.has("set_mig_mode")) out.set_mode = in.flag("set_mig_mode");
  out.needs_reset = in.flag("needs_reset");
  out.reset_together = in.texts("reset_together");
  out.plan.gpu = in.text("gpu");
  in.each("steps", [&](const Json& item, const std::string& at) {
    out.plan.steps.push_back(read_step(reading, item, at, board));
  });
  out.plan.kept = read_places(in, "kept", board);
  out.plan.result = read_places(in, "result", board);
  out.plan.gpu_instances_destroyed = in.number("gpu_instances_destroyed", 0, kMostNumber);
  out.plan.gpu_instances_created = in.number("gpu_instances_created", 0, kMostNumber);
  out.plan.compute_destroyed = in.number("compute_instances_destroyed", 0, kMostNumber);
  out.plan.compute_created = in.number("compute_instances_created", 0, kMostNumber);
  return out;
}

NodePlanAnswer read_plan_answer(const Members& in, const Boards& boards) {
  for (const auto* key : {"changes", "before"}) in.need(key);
  NodePlanAnswer out;
  out.before = read_node(Members(in.reading(), in.at("before"), in.path_of("before"), {}), boards);
  in.each("changes", [&](const Json& item, const std::string& at) {
    out.changes.push_back(read_change(in.reading(), item, at, boards));
  });
  out.unchanged = in.texts("unchanged");
  out.gpu_instances_kept = in.number("gpu_instances_kept", 0, kMostNumber);
  out.gpu_instances_destroyed = in.number("gpu_instances_destroyed", 0, kMostNumber);
  out.gpu_instances_created = in.number("gpu_instances_created", 0, kMostNumber);
  out.forced = in.flag("forced");
  out.warnings = in.texts("warnings");
  return out;
}

std::optional<Finding::Level> finding_level(std::string_view text) {
  if (text == "ok") return Finding::Level::ok;
  if (text == "warning") return Finding::Level::warning;
  if (text == "problem") return Finding::Level::problem;
  return std::nullopt;
}

std::optional<ErrorCode> error_code(std::string_view text) {
  for (int i = 0; i <= static_cast<int>(ErrorCode::internal); ++i)
    if (name(static_cast<ErrorCode>(i)) == text) return static_cast<ErrorCode>(i);
  return std::nullopt;
}

// Reads an answer whose document is one object.
template <class Read>
auto read_answer(std::string_view json, Read read) {
  return read_document(json, Strictness::answer, [&](const Json& document, Reading& reading) {
    return read(Members(reading, document, "", {}));
  });
}

}  // namespace

Result<StatusAnswer> read_status(std::string_view json) {
  return read_answer(json, [](const Members& in) {
    return StatusAnswer{read_node(in, read_boards(in)), in.text("node"), in.flag("emulated"), in.texts("notes")};
  });
}

Result<layout::NodeState> read_state(std::string_view json) {
  return read_answer(json, [](const Members& in) { return read_node(in, read_boards(in)); });
}

Result<NodePlanAnswer> read_plan(std::string_view json) {
  return read_answer(json, [](const Members& in) { return read_plan_answer(in, read_boards(in)); });
}

Result<ApplyAnswer> read_apply(std::string_view json) {
  return read_answer(json, [](const Members& in) {
    const auto boards = read_boards(in);
    ApplyAnswer out;
    out.plan = read_plan_answer(Members(in.reading(), in.at("plan"), "plan", {}), boards);
    out.after = read_node(Members(in.reading(), in.at("after"), "after", {}), boards);
    out.pending_reset = in.texts("pending_reset");
    out.recovered = in.texts("recovered");
    return out;
  });
}

Result<AssertAnswer> read_assert(std::string_view json) {
  return read_answer(json, [](const Members& in) {
    in.need("differences");
    AssertAnswer out;
    in.each("differences", [&](const Json& item, const std::string& path) {
      const Members difference(in.reading(), item, path, {});
      out.differences.push_back({difference.text("gpu"), difference.text("what")});
    });
    out.warnings = in.texts("warnings");
    return out;
  });
}

Result<DoctorAnswer> read_doctor(std::string_view json) {
  return read_answer(json, [](const Members& in) {
    in.need("findings");
    DoctorAnswer out;
    in.each("findings", [&](const Json& item, const std::string& path) {
      const Members finding(in.reading(), item, path, {});
      out.findings.push_back(
          {finding.word("level", finding_level, "ok, warning and problem").value_or(Finding::Level::problem),
           finding.text("what"), finding.text("found"), finding.text("advice")});
    });
    return out;
  });
}

Result<Error> read_error(std::string_view json) {
  return read_answer(json, [](const Members& in) {
    const bool nested = in.at("error").is_object();
    const Members error(in.reading(), nested ? in.at("error") : in.at(""), "error", {});
    const auto& source = nested ? error : in;
    source.need("code");
    auto message = source.text("message");
    if (message.empty()) message = source.text("detail");
    return Error{error_code(source.text("code")).value_or(ErrorCode::internal), std::move(message),
                 source.texts("details")};
  });
}

}  // namespace partita::api
