#include "cli/draw/done.h"

#include <nlohmann/json.hpp>

namespace partita::cli {

Result<void> print_done(Format format, std::string_view sentence) {
  using Json = nlohmann::ordered_json;
  if (format == Format::table) return print(std::string(sentence) + '\n');
  return print_json(format, Json{{"done", sentence}}.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace partita::cli
