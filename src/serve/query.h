// The parameters of a query string, read strictly: unknown ones, repeated ones and wrong values are `invalid`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "serve/http.h"

namespace partita::serve {

class Query {
 public:
  explicit Query(const Request& request) : request_(request) {}

  std::string text(const std::string& name);  // "" when absent
  std::int64_t number(const std::string& name, std::int64_t otherwise, std::int64_t min, std::int64_t max);
  bool flag(const std::string& name);  // "true" or "false"
  // After all were read: the first thing that was wrong.
  Result<void> end();

 private:
  const std::string* find(const std::string& name);
  void wrong(std::string message);

  const Request& request_;
  std::vector<std::string> known_;
  std::optional<Error> fault_;
};

// As a part of an address: all but letters, digits, '-', '.', '_' and '~' as %XX.
std::string percent_encoded(std::string_view text);

}  // namespace partita::serve
