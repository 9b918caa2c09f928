#include "fleet/schedule/yaml_words.h"

#include "fleet/exact/by_name.h"

namespace partita::fleet {

Result<std::string> read_name(const YamlPlace& place, const YamlNode& node) {
  auto name = TRY(as_text(place, node));
  if (name.empty()) return yaml_fail(place, node, "expected a name, found nothing between the quotes");
  return name;
}

Result<Bytes> read_memory(const YamlPlace& place, const YamlNode& node) {
  const auto amount = parse_bytes(TRY(as_text(place, node)));
  if (!amount) return yaml_fail(place, node, amount.error().message);
  if (amount->value == 0) return yaml_fail(place, node, "expected more than nothing: leave it out where any will do");
  return *amount;
}

Result<std::vector<Server>> read_servers(const YamlPlace& place, const YamlNode& node, const Fleet& fleet,
                                         const std::string& name, const std::set<std::string>& boards) {
  auto found = servers_by_name(fleet, name, boards);
  if (!found) found.error().message = yaml_error(place, node, found.error().message).message;
  return found;
}

}  // namespace partita::fleet
