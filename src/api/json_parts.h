// Parts of the JSON shapes that several answers share. Inside api/ only.
#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "catalog/board.h"
#include "layout/layout.h"

namespace partita::api {

using Json = nlohmann::ordered_json;

std::string to_text(const Json& json);       // indented, ends with a line feed
std::string to_wire_text(const Json& json);  // in one line
Json object_of(std::size_t members);         // empty, with room for so many
Json value_or_null(const std::optional<int>& value);
Json value_or_null(const std::optional<double>& value);
Json value_or_null(const std::optional<std::string>& value);
Json bytes_or_null(const std::optional<Bytes>& bytes);
std::string hex(std::uint32_t value, int digits);  // "0x20B010DE"

// "2026-11-30T11:44:03.250Z".
std::string time_text(Time time);
std::optional<Time> time_of(std::string_view text);
Json time_or_null(const std::optional<Time>& time);

// The boards of an answer, each once; GPUs and changes refer to them by number. Empty where they are left out.
class BoardTables {
 public:
  explicit BoardTables(bool included) : included_(included) {}
  bool included() const { return included_; }
  // Adds "board_table" to `out`.
  void refer(Json& out, const std::shared_ptr<const catalog::Board>& board);
  // Adds "boards" to `out`.
  void write(Json& out) const;

 private:
  bool included_;
  std::vector<std::shared_ptr<const catalog::Board>> boards_;
};
Json board_json(const catalog::Board& board);

// One GPU as status shows it: docs/json.md, "GPU".
Json gpu_json(const layout::Gpu& gpu, BoardTables& boards);
// {"profile", "placement_start", "placement_size"} of an instance at a place.
Json place_json(const catalog::Board* board, int profile, int start);
// The profile at an index, or nullptr.
const catalog::Profile* profile_at(const catalog::Board* board, int index);

}  // namespace partita::api
