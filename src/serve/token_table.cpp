#include "serve/token_table.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <chrono>

namespace partita::serve {
namespace {

constexpr const char* kSchema =
    "CREATE TABLE IF NOT EXISTS tokens (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, role TEXT NOT NULL, "
    "user TEXT NOT NULL, hash TEXT NOT NULL, made_ms INTEGER NOT NULL, expires_ms INTEGER, revoked_ms INTEGER, "
    "last_used_ms INTEGER) STRICT";

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { ::sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

Statement prepare(sqlite3* database, const char* sql) {
  sqlite3_stmt* statement = nullptr;
  ::sqlite3_prepare_v2(database, sql, -1, &statement, nullptr);
  return Statement(statement);
}

std::string text_at(sqlite3_stmt* statement, int column) {
  const auto* text = ::sqlite3_column_text(statement, column);
  return text ? reinterpret_cast<const char*>(text) : "";
}

Time time_of(std::int64_t ms) { return Time(std::chrono::milliseconds(ms)); }

std::optional<Time> time_at(sqlite3_stmt* statement, int column) {
  if (::sqlite3_column_type(statement, column) == SQLITE_NULL) return std::nullopt;
  return time_of(::sqlite3_column_int64(statement, column));
}

void bind(sqlite3_stmt* statement, int at, const std::string& text) {
  ::sqlite3_bind_text(statement, at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
}
void bind(sqlite3_stmt* statement, int at, const std::optional<Time>& time) {
  if (time)
    ::sqlite3_bind_int64(statement, at, time->time_since_epoch().count());
  else
    ::sqlite3_bind_null(statement, at);
}

const char* word(Role role) {
  switch (role) {
    case Role::viewer:
      return "viewer";
    case Role::user:
      return "user";
    case Role::administrator:
      return "administrator";
  }
  return "viewer";
}

Role role_of(const std::string& text) {
  if (text == "administrator") return Role::administrator;
  return text == "user" ? Role::user : Role::viewer;
}

}  // namespace

void TokenTable::Close::operator()(sqlite3* database) const { ::sqlite3_close_v2(database); }

std::unexpected<Error> TokenTable::failed() const {
  return fail(ErrorCode::unavailable, file_.string() + ": " + ::sqlite3_errmsg(database_.get()));
}

Result<TokenTable> TokenTable::open(const std::filesystem::path& file, Access access) {
  constexpr int kPatienceMs = 5000;
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX;
  if (access == Access::make) {
    flags |= SQLITE_OPEN_CREATE;
    constexpr mode_t kOwnersAlone = 0600;
    const int made = ::open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, kOwnersAlone);
    if (made >= 0) ::close(made);
  }
  sqlite3* database = nullptr;
  const int opened = ::sqlite3_open_v2(file.c_str(), &database, flags, nullptr);
  TokenTable table(database, file);
  if (opened != SQLITE_OK) return table.failed();
  ::sqlite3_busy_timeout(database, kPatienceMs);
  if (::sqlite3_exec(database, kSchema, nullptr, nullptr, nullptr) != SQLITE_OK) return table.failed();
  return table;
}

Result<std::vector<TokenTable::Row>> TokenTable::select(std::int64_t id) {
  const auto statement = prepare(database_.get(),
                                 "SELECT id, name, role, user, hash, made_ms, expires_ms, revoked_ms, last_used_ms "
                                 "FROM tokens WHERE ?1 = 0 OR id = ?1 ORDER BY id");
  if (!statement) return failed();
  ::sqlite3_bind_int64(statement.get(), 1, id);
  std::vector<Row> out;
  int step = 0;
  while ((step = ::sqlite3_step(statement.get())) == SQLITE_ROW) {
    auto* row = statement.get();
    out.push_back({{::sqlite3_column_int64(row, 0), text_at(row, 1), role_of(text_at(row, 2)), text_at(row, 3),
                    time_of(::sqlite3_column_int64(row, 5)), time_at(row, 6), time_at(row, 7), time_at(row, 8)},
                   text_at(row, 4)});
  }
  if (step != SQLITE_DONE) return failed();
  return out;
}

Result<std::vector<TokenTable::Row>> TokenTable::rows() { return select(0); }

Result<std::optional<TokenTable::Row>> TokenTable::row(std::int64_t id) {
  auto found = TRY(select(id));
  if (found.empty()) return std::nullopt;
  return std::move(found.front());
}

Result<std::int64_t> TokenTable::insert(const Token& token, const std::string& hash) {
  const auto statement =
      prepare(database_.get(),
              "INSERT INTO tokens (name, role, user, hash, made_ms, expires_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
  if (!statement) return failed();
  bind(statement.get(), 1, token.name);
  bind(statement.get(), 2, std::string(word(token.role)));
  bind(statement.get(), 3, token.user);
  bind(statement.get(), 4, hash);
  bind(statement.get(), 5, std::optional(token.made));
  bind(statement.get(), 6, token.expires);
  if (::sqlite3_step(statement.get()) != SQLITE_DONE) return failed();
  return ::sqlite3_last_insert_rowid(database_.get());
}

Result<void> TokenTable::set(const char* sql, std::int64_t id, Time at) {
  const auto statement = prepare(database_.get(), sql);
  if (!statement) return failed();
  ::sqlite3_bind_int64(statement.get(), 1, id);
  bind(statement.get(), 2, std::optional(at));
  if (::sqlite3_step(statement.get()) != SQLITE_DONE) return failed();
  return {};
}

Result<void> TokenTable::revoke(std::int64_t id, Time at) {
  return set("UPDATE tokens SET revoked_ms = ?2 WHERE id = ?1", id, at);
}
Result<void> TokenTable::used(std::int64_t id, Time at) {
  return set("UPDATE tokens SET last_used_ms = ?2 WHERE id = ?1", id, at);
}

}  // namespace partita::serve
