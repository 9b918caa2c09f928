#include "emulator/control/board_readings.h"

#include <algorithm>
#include <array>

#include "base/yaml.h"
#include "catalog/embedded.h"

namespace partita::emulator {

namespace {

struct Number {
  std::string_view key;
  std::optional<std::uint32_t> BoardReadings::* to;
};
constexpr std::array kNumbers = {
    Number{"memory_bus_bits", &BoardReadings::memory_bus_bits}, Number{"memory_mhz", &BoardReadings::memory_mhz},
    Number{"application_mhz", &BoardReadings::application_mhz}, Number{"video_mhz", &BoardReadings::video_mhz},
    Number{"least_power_w", &BoardReadings::least_power_w}};

struct Text {
  std::string_view key;
  std::string FirmwareSpec::* to;
};
constexpr std::array kTexts = {Text{"vbios", &FirmwareSpec::vbios}, Text{"part_number", &FirmwareSpec::part_number}};
constexpr std::array kInforom = {Text{"image", &FirmwareSpec::inforom_image}, Text{"oem", &FirmwareSpec::inforom_oem},
                                 Text{"ecc", &FirmwareSpec::inforom_ecc}};

Result<void> read_texts(const YamlPlace& place, const YamlNode& node, std::span<const Text> texts, FirmwareSpec& to) {
  constexpr std::size_t kMost = 31;
  for (const Text& text : texts) {
    const YamlNode* key = node.find(text.key);
    if (key == nullptr) continue;
    to.*text.to = TRY(as_text(place.at(text.key), *key));
    if ((to.*text.to).empty() || (to.*text.to).size() > kMost)
      return yaml_fail(place.at(text.key), *key, "expected a text of 1 to 31 characters");
  }
  return {};
}

Result<BoardReadings> read_row(const YamlPlace& place, const YamlNode& node) {
  static constexpr std::array<std::string_view, 3> kRequired = {"boards", "source", "confidence"};
  static constexpr std::array<std::string_view, 8> kOptional = {"memory_bus_bits", "memory_mhz",    "application_mhz",
                                                                "video_mhz",       "least_power_w", "vbios",
                                                                "part_number",     "inforom"};
  static constexpr std::array<std::string_view, 3> kInforomKeys = {"image", "oem", "ecc"};
  constexpr std::int64_t kMost = 100'000;
  TRY_VOID(as_mapping(place, node));
  TRY_VOID(require_keys(place, node, kRequired, kOptional));
  BoardReadings row;
  for (std::size_t i = 0; const YamlNode& board : *TRY(as_sequence(place.at("boards"), *node.find("boards"))))
    row.boards.push_back(TRY(as_text(place.at("boards").at(i++), board)));
  for (const Number& number : kNumbers)
    if (const YamlNode* key = node.find(number.key))
      row.*number.to = static_cast<std::uint32_t>(TRY(as_integer(place.at(number.key), *key, 1, kMost)));
  TRY_VOID(read_texts(place, node, kTexts, row.firmware));
  if (const YamlNode* key = node.find("inforom")) {
    TRY_VOID(as_mapping(place.at("inforom"), *key));
    TRY_VOID(require_keys(place.at("inforom"), *key, {}, kInforomKeys));
    TRY_VOID(read_texts(place.at("inforom"), *key, kInforom, row.firmware));
  }
  return row;
}

}  // namespace

Result<std::vector<BoardReadings>> read_board_readings(std::string_view text, const std::string& file) {
  static constexpr std::array<std::string_view, 1> kRequired = {"boards"};
  const YamlDocument document = TRY(parse_yaml(text, file, {.max_bytes = 1U << 20, .max_nodes = 20'000}));
  const YamlPlace root{&document, ""};
  TRY_VOID(as_mapping(root, document.root));
  TRY_VOID(require_keys(root, document.root, kRequired, {}));
  const YamlPlace place = root.at("boards");
  std::vector<BoardReadings> rows;
  for (std::size_t i = 0; const YamlNode& row : *TRY(as_sequence(place, *document.root.find("boards"))))
    rows.push_back(TRY(read_row(place.at(i++), row)));
  return rows;
}

Result<std::vector<BoardReadings>> board_readings() {
  const std::string file = "board_readings.yaml";
  const auto text = catalog::embedded_file(file);
  if (!text) return fail(ErrorCode::internal, file + " is not in the program");
  return read_board_readings(*text, file);
}

BoardReadings readings_of(const std::vector<BoardReadings>& table, std::string_view board) {
  BoardReadings all;
  for (const BoardReadings& row : table) {
    if (std::ranges::find(row.boards, board) == row.boards.end()) continue;
    for (const Number& number : kNumbers)
      if (!(all.*number.to)) all.*number.to = row.*number.to;
    for (const std::span<const Text> texts : {std::span<const Text>(kTexts), std::span<const Text>(kInforom)})
      for (const Text& text : texts)
        if ((all.firmware.*text.to).empty()) all.firmware.*text.to = row.firmware.*text.to;
  }
  return all;
}

}  // namespace partita::emulator
