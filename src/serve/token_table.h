// The database of tokens: rows in and out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "serve/tokens.h"

struct sqlite3;

namespace partita::serve {

class TokenTable {
 public:
  enum class Access { existing, make };
  // A file that is made is its owner's alone (0600).
  static Result<TokenTable> open(const std::filesystem::path& file, Access access);

  struct Row {
    Token token;
    std::string hash;
  };
  Result<std::vector<Row>> rows();
  Result<std::optional<Row>> row(std::int64_t id);
  Result<std::int64_t> insert(const Token& token, const std::string& hash);
  Result<void> revoke(std::int64_t id, Time at);
  Result<void> used(std::int64_t id, Time at);

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  TokenTable(sqlite3* database, std::filesystem::path file) : database_(database), file_(std::move(file)) {}
  Result<std::vector<Row>> select(std::int64_t id);
  Result<void> set(const char* sql, std::int64_t id, Time at);
  std::unexpected<Error> failed() const;

  std::unique_ptr<sqlite3, Close> database_;
  std::filesystem::path file_;
};

// caller_of on an open table, for the server.
Result<api::Caller> caller_of(TokenTable& table, std::string_view secret, Time now);

}  // namespace partita::serve
