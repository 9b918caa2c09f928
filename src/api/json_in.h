// Reading JSON, inside api/ only: typed members of objects, and the first thing that is wrong, told with its path.
//
// Readers go on after a fault with defaults and look once at the end, so that they read like the structs they fill.
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/json_parts.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"

namespace partita::api {

enum class Strictness { request, answer };

// A document that is being read.
struct Reading {
  Strictness strictness = Strictness::answer;
  std::optional<Error> fault;

  void wrong(const std::string& path, const std::string& expected);
  // "0x20B010DE".
  std::uint32_t hex(const std::string& path, std::string_view text);
};

inline constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 62;
inline constexpr std::size_t kLongestText = 4096;
inline constexpr int kMostNumber = std::numeric_limits<int>::max();

// One object. Absent members and null are the same; null instead of an object has no members.
class Members {
 public:
  // Strict documents may have no keys but `keys`.
  Members(Reading& reading, const Json& json, std::string path, std::initializer_list<std::string_view> keys);

  bool has(std::string_view key) const { return find(key) != nullptr; }
  const Json& at(std::string_view key) const;  // null when absent
  std::string path_of(std::string_view key) const;
  Reading& reading() const { return reading_; }

  void need(std::string_view key) const;
  void wrong(std::string_view key, const std::string& expected) const;

  std::string text(std::string_view key, std::size_t longest = kLongestText) const;
  std::optional<std::string> maybe_text(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key, std::size_t most = 4096) const;
  bool flag(std::string_view key) const;
  std::optional<Bytes> bytes(std::string_view key, Bytes least = Bytes{}) const;
  std::optional<Time> time(std::string_view key) const;
  std::optional<double> real(std::string_view key) const;

  template <std::integral T>
  std::optional<T> maybe_number(std::string_view key, T min, T max) const {
    const auto value = integer(key, static_cast<std::int64_t>(min), static_cast<std::int64_t>(max));
    return value ? std::optional<T>(static_cast<T>(*value)) : std::nullopt;
  }
  template <std::integral T>
  T number(std::string_view key, T min, T max) const {
    return maybe_number(key, min, max).value_or(T{});
  }
  // A word of an enumeration, as `word_of` knows them; `words` for the message.
  template <class Lookup>
  auto word(std::string_view key, Lookup lookup, const char* words) const -> decltype(lookup(std::string_view{})) {
    if (!has(key)) return std::nullopt;
    auto out = lookup(text(key));
    if (!out) wrong(key, std::string("one of ") + words);
    return out;
  }
  // Calls `read(json, path)` for each member of a list.
  void each(std::string_view key, const std::function<void(const Json& json, const std::string& path)>& read,
            std::size_t most = 1u << 20) const;

 private:
  const Json* find(std::string_view key) const;
  std::optional<std::int64_t> integer(std::string_view key, std::int64_t min, std::int64_t max) const;
  bool is_list(std::string_view key, const Json& list, std::size_t most) const;

  Reading& reading_;
  const Json* json_;
  std::string path_;
};

// A parsed text. Documents nested deeper than 32 levels, and keys given twice in a request, are wrong.
class Document {
 public:
  static Result<Document> parse(std::string_view text, Strictness strictness);
  const Json& root() const { return *root_; }

  Document(Document&&) noexcept;
  Document& operator=(Document&&) = delete;
  ~Document();

 private:
  explicit Document(std::unique_ptr<Json> root);
  std::unique_ptr<Json> root_;
};

// Parses `text` and calls `read(json, reading)`; its value, unless something was wrong.
template <class Read>
auto read_document(std::string_view text, Strictness strictness, Read read)
    -> Result<std::invoke_result_t<Read, const Json&, Reading&>> {
  const Document document = TRY(Document::parse(text, strictness));
  Reading reading{strictness, std::nullopt};
  auto out = read(document.root(), reading);
  if (reading.fault) return std::unexpected(*std::move(reading.fault));
  return out;
}

}  // namespace partita::api
