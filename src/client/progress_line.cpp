#include "client/progress_line.h"

#include <nlohmann/json.hpp>

#include "api/json_read.h"

namespace partita::client {

std::optional<Result<std::string>> tell_line(std::string_view line, Progress& progress) {
  using Json = nlohmann::ordered_json;
  const auto json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  if (const auto result = json.find("result"); result != json.end()) return Result<std::string>(result->dump());
  if (json.contains("error")) {
    const auto error = api::read_error(line);
    return Result<std::string>(std::unexpected(error ? *error : error.error()));
  }
  const auto number = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_number_integer() ? found->get<int>() : 0;
  };
  const auto text = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (json.contains("step")) progress.step(number("step"), number("steps"), text("what"));
  if (json.contains("note")) progress.note(text("note"));
  return std::nullopt;
}

}  // namespace partita::client
