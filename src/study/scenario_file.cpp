#include "study/scenario_file.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "base/text.h"
#include "plan/fit.h"
#include "study/words.h"

namespace partita::study {
namespace {

constexpr double kLong = 1e6;  // seconds, requests per second

Result<Arrivals> read_kind(const Fields& fields, const std::string& kind) {
  Arrivals a;
  if (kind == "poisson") {
    a.kind = Arrivals::Kind::poisson;
    a.rate_per_s = TRY(fields.number("poisson", 0, kLong));
  } else if (kind == "none") {
    if (!TRY(fields.flag("none", true))) return fields.error("none", "expected true, or another kind of arrivals");
    a.kind = Arrivals::Kind::poisson;
  } else if (kind == "closed") {
    const Fields f = TRY(fields.section("closed"));
    TRY_VOID(f.only({}, {"clients", "think_s"}));
    a.clients = TRY(f.integer("clients", 1, 1'000'000, 1));
    a.think_s = TRY(f.number("think_s", 0, kLong, 0));
  } else if (kind == "on_off") {
    const Fields f = TRY(fields.section("on_off"));
    TRY_VOID(f.only({"rate", "on_s", "off_s"}));
    a.kind = Arrivals::Kind::on_off;
    a.rate_per_s = TRY(f.number("rate", 0, kLong));
    a.on_s = TRY(f.number("on_s", 1e-6, kLong));
    a.off_s = TRY(f.number("off_s", 1e-6, kLong));
  } else if (kind == "every") {
    const Fields f = TRY(fields.section("every"));
    TRY_VOID(f.only({"ms", "from_s", "to_s"}));
    a.kind = Arrivals::Kind::trace;
    const double step = TRY(f.number("ms", 1e-2, kLong)) / 1e3;
    const double from = TRY(f.number("from_s", 0, kLong)), to = TRY(f.number("to_s", 0, kLong));
    if (to <= from) return f.error("to_s", "expected an end after from_s");
    if ((to - from) / step > 1e7) return f.error("ms", "expected at most 10 million requests");
    for (double t = from; t < to; t += step) a.times_s.push_back(t);
  } else {
    a.kind = Arrivals::Kind::trace;
    a.times_s = TRY(fields.numbers("trace", 0, 1e9));
  }
  return a;
}

std::vector<int> counts_of(const catalog::Board& board, const std::vector<int>& profiles) {
  std::vector<int> counts(board.profiles.size());
  for (const int profile : profiles) ++counts[static_cast<std::size_t>(profile)];
  return counts;
}

Result<std::vector<plan::Placed>> placing(const catalog::Board& board, const std::vector<plan::Placed>& pinned,
                                          const std::vector<int>& profiles) {
  const plan::Geometry geometry(board);
  const std::vector<int> counts = counts_of(board, profiles);
  if (auto placed = plan::fit(geometry, pinned, counts)) return std::move(*placed);
  std::vector<plan::Pinned> held;
  for (const auto& p : pinned) held.push_back({p, "another server", false});
  return std::unexpected(plan::explain_no_fit(board, geometry, held, counts));
}

Result<std::vector<ServerSpec>> read_servers(const Fields& fields, const std::string& board, Context& context) {
  std::vector<ServerSpec> servers;
  for (const Fields& row : TRY(fields.rows("servers"))) {
    TRY_VOID(row.only({}, {"name", "board", "profile", "vgpu", "virtualised", "sharing", "count", "gpu"}));
    ServerSpec spec;
    spec.place = TRY(context.read_place(row, board));
    spec.sharing = TRY(read_sharing(row, "sharing"));
    spec.gpu = TRY(row.integer("gpu", 0, 1'000'000, 0));
    const int count = TRY(row.integer("count", 1, kMostAlike, 1));
    for (int i = 1; i <= count; ++i) {
      spec.name = count == 1 ? spec.place.name : fmt::format("{} #{}", spec.place.name, i);
      servers.push_back(spec);
    }
  }
  return servers;
}

ServerSpec* find(std::vector<ServerSpec>& servers, std::string_view name) {
  const auto found = std::ranges::find(servers, name, &ServerSpec::name);
  return found == servers.end() ? nullptr : &*found;
}

// Where each MIG server of one GPU sits.
using Seats = std::map<std::string, plan::Placed>;

Result<Seats> seat(const Fields& fields, const std::vector<ServerSpec>& servers, int gpu) {
  std::vector<const ServerSpec*> here;
  std::vector<int> profiles;
  for (const ServerSpec& s : servers) {
    if (s.gpu != gpu) continue;
    here.push_back(&s);
    if (s.place.board != here.front()->place.board)
      return fields.error("servers", fmt::format("GPU {} has two boards", gpu));
    if (s.place.partition.profile) profiles.push_back(s.place.profile());
  }
  if (profiles.empty()) {
    if (here.size() > 1)
      return fields.error(
          "servers", fmt::format("GPU {} is whole, but has {} servers; give them their own \"gpu\"", gpu, here.size()));
    return Seats{};
  }
  if (profiles.size() != here.size())
    return fields.error("servers", fmt::format("GPU {} is both whole and divided", gpu));
  auto placed = placing(*here.front()->place.board, {}, profiles);
  if (!placed) return fields.error("servers", placed.error().message);
  Seats seats;
  for (const ServerSpec* s : here) {
    const auto at = std::ranges::find(*placed, s->place.profile(), &plan::Placed::profile);
    seats[s->name] = *at;
    placed->erase(at);
  }
  return seats;
}

Result<ChangeSpec> read_change(const Fields& row, std::vector<ServerSpec>& servers, Seats& seats,
                               const std::string& board, Context& context) {
  TRY_VOID(row.only({"at_s", "destroy", "create"}));
  ChangeSpec change;
  change.at_s = TRY(row.number("at_s", 0, kLong));
  change.destroyed = TRY(row.texts("destroy"));
  std::shared_ptr<const catalog::Board> on;
  for (const std::string& name : change.destroyed) {
    const auto at = seats.find(name);
    const ServerSpec* server = find(servers, name);
    if (at == seats.end() || !server)
      return row.error("destroy", fmt::format("no MIG server is called {} then", quote(name)));
    on = server->place.board;
    change.down_s += TRY(reconfigure_times(*on, at->second.profile)).destroy_s;
    seats.erase(at);
  }
  std::vector<int> profiles;
  for (const Fields& made : TRY(row.rows("create"))) {
    TRY_VOID(made.only({"as"}, {"profile", "vgpu", "virtualised"}));
    Created created{TRY(made.text("as")), TRY(context.read_place(made, board))};
    if (!created.place.partition.profile) return made.error("profile", "expected a MIG profile");
    if (!find(servers, created.server))
      return made.error("as", fmt::format("no server is called {}", quote(created.server)));
    if (seats.contains(created.server))
      return made.error("as", fmt::format("{} is still there", quote(created.server)));
    change.down_s += TRY(reconfigure_times(*created.place.board, created.place.profile())).create_s;
    profiles.push_back(created.place.profile());
    on = created.place.board;
    change.created.push_back(std::move(created));
  }
  std::vector<plan::Placed> pinned;
  for (const auto& [name, placed] : seats) pinned.push_back(placed);
  auto placed = placing(*on, pinned, profiles);
  if (!placed) return row.error("create", placed.error().message);
  for (const Created& created : change.created) {
    const auto at = std::ranges::find(*placed, created.place.profile(), &plan::Placed::profile);
    seats[created.server] = *at;
    placed->erase(at);
  }
  return change;
}

}  // namespace

Result<void> check_layout(const catalog::Board& board, const std::vector<int>& profiles) {
  TRY_VOID(placing(board, {}, profiles));
  return {};
}

Result<Arrivals> read_arrivals(const Fields& fields) {
  TRY_VOID(fields.only({}, {"poisson", "closed", "on_off", "every", "trace", "none"}));
  const auto keys = fields.keys();
  if (keys.size() != 1) return fields.error("", fmt::format("expected one kind of arrivals, found {}", keys.size()));
  return read_kind(fields, keys.front());
}

std::string_view name(Sharing sharing) {
  switch (sharing) {
    case Sharing::exclusive:
      return "exclusive";
    case Sharing::time_slice:
      return "time-slicing";
    case Sharing::mps:
      return "MPS";
    case Sharing::vgpu_best_effort:
      return "vGPU best effort";
    case Sharing::vgpu_equal_share:
      return "vGPU equal share";
    case Sharing::vgpu_fixed_share:
      return "vGPU fixed share";
  }
  return "";
}

Result<Sharing> read_sharing(const Fields& fields, std::string_view key) {
  static constexpr std::pair<std::string_view, Sharing> kNames[] = {{"exclusive", Sharing::exclusive},
                                                                    {"time_slice", Sharing::time_slice},
                                                                    {"mps", Sharing::mps},
                                                                    {"vgpu_best_effort", Sharing::vgpu_best_effort},
                                                                    {"vgpu_equal_share", Sharing::vgpu_equal_share},
                                                                    {"vgpu_fixed_share", Sharing::vgpu_fixed_share}};
  const std::string text = TRY(fields.text_or(key, "exclusive"));
  std::vector<std::string> names;
  for (const auto& [name, sharing] : kNames) {
    if (name == text) return sharing;
    names.emplace_back(name);
  }
  return fields.error(key, fmt::format("expected one of {}, found {}", join(names, ", "), quote(text)));
}

Result<TenantSpec> read_tenant(const Fields& fields, Context& context) {
  TRY_VOID(fields.only({"name", "job", "arrivals"}, {"count", "batching", "slo_ms", "weight", "streams", "server"}));
  TenantSpec t;
  t.name = TRY(fields.text("name"));
  const Fields job = TRY(fields.section("job")), arrivals = TRY(fields.section("arrivals"));
  t.job = TRY(context.read_job(job));
  t.arrivals = TRY(read_arrivals(arrivals));
  if (const auto batching = TRY(fields.child("batching"))) {
    TRY_VOID(batching->only({"max_size"}, {"max_delay_ms"}));
    t.batching.max_size = TRY(batching->integer("max_size", 1, 4096));
    t.batching.max_delay_s = TRY(batching->number("max_delay_ms", 0, kLong, 0)) / 1e3;
  }
  if (fields.has("slo_ms")) t.slo_s = TRY(fields.number("slo_ms", 1e-3, 1e7)) / 1e3;
  t.weight = TRY(fields.number("weight", 1e-6, 1, 1));
  t.streams = TRY(fields.integer("streams", 1, 1024, 1));
  t.server = TRY(fields.text_or("server", ""));
  return t;
}

Result<ScenarioSpec> read_scenario(const Fields& fields, const std::string& board,
                                   const std::vector<TenantSpec>& tenants, Context& context) {
  TRY_VOID(fields.only({"name", "servers"}, {"note", "tenants", "changes", "weight"}));
  ScenarioSpec spec;
  spec.name = TRY(fields.text("name"));
  spec.note = TRY(fields.text_or("note", ""));
  spec.servers = TRY(read_servers(fields, board, context));
  spec.tenants = tenants;
  if (fields.has("tenants")) {
    spec.tenants.clear();
    for (const Fields& row : TRY(fields.rows("tenants"))) {
      const TenantSpec one = TRY(read_tenant(row, context));
      const int count = TRY(row.integer("count", 1, kMostAlike, 1));
      for (int i = 1; i <= count; ++i) {
        spec.tenants.push_back(one);
        if (count > 1) spec.tenants.back().name += fmt::format(" {}", i);
      }
    }
  }
  if (spec.tenants.empty()) return fields.error("tenants", "expected tenants here or in the study, found none");
  if (fields.has("weight")) {
    const double weight = TRY(fields.number("weight", 1e-6, 1));
    for (TenantSpec& tenant : spec.tenants) tenant.weight = weight;
  }
  for (std::size_t i = 0; i < spec.tenants.size(); ++i) {
    TenantSpec& tenant = spec.tenants[i];
    if (tenant.server.empty() && spec.servers.size() > 1 && i >= spec.servers.size())
      return fields.error("servers", fmt::format("{} servers for {} tenants: name each tenant's \"server\"",
                                                 spec.servers.size(), spec.tenants.size()));
    if (tenant.server.empty()) tenant.server = spec.servers[spec.servers.size() > 1 ? i : 0].name;
    if (!find(spec.servers, tenant.server))
      return fields.error("tenants",
                          fmt::format("no server is called {} (tenant {})", quote(tenant.server), tenant.name));
  }
  std::map<int, Seats> seats;
  for (const ServerSpec& server : spec.servers) {
    if (!seats.contains(server.gpu)) seats[server.gpu] = TRY(seat(fields, spec.servers, server.gpu));
  }
  if (fields.has("changes")) {
    double after = 0;
    for (const Fields& row : TRY(fields.rows("changes"))) {
      spec.changes.push_back(TRY(read_change(row, spec.servers, seats.begin()->second, board, context)));
      if (spec.changes.back().at_s < after)
        return row.error("at_s", "expected a time after the change before it is done");
      after = spec.changes.back().at_s + spec.changes.back().down_s;
    }
  }
  return spec;
}

}  // namespace partita::study
