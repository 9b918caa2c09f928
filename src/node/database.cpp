#include "node/database.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <map>
#include <optional>
#include <system_error>
#include <utility>

namespace partita::node {
namespace {

constexpr int kBusyTimeoutMs = 10'000;

// Files that SQLite maps or makes beside the database fail with an error that says nothing of room.
bool is_full(const std::string& file) {
  struct statvfs disk{};
  return ::statvfs(file.c_str(), &disk) == 0 && disk.f_bavail == 0;
}

std::string advice(int code, const std::string& file) {
  switch (code) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return fmt::format(
          "the database is damaged: move {} away; instances made so far then count as made by someone else "
          "until an apply with --adopt",
          file);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another process has the database locked: try again";
    case SQLITE_FULL:
      return "make room on the disk";
    case SQLITE_IOERR:
      return is_full(file) ? "the disk is full: make room on it" : "";
    default:
      return "";
  }
}

Error error_of(sqlite3* handle, int result, const std::string& file) {
  const int code = result & 0xff;
  const bool refused = code == SQLITE_PERM || code == SQLITE_READONLY || code == SQLITE_AUTH;
  const std::string mend = advice(code, file);
  return Error{refused ? ErrorCode::denied : ErrorCode::unavailable,
               fmt::format("{}: {}{}{}", file, handle != nullptr ? sqlite3_errmsg(handle) : sqlite3_errstr(result),
                           mend.empty() ? "" : "; ", mend),
               {}};
}

// The values stay where they are until the statement is reset.
void bind(sqlite3_stmt* statement, const Row& values) {
  for (int i = 0; i < static_cast<int>(values.size()); ++i) {
    const Value& value = values[static_cast<std::size_t>(i)];
    if (const auto* number = std::get_if<std::int64_t>(&value))
      sqlite3_bind_int64(statement, i + 1, *number);
    else if (const auto* text = std::get_if<std::string>(&value))
      sqlite3_bind_text(statement, i + 1, text->data(), static_cast<int>(text->size()), SQLITE_STATIC);
    else
      sqlite3_bind_null(statement, i + 1);
  }
}

Row row_of(sqlite3_stmt* statement) {
  Row row;
  for (int i = 0; i < sqlite3_column_count(statement); ++i) {
    switch (sqlite3_column_type(statement, i)) {
      case SQLITE_INTEGER:
        row.emplace_back(static_cast<std::int64_t>(sqlite3_column_int64(statement, i)));
        break;
      case SQLITE_NULL:
        row.emplace_back();
        break;
      default:
        row.emplace_back(std::string(reinterpret_cast<const char*>(sqlite3_column_text(statement, i)),
                                     static_cast<std::size_t>(sqlite3_column_bytes(statement, i))));
    }
  }
  return row;
}

}  // namespace

struct Database::Impl {
  sqlite3* handle = nullptr;
  std::string file;
  std::optional<bool> survives;
  std::map<std::string, sqlite3_stmt*, std::less<>> statements;

  ~Impl() {
    for (const auto& [sql, statement] : statements) sqlite3_finalize(statement);
    sqlite3_close(handle);
  }
  Result<sqlite3_stmt*> prepare(std::string_view sql) {
    if (const auto found = statements.find(sql); found != statements.end()) return found->second;
    sqlite3_stmt* statement = nullptr;
    const int result = sqlite3_prepare_v2(handle, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
    if (result != SQLITE_OK) return std::unexpected(error_of(handle, result, file));
    statements.emplace(sql, statement);
    return statement;
  }
  Result<void> script(std::string_view sql) {
    const int result = sqlite3_exec(handle, std::string(sql).c_str(), nullptr, nullptr, nullptr);
    if (result != SQLITE_OK) return std::unexpected(error_of(handle, result, file));
    return {};
  }
  Result<void> connect(Access access) {
    // A reader who may not write the folder cannot make the files that share the log. Where no log is left over, the
    // database is whole by itself and is read as a file that does not change.
    const bool reading = access == Access::read;
    std::error_code none;
    const auto there = std::filesystem::status(file, none);
    if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there))
      return fail(ErrorCode::unavailable,
                  fmt::format("{}: expected a database, found no regular file: move it away", file));
    const bool immutable = reading && !std::filesystem::exists(file + "-wal", none);
    std::string uri = "file:";
    for (const char c : file) uri += c == '%' || c == '?' || c == '#' ? fmt::format("%{:02x}", c) : std::string(1, c);
    if (immutable) uri += "?immutable=1";
    const int flags = SQLITE_OPEN_URI | (reading ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    const int result = sqlite3_open_v2(uri.c_str(), &handle, flags, nullptr);
    if (result != SQLITE_OK) return std::unexpected(error_of(handle, result, file));
    sqlite3_extended_result_codes(handle, 1);
    sqlite3_busy_timeout(handle, kBusyTimeoutMs);
    return {};
  }
};

void keep_private(const std::filesystem::path& database) {
  constexpr mode_t kOwnerAlone = 0600;
  // Only where it is new: closing a file lets go all locks that this process has on it.
  const int made = ::open(database.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerAlone);
  if (made >= 0) return static_cast<void>(::close(made));
  for (const char* part : {"", "-wal", "-shm"}) (void)::chmod((database.string() + part).c_str(), kOwnerAlone);
}

Database::Database(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

Result<Database> Database::open(const std::filesystem::path& file, Access access,
                                std::span<const std::string_view> migrations) {
  Database database(std::make_unique<Impl>());
  database.impl_->file = file.string();
  TRY_VOID(database.impl_->connect(access));
  if (access == Access::write) {
    TRY_VOID(
        database.impl_->script("PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL;"));
  }
  const auto version = TRY(database.query("PRAGMA user_version"));
  database.version_ = static_cast<int>(std::get<std::int64_t>(version.at(0).at(0)));
  if (database.version_ < 0) return std::unexpected(database.damaged());
  if (database.version_ > static_cast<int>(migrations.size()))
    return fail(ErrorCode::unavailable,
                fmt::format("{}: the database has version {}, this program knows versions up to {}: use the newer "
                            "partita that wrote it",
                            file.string(), database.version_, migrations.size()));
  if (access == Access::write) TRY_VOID(database.migrate(migrations));
  return database;
}

Result<void> Database::migrate(std::span<const std::string_view> migrations) {
  while (version_ < static_cast<int>(migrations.size())) {
    const auto done = transaction([&]() -> Result<void> {
      TRY_VOID(impl_->script(migrations[static_cast<std::size_t>(version_)]));
      return impl_->script(fmt::format("PRAGMA user_version = {}", version_ + 1));
    });
    if (!done) return done;
    ++version_;
  }
  return {};
}

Result<std::vector<Row>> Database::query(std::string_view sql, const Row& values) {
  sqlite3_stmt* statement = TRY(impl_->prepare(sql));
  bind(statement, values);
  std::vector<Row> rows;
  int result = SQLITE_ROW;
  while ((result = sqlite3_step(statement)) == SQLITE_ROW) rows.push_back(row_of(statement));
  if (result != SQLITE_DONE) {
    Error error = error_of(impl_->handle, result, impl_->file);
    sqlite3_reset(statement);
    return std::unexpected(std::move(error));
  }
  sqlite3_reset(statement);
  return rows;
}

Result<void> Database::run(std::string_view sql, const Row& values) {
  TRY_VOID(query(sql, values));
  return {};
}

Result<void> Database::transaction(const std::function<Result<void>()>& work) {
  if (in_transaction()) return work();
  TRY_VOID(begin());
  auto done = work();
  if (done) done = commit();
  if (!done) roll_back();
  return done;
}

Result<void> Database::begin() { return run("BEGIN IMMEDIATE"); }
Result<void> Database::commit() { return run("COMMIT"); }
void Database::roll_back() {
  if (in_transaction()) (void)run("ROLLBACK");
}
bool Database::in_transaction() const { return sqlite3_get_autocommit(impl_->handle) == 0; }

Result<void> Database::survive_power_cut(bool on) {
  if (impl_->survives == on) return {};
  TRY_VOID(impl_->script(on ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL"));
  impl_->survives = on;
  return {};
}

Error Database::damaged() const {
  return Error{ErrorCode::unavailable, fmt::format("{}: {}", impl_->file, advice(SQLITE_CORRUPT, impl_->file)), {}};
}

std::int64_t Database::last_insert_id() const { return sqlite3_last_insert_rowid(impl_->handle); }

}  // namespace partita::node
