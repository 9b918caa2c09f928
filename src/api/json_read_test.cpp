#include "api/json_read.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <nlohmann/json.hpp>

#include "api/json.h"
#include "api/json_parts.h"
#include "catalog/catalog.h"

namespace partita::api {
namespace {

using std::chrono::milliseconds;

Caller alice() { return {1001, "alice", false, false, {"ml"}}; }

std::string any_text() { return *rc::gen::container<std::string>(rc::gen::inRange<char>(' ', '~')); }
template <class Make>
auto maybe(Make make) -> std::optional<decltype(make())> {
  return *rc::gen::arbitrary<bool>() ? std::optional(make()) : std::nullopt;
}
int any_number() { return *rc::gen::inRange(0, 1 << 30); }
int any_amount() { return 1 + any_number(); }
bool any_flag() { return *rc::gen::arbitrary<bool>(); }
Time any_time() { return Time(milliseconds(*rc::gen::inRange<std::int64_t>(0, 4'000'000'000'000))); }
ProcessId any_process() { return {*rc::gen::inRange(1, 1 << 22), static_cast<std::uint64_t>(any_number())}; }
Holder any_holder() {
  const auto kind = *rc::gen::element(HolderKind::user, HolderKind::process, HolderKind::container, HolderKind::vm,
                                      HolderKind::pod, HolderKind::job);
  return {kind, static_cast<uid_t>(any_number()), any_text(), any_text(), maybe(any_process)};
}

Requirement any_requirement() {
  Requirement out;
  out.profile = any_text();
  out.memory = maybe([] { return Bytes{static_cast<std::uint64_t>(any_amount()) << 10}; });
  out.sms = maybe(any_amount);
  out.whole_gpu = any_flag();
  out.bare = any_flag();
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) out.compute.push_back(any_text());
  out.gpu = maybe(any_text);
  out.start = maybe(any_number);
  out.board = maybe(any_text);
  out.exclusive_gpu = any_flag();
  out.same_gpu_as = maybe(any_text);
  return out;
}

GrantedDevice any_device() {
  GrantedDevice out;
  out.gpu = any_text();
  out.gpu_index = any_number();
  out.pci_bus_id = any_text();
  out.board = any_text();
  out.profile = any_text();
  out.start = maybe(any_number);
  out.gpu_instance = maybe(any_number);
  out.compute_instance = maybe(any_number);
  out.uuid = any_text();
  out.index = any_text();
  out.cdi = any_text();
  out.memory = Bytes{static_cast<std::uint64_t>(any_number())};
  out.sms = any_number();
  out.compute_slices = any_number();
  out.memory_slices = any_number();
  return out;
}

HostLimits any_limits() {
  return {maybe([] { return 0.5 + any_number() / 4096; }), maybe([] { return mib(1 + any_number() % 1024); })};
}

Lease any_lease() {
  Lease out;
  out.id = any_number();
  out.name = any_text();
  out.state = *rc::gen::element(LeaseState::waiting, LeaseState::cutting, LeaseState::granting, LeaseState::active,
                                LeaseState::parked, LeaseState::releasing, LeaseState::ended);
  out.holder = any_holder();
  out.requirement = any_requirement();
  out.priority = *rc::gen::element(Priority::low, Priority::normal, Priority::high);
  out.labels[any_text()] = any_text();
  out.asked = any_time();
  out.granted = maybe(any_time);
  out.expires = maybe(any_time);
  out.ended = maybe(any_time);
  out.grant =
      maybe([] { return Grant{{any_device()}, {{any_text(), any_number(), any_number(), any_flag()}}, any_text()}; });
  out.queue_position = maybe(any_number);
  out.estimate = maybe(any_time);
  out.cause = any_text();
  out.cause_details = {any_text()};
  out.recut = any_flag();
  out.host_limits = any_limits();
  return out;
}

TEST(JsonRead, LeasesComeBackAsTheyWere) {
  EXPECT_TRUE(rc::check([] {
    const std::vector leases = {any_lease(), any_lease()};
    const auto text = to_json(leases);
    const auto read = read_leases(text);
    RC_ASSERT(read.has_value());
    RC_ASSERT(to_json(*read) == text);
    RC_ASSERT((*read)[0].requirement == leases[0].requirement);
    RC_ASSERT(to_json(*read_lease(to_json(leases[1]))) == to_json(leases[1]));
  }));
}

TEST(JsonRead, RequestsForLeasesComeBackAsTheyWere) {
  EXPECT_TRUE(rc::check([] {
    LeaseRequest request;
    request.name = any_text();
    request.count = *rc::gen::inRange(1, kMostLeasesAtOnce + 1);
    request.holder = any_holder();
    request.requirement = any_requirement();
    request.duration = maybe([] { return milliseconds(1 + any_number()); });
    request.priority = Priority::high;
    request.labels["a"] = any_text();
    request.no_wait = any_flag();
    request.host_limits = any_limits();
    const auto text = to_json(request);
    const auto read = read_lease_request(text, alice());
    RC_ASSERT(read.has_value());
    RC_ASSERT(to_json(*read) == text);
    RC_ASSERT(read->caller.name == "alice");
  }));
}

TEST(JsonRead, EventsAndPolicyComeBackAsTheyWere) {
  EXPECT_TRUE(rc::check([] {
    const std::vector<Event> events = {{any_number(), any_time(), any_text(), any_text(), any_text()}};
    RC_ASSERT(to_json(*read_events(to_json(events))) == to_json(events));
    RC_ASSERT(to_json(*read_event(to_json(events[0]))) == to_json(events[0]));
    const PolicyAnswer policy{
        any_text(),
        {{any_text(), any_text(), any_number(), maybe([] { return std::int64_t{any_number()}; }), any_text()}},
        maybe([] { return milliseconds(any_number()); }),
        maybe([] { return milliseconds(any_number()); })};
    RC_ASSERT(to_json(*read_policy_answer(to_json(policy))) == to_json(policy));
  }));
}

TEST(JsonRead, ChangesComeBackAsTheyWere) {
  LeaseChange change;
  change.grace = milliseconds(1500);
  change.force = true;
  Requirement requirement;
  requirement.profile = "2g.10gb";
  const auto plain = read_lease_change(to_json(change), alice(), "train");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->grace, change.grace);
  EXPECT_TRUE(plain->force);
  EXPECT_EQ(plain->name, "train");
  EXPECT_EQ(read_renewal(to_json(change, milliseconds(7)), alice(), "train")->duration, milliseconds(7));
  EXPECT_EQ(read_resizing(to_json(change, requirement), alice(), "train")->requirement, requirement);
  EXPECT_EQ(read_attachment(to_json(change, ProcessId{4, 5}), alice(), "train")->process, (ProcessId{4, 5}));
  EXPECT_EQ(read_lease_change("", alice(), "train")->grace, std::chrono::seconds(10));
}

TEST(JsonRead, TheHolderIsTheCallerUnlessNamed) {
  const auto own = read_lease_request(R"({"requirement": {"profile": "1g.5gb"}})", alice());
  ASSERT_TRUE(own);
  EXPECT_EQ(own->holder.uid, 1001u);
  EXPECT_EQ(own->holder.user, "alice");
  const auto half = read_lease_request(R"({"holder": {"user": "bob"}, "requirement": {}})", alice());
  ASSERT_FALSE(half);
  EXPECT_EQ(half.error().code, ErrorCode::invalid);
}

TEST(JsonRead, PlanRequestsComeBackAsTheyWere) {
  const auto file = layout::read_mig_parted(R"(version: v1
mig-configs:
  half:

    - devices: [0, 3]
      device-filter: "0x20B010DE"
      mig-enabled: true
      mig-devices: {"3g.20gb": 2}
    - devices: all
      mig-enabled: false
)",
                                            "layouts.yaml");
  ASSERT_TRUE(file);
  ChangeOptions options;
  options.adopt = options.skip_reset = true;
  options.hooks.apply_start = {{"/bin/echo", {"a", "b"}, {{"KEY", "value"}}, "/tmp"}};
  for (const Wanted& wanted :
       {Wanted(LayoutRequest{file->labels[0], "layouts.yaml"}), Wanted(CheckpointRequest{"{\"a\":\n1}", "node.json"}),
        Wanted(DemandRequest{{{"3g.20gb", 2}, {"1g.5gb", 1}}})}) {
    const auto text = to_json(PlanRequest{{}, wanted, options});
    const auto read = read_plan_request(text, alice(), Hooks::allowed);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(to_json(*read), text);
    EXPECT_EQ(read->options.hooks.apply_start[0].envs, options.hooks.apply_start[0].envs);
    const auto refused = read_plan_request(text, alice(), Hooks::refused);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::denied);
  }
  const auto again = read_plan_request(to_json(PlanRequest{{}, LayoutRequest{file->labels[0], "layouts.yaml"}, {}}),
                                       alice(), Hooks::refused);
  ASSERT_TRUE(again);
  EXPECT_EQ(std::get<LayoutRequest>(again->wanted).label.entries[0].line, file->labels[0].entries[0].line);
}

TEST(JsonRead, WrongRequestsNameTheKey) {
  struct Case {
    const char* json;
    const char* says;
  };
  const Case cases[] = {
      {"", "no JSON document"},
      {"[]", "expected an object"},
      {"{\"requirement\": {}", "no JSON document"},
      {"{}", "requirement: is missing"},
      {R"({"requirement": {"profle": "1g.5gb"}})", "requirement.profle: no such key; did you mean profile?"},
      {R"({"requirement": {"profile": 7}})", "requirement.profile: expected a text, found 7"},
      {R"({"requirement": {"memory_bytes": -1}})", "requirement.memory_bytes: expected a whole number"},
      {R"({"requirement": {"memory_bytes": 1.5}})", "requirement.memory_bytes: expected a whole number"},
      {R"({"requirement": {"memory_bytes": 18446744073709551615}})", "requirement.memory_bytes"},
      {R"({"requirement": {"memory_bytes": 1e999}})", "no JSON document"},
      {R"({"requirement": {}, "count": 0})", "count: expected a whole number from 1 to 1000, found 0"},
      {R"({"requirement": {}, "count": "2"})", "count: expected a whole number"},
      {R"({"requirement": {}, "priority": "urgent"})", "priority: expected one of low, normal and high"},
      {R"({"requirement": {}, "name": "a\u0000b"})", "name: expected a text without NUL"},
      {R"({"requirement": {"compute": ["1c", 2]}})", "requirement.compute[1]: expected a text, found 2"},
      {R"({"requirement": {}, "requirement": {}})", "twice"},
      {R"({"requirement": {}, "labels": {"a": 1}})", "labels"},
      {R"({"requirement": {}, "no_wait": "yes"})", "no_wait: expected true or false"},
      {R"({"requirement": {}, "holder": {"process": {"pid": 0, "start_time_ticks": 1}}})", "holder.process.pid"},
  };
  for (const auto& [json, says] : cases) {
    const auto read = read_lease_request(json, alice());
    ASSERT_FALSE(read) << json;
    EXPECT_EQ(read.error().code, ErrorCode::invalid) << json;
    EXPECT_NE(read.error().message.find(says), std::string::npos) << json << ": " << read.error().message;
  }
  const std::string deep(100'000, '[');
  EXPECT_NE(read_lease_request(deep, alice()).error().message.find("nested deeper"), std::string::npos);
}

TEST(JsonRead, WrongPlanRequestsNameTheKey) {
  const auto message = [](const char* json) {
    const auto read = read_plan_request(json, alice(), Hooks::refused);
    return read ? std::string() : read.error().message;
  };
  EXPECT_NE(message("{}").find("expected one of mig_parted, checkpoint and demand"), std::string::npos);
  EXPECT_NE(message(R"({"demand": {"1g.5gb": 0}})").find("demand.1g.5gb"), std::string::npos);
  EXPECT_NE(message(R"({"demand": {}})").find("demand"), std::string::npos);
  EXPECT_NE(message(R"({"demand": {"a": 1}, "checkpoint": "x"})").find("does not go together"), std::string::npos);
  EXPECT_NE(message(R"({"mig_parted": {"version": "v2", "mig-configs": {}}})").find("version"), std::string::npos);
  EXPECT_NE(message(R"({"demand": {"a": 1}, "options": {"forced": true}})").find("did you mean force"),
            std::string::npos);
}

TEST(JsonRead, AnswersMayHaveMoreKeys) {
  auto json = Json::parse(to_json(Lease{}));
  json["holder"]["shoe_size"] = 44;
  json["tomorrow"] = nullptr;
  EXPECT_TRUE(read_lease(json.dump()));
  json["id"] = "seven";
  const auto wrong = read_lease(json.dump());
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::unavailable);
}

TEST(JsonRead, ErrorsKeepTheirCodes) {
  for (int i = 0; i <= static_cast<int>(ErrorCode::internal); ++i) {
    const Error error{static_cast<ErrorCode>(i), "what is wrong", {"a", "b"}};
    const auto read = read_error(to_json(error));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->code, error.code);
    EXPECT_EQ(read->message, error.message);
    EXPECT_EQ(read->details, error.details);
  }
  const auto problem = read_error(R"({"title": "busy", "code": "busy", "detail": "held", "details": ["x"]})");
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->code, ErrorCode::busy);
  EXPECT_EQ(problem->message, "held");
}

TEST(JsonRead, TimesAreReadAsWritten) {
  EXPECT_TRUE(rc::check([] {
    const auto time = any_time();
    RC_ASSERT(time_of(time_text(time)) == time);
  }));
  for (const auto* wrong : {"", "2026-11-30", "2026-13-30T11:44:03.250Z", "2026-02-30T11:44:03.250Z",
                            "2026-11-30T24:44:03.250Z", "2026-11-30 11:44:03.250Z", "2026-11-30T11:44:03.25xZ"})
    EXPECT_FALSE(time_of(wrong)) << wrong;
}

// A GPU of the board with instances wherever they fit side by side, and what a plan says of it.
layout::Gpu cut_gpu(const std::shared_ptr<const catalog::Board>& board, int index) {
  layout::Gpu out;
  out.index = index;
  out.minor = index;
  out.uuid = "GPU-" + std::to_string(index);
  out.pci_bus_id = "00000000:07:00.0";
  out.pci_device_id = 0x20B010DE;
  out.product = board->product;
  out.total_memory = gib(40);
  out.board = board;
  if (!board->has_mig()) return out;
  out.mode = layout::MigMode{any_flag(), true};
  for (int start = 0, id = 1; start < board->placement_units; ++id) {
    const int profile = *rc::gen::inRange(0, static_cast<int>(board->profiles.size()));
    const auto& row = board->profiles[static_cast<std::size_t>(profile)];
    layout::GpuInstance instance{id, profile, {start, row.placement_size}, {}, {}};
    for (int i = 0; i < static_cast<int>(row.compute.size()); ++i)
      instance.compute.push_back({i, i, {i, 1}, "MIG-" + std::to_string(id), maybe(any_number)});
    if (any_flag()) instance.pins = {{layout::Pin::Reason::leased, "lease a"}, {layout::Pin::Reason::foreign, "b"}};
    out.instances.push_back(instance);
    start += row.placement_size;
  }
  out.processes = {{4711, any_text(), maybe([] { return mib(5); }), maybe(any_number), maybe(any_number)}};
  out.nvlink_peers = {"00000000:0F:00.0"};
  return out;
}

GpuChange any_change(const layout::Gpu& before) {
  GpuChange out;
  out.before = before;
  out.board = before.board;
  out.set_mode = maybe(any_flag);
  out.needs_reset = any_flag();
  out.plan.gpu = before.uuid;
  using Kind = plan::Step::Kind;
  for (const auto& instance : before.instances) {
    const int start = instance.placement.start;
    if (!instance.compute.empty())
      out.plan.steps.push_back({Kind::destroy_compute, instance.profile, start, instance.compute.back().profile, 1});
    out.plan.steps.push_back({Kind::create_gpu_instance, instance.profile, start});
    out.plan.kept.push_back({instance.profile, start});
    out.plan.result.push_back({instance.profile, start});
  }
  out.plan.compute_created = any_number();
  return out;
}

// Profiles are named on the way: every board of every emulated node type must tell its own apart.
TEST(JsonRead, NodesOfEveryTypeComeBackAsTheyWere) {
  auto catalog = catalog::Catalog::open();
  ASSERT_TRUE(catalog);
  std::size_t turn = 0;  // the boards take turns
  ASSERT_LT(catalog->boards().size(), 100u);
  EXPECT_TRUE(rc::check([&] {
    const auto board = *catalog->board(catalog->boards()[turn++ % catalog->boards().size()].id);
    RC_LOG() << board->id;
    const layout::NodeState state{"550.1", "12.550", {cut_gpu(board, 0), cut_gpu(board, 3)}};
    const auto back = read_state(to_json(state, Boards::included));
    RC_ASSERT(back.has_value());
    RC_ASSERT(to_json(*back, Boards::included) == to_json(state, Boards::included));
    for (std::size_t g = 0; g < state.gpus.size(); ++g)
      for (std::size_t i = 0; i < state.gpus[g].instances.size(); ++i) {
        const auto& one = state.gpus[g].instances[i];
        const auto& other = back->gpus[g].instances[i];
        RC_ASSERT(one.profile == other.profile);
        for (std::size_t c = 0; c < one.compute.size(); ++c)
          RC_ASSERT(one.compute[c].profile == other.compute[c].profile);
      }
    ApplyAnswer applied{{state, {any_change(state.gpus[0])}, {"GPU-3"}, {"a"}, 1, 2, 3, true}, state, {"GPU-0"}, {"b"}};
    const auto text = to_json(applied, Boards::included);
    const auto again = read_apply(text);
    RC_ASSERT(again.has_value());
    RC_ASSERT(to_json(*again, Boards::included) == text);
    RC_ASSERT(again->plan.changes[0].plan.steps == applied.plan.changes[0].plan.steps);
    RC_ASSERT(again->plan.changes[0].plan.result == applied.plan.changes[0].plan.result);
  }));
}

TEST(JsonRead, AnswersWithoutBoardsAreRefused) {
  const auto read = read_status(to_json(StatusAnswer{}));
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("boards: is missing"), std::string::npos);
}

TEST(JsonRead, FindingsAndDifferencesComeBackAsTheyWere) {
  const AssertAnswer asserted{{{"GPU-1", "differs"}}, {"w"}};
  EXPECT_EQ(to_json(*read_assert(to_json(asserted))), to_json(asserted));
  const DoctorAnswer doctor{{{Finding::Level::warning, "a", "b", ""}, {Finding::Level::ok, "c", "d", "e"}}};
  EXPECT_EQ(to_json(*read_doctor(to_json(doctor))), to_json(doctor));
}

TEST(JsonRead, NoTextBreaksTheReaders) {
  EXPECT_TRUE(rc::check([] {
    auto text = to_json(LeaseRequest{});
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    text[at] = static_cast<char>(*rc::gen::inRange(0, 256));
    (void)read_lease_request(text, alice());
    (void)read_plan_request(text, alice(), Hooks::refused);
    (void)read_leases(text);
    (void)read_status(text);
  }));
}

}  // namespace
}  // namespace partita::api
