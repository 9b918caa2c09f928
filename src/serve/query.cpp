#include "serve/query.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace partita::serve {

void Query::wrong(std::string message) {
  if (!fault_) fault_ = Error{ErrorCode::invalid, std::move(message), {}};
}

const std::string* Query::find(const std::string& name) {
  known_.push_back(name);
  const auto found = request_.query.find(name);
  return found == request_.query.end() ? nullptr : &found->second;
}

std::string Query::text(const std::string& name) {
  constexpr std::size_t kLongest = 256;
  const auto* value = find(name);
  if (!value) return "";
  if (value->empty() || value->size() > kLongest) wrong(fmt::format("{}: expected 1-256 bytes", name));
  if (line_of_bad_utf8(*value)) wrong(fmt::format("{}: expected UTF-8", name));
  return *value;
}

std::int64_t Query::number(const std::string& name, std::int64_t otherwise, std::int64_t min, std::int64_t max) {
  const auto* value = find(name);
  if (!value) return otherwise;
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), out);
  if (error == std::errc{} && end == value->data() + value->size() && out >= min && out <= max) return out;
  wrong(fmt::format("{}: expected a whole number from {} to {}, found {}", name, min, max, quote(*value)));
  return otherwise;
}

bool Query::flag(const std::string& name) {
  const auto* value = find(name);
  if (!value) return false;
  if (*value != "true" && *value != "false")
    wrong(fmt::format("{}: expected true or false, found {}", name, quote(*value)));
  return *value == "true";
}

std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '.' || c == '_' || c == '~';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

Result<void> Query::end() {
  for (const auto& [name, value] : request_.query) {
    if (std::ranges::find(known_, name) == known_.end())
      wrong(fmt::format("unknown parameter {}{}", quote(name), did_you_mean(name, known_)));
    if (request_.query.count(name) > 1) wrong(fmt::format("parameter {} is given twice", quote(name)));
  }
  if (fault_) return std::unexpected(*fault_);
  return {};
}

}  // namespace partita::serve
