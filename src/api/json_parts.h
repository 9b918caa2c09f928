// Parts of the JSON shapes that several answers share. Inside api/ only.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "catalog/board.h"
#include "layout/layout.h"

namespace partita::api {

using Json = nlohmann::ordered_json;

std::string to_text(const Json& json);  // indented, ends with a line feed
Json value_or_null(const std::optional<int>& value);
Json value_or_null(const std::optional<double>& value);
Json value_or_null(const std::optional<std::string>& value);
Json bytes_or_null(const std::optional<Bytes>& bytes);
std::string hex(std::uint32_t value, int digits);  // "0x20B010DE"

// One GPU as status shows it: docs/json.md, "GPU".
Json gpu_json(const layout::Gpu& gpu);
// {"profile", "placement_start", "placement_size"} of an instance at a place.
Json place_json(const catalog::Board* board, int profile, int start);
// The profile at an index, or nullptr.
const catalog::Profile* profile_at(const catalog::Board* board, int index);

}  // namespace partita::api
