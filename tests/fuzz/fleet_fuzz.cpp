// Any bytes as a fleet and, behind a line "===", a demand: a plan that is what it says, or an error.
#include "catalog/catalog.h"
#include "fleet/exact/solve.h"
#include "fleet/exact/validate.h"
#include "fleet/files/demand_file.h"
#include "fleet/files/fleet_file.h"
#include "fleet/files/nodes.h"
#include "fuzz.h"

using namespace partita;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static auto catalog = catalog::Catalog::open().value();
  const std::string text(fuzz::text_of(data, size));
  const auto cut = text.find("\n===\n");
  fleet::FleetFile file;
  if (!fuzz::accepted(fleet::read_fleet(text.substr(0, cut), "f", catalog, file))) return 0;
  if (cut == std::string::npos) return 0;
  const auto demand = fleet::read_demand(text.substr(cut + 5), "d", file.fleet);
  if (!fuzz::accepted(demand)) return 0;
  if (demand->demand.wants.empty() || demand->demand.wants.size() > 8 || file.fleet.kinds.size() > 8) return 0;
  const auto plan = fleet::solve(file.fleet, demand->demand, {{20, {}}, true, 2});
  if (!fuzz::accepted(plan)) return 0;
  fuzz::require(fleet::validate(file.fleet, demand->demand, *plan).has_value(), "a plan is what it says");
  for (const auto& node : fleet::spread(file, *plan)) fuzz::require(node.nodes > 0, "a layout is some node's");
  return 0;
}
