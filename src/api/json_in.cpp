#include "api/json_in.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"

namespace partita::api {
namespace {

constexpr int kDeepest = 32;

// What stands there, shortly.
std::string found(const Json& json) {
  switch (json.type()) {
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "a list";
    case Json::value_t::string:
      return quote(json.get_ref<const std::string&>());
    default:
      return one_line(json.dump(-1, ' ', false, Json::error_handler_t::replace), 40);
  }
}

ErrorCode code_of(Strictness strictness) {
  return strictness == Strictness::request ? ErrorCode::invalid : ErrorCode::unavailable;
}

// "[json.exception.parse_error.101] parse error at line 1, ..." without its number.
std::string reason(std::string_view what) {
  if (const auto end = what.find("] "); end != std::string_view::npos) what.remove_prefix(end + 2);
  return one_line(what);
}

// Watches a document while it is parsed.
struct Watch {
  bool too_deep = false;
  std::string twice;
  std::vector<std::set<std::string, std::less<>>> keys;  // of the objects that are open

  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    if (depth > kDeepest) too_deep = true;
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end && !keys.empty()) keys.pop_back();
    if (event == Event::key && !keys.empty() && twice.empty())
      if (const auto& key = parsed.get_ref<const std::string&>(); !keys.back().insert(key).second) twice = key;
    return !too_deep;
  }
};

}  // namespace

void Reading::wrong(const std::string& path, const std::string& expected) {
  if (fault) return;
  fault = Error{code_of(strictness), (path.empty() ? std::string("the document") : path) + ": " + expected, {}};
  if (strictness == Strictness::answer) fault->message.insert(0, "the node's answer cannot be read: ");
}

std::uint32_t Reading::hex(const std::string& path, std::string_view text) {
  std::uint32_t out = 0;
  constexpr int kBase = 16;
  const auto digits = text.starts_with("0x") ? text.substr(2) : std::string_view();
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), out, kBase);
  if (digits.empty() || status != std::errc{} || end != digits.data() + digits.size())
    wrong(path, "expected a number such as 0x20B010DE, found " + quote(text));
  return out;
}

Members::Members(Reading& reading, const Json& json, std::string path, std::initializer_list<std::string_view> keys)
    : reading_(reading), json_(&json), path_(std::move(path)) {
  if (json.is_null()) return;
  if (!json.is_object()) {
    reading.wrong(path_, "expected an object, found " + found(json));
    json_ = nullptr;
    return;
  }
  if (reading.strictness == Strictness::answer) return;
  for (const auto& [key, _] : json.items()) {
    if (std::ranges::find(keys, key) != keys.end()) continue;
    const std::vector<std::string> known(keys.begin(), keys.end());
    reading.wrong(path_of(one_line(key, 60)), "no such key" + did_you_mean(key, known));
  }
}

const Json* Members::find(std::string_view key) const {
  if (!json_ || !json_->is_object()) return nullptr;
  const auto member = json_->find(key);
  return member == json_->end() || member->is_null() ? nullptr : &*member;
}

const Json& Members::at(std::string_view key) const {
  static const Json none;
  const auto* member = find(key);
  return member ? *member : none;
}

std::string Members::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

void Members::need(std::string_view key) const {
  if (!has(key)) reading_.wrong(path_of(key), "is missing");
}

void Members::wrong(std::string_view key, const std::string& expected) const {
  reading_.wrong(path_of(key), "expected " + expected + ", found " + found(at(key)));
}

std::string Members::text(std::string_view key, std::size_t longest) const {
  const auto* member = find(key);
  if (!member) return "";
  if (!member->is_string()) {
    wrong(key, "a text");
    return "";
  }
  const auto& out = member->get_ref<const std::string&>();
  if (reading_.strictness == Strictness::request) {
    if (out.size() > longest) reading_.wrong(path_of(key), fmt::format("expected at most {} bytes", longest));
    if (out.find('\0') != out.npos) reading_.wrong(path_of(key), "expected a text without NUL characters");
  }
  return out;
}

std::optional<std::string> Members::maybe_text(std::string_view key) const {
  return has(key) ? std::optional(text(key)) : std::nullopt;
}

std::vector<std::string> Members::texts(std::string_view key, std::size_t most) const {
  std::vector<std::string> out;
  each(
      key,
      [&](const Json& item, const std::string& path) {
        if (!item.is_string())
          reading_.wrong(path, "expected a text, found " + found(item));
        else if (const auto& text = item.get_ref<const std::string&>();
                 reading_.strictness == Strictness::request && (text.size() > kLongestText || text.contains('\0')))
          reading_.wrong(path, fmt::format("expected a text of at most {} bytes without NUL characters", kLongestText));
        else
          out.push_back(text);
      },
      most);
  return out;
}

bool Members::flag(std::string_view key) const {
  const auto* member = find(key);
  if (!member) return false;
  if (!member->is_boolean()) {
    wrong(key, "true or false");
    return false;
  }
  return member->get<bool>();
}

std::optional<std::int64_t> Members::integer(std::string_view key, std::int64_t min, std::int64_t max) const {
  const auto* member = find(key);
  if (!member) return std::nullopt;
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const bool fits =
      member->is_number_integer() && !(member->is_number_unsigned() && member->get<std::uint64_t>() > kMost);
  if (fits)
    if (const auto value = member->get<std::int64_t>(); value >= min && value <= max) return value;
  wrong(key, fmt::format("a whole number from {} to {}", min, max));
  return std::nullopt;
}

std::optional<Bytes> Members::bytes(std::string_view key, Bytes least) const {
  const auto value = integer(key, static_cast<std::int64_t>(least.value), static_cast<std::int64_t>(kMostBytes));
  return value ? std::optional(Bytes{static_cast<std::uint64_t>(*value)}) : std::nullopt;
}

std::optional<Time> Members::time(std::string_view key) const {
  if (!has(key)) return std::nullopt;
  const auto out = time_of(text(key));
  if (!out) wrong(key, "a time such as 2026-11-30T11:44:03.250Z");
  return out;
}

std::optional<double> Members::real(std::string_view key) const {
  const auto* member = find(key);
  if (!member) return std::nullopt;
  if (member->is_number()) return member->get<double>();
  wrong(key, "a number");
  return std::nullopt;
}

bool Members::is_list(std::string_view key, const Json& list, std::size_t most) const {
  if (list.is_null()) return false;
  if (!list.is_array()) {
    wrong(key, "a list");
    return false;
  }
  if (list.size() <= most || reading_.strictness == Strictness::answer) return true;
  reading_.wrong(path_of(key), fmt::format("expected at most {} members, found {}", most, list.size()));
  return false;
}

void Members::each(std::string_view key, const std::function<void(const Json&, const std::string&)>& read,
                   std::size_t most) const {
  const auto& list = at(key);
  if (!is_list(key, list, most)) return;
  std::size_t i = 0;
  for (const auto& item : list) read(item, path_of(key) + "[" + std::to_string(i++) + "]");
}

Document::Document(std::unique_ptr<Json> root) : root_(std::move(root)) {}
Document::Document(Document&&) noexcept = default;
Document::~Document() = default;

Result<Document> Document::parse(std::string_view text, Strictness strictness) {
  const auto code = code_of(strictness);
  const std::string what = strictness == Strictness::request ? "the request" : "the node's answer";
  const auto too_deep = [&] { return fail(code, fmt::format("{} is nested deeper than {} levels", what, kDeepest)); };
  Watch watch;
  try {
    auto out = Json::parse(
        text, [&](int depth, Json::parse_event_t event, const Json& parsed) { return watch(depth, event, parsed); });
    if (watch.too_deep) return too_deep();
    if (strictness == Strictness::request && !watch.twice.empty())
      return fail(code, fmt::format("{} has the key {} twice in one object", what, quote(watch.twice)));
    return Document(std::make_unique<Json>(std::move(out)));
  } catch (const Json::exception& error) {
    if (watch.too_deep) return too_deep();
    return fail(code, what + " is no JSON document: " + reason(error.what()));
  }
}

}  // namespace partita::api
