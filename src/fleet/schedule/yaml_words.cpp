#include "fleet/schedule/yaml_words.h"

namespace partita::fleet {

Error yaml_error_of(const YamlPlace& place, const YamlNode& node, Error error) {
  error.message = yaml_error(place, node, error.message).message;
  return error;
}

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

}  // namespace partita::fleet
