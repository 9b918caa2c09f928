// SQLite, as node/ needs it: values in, rows out, transactions, numbered migrations, errors as Error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"

namespace partita::node {

using Value = std::variant<std::monostate, std::int64_t, std::string>;  // NULL, INTEGER, TEXT
using Row = std::vector<Value>;

// Makes the file where there is none, and lets only its owner open it and what lies beside it: who can open a database
// can lock it, and so stop all who write.
void keep_private(const std::filesystem::path& database);

class Database {
 public:
  enum class Access { read, write };
  // For writing: makes the file and runs the migrations that it lacks (migrations[n] leads to version n+1). A newer
  // version is `unavailable`, a damaged file too. For reading: changes nothing; the file must exist.
  static Result<Database> open(const std::filesystem::path& file, Access access,
                               std::span<const std::string_view> migrations);

  Result<void> run(std::string_view sql, const Row& values = {});
  Result<std::vector<Row>> query(std::string_view sql, const Row& values = {});
  // Runs `work` in one transaction: all of it is stored, or nothing when it fails.
  Result<void> transaction(const std::function<Result<void>()>& work);
  // The same in pieces. Within one, transaction() is part of it.
  Result<void> begin();
  Result<void> commit();
  void roll_back();
  bool in_transaction() const;
  // Whether a commit survives a power cut or only the end of its process (so at first), which costs no disk sync.
  Result<void> survive_power_cut(bool on);
  std::int64_t last_insert_id() const;
  // For values that no version of this program writes.
  Error damaged() const;
  int version() const { return version_; }

  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();

 private:
  struct Impl;
  explicit Database(std::unique_ptr<Impl> impl);
  Result<void> migrate(std::span<const std::string_view> migrations);

  std::unique_ptr<Impl> impl_;
  int version_ = 0;
};

}  // namespace partita::node
