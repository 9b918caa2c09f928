#include "node/lease_ledger.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>
#include <variant>

#include "base/text.h"

namespace partita::node {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kForgottenAtOnce = 50;

constexpr std::string_view kColumns =
    "id, bundle, name, state, told, holder_kind, holder_uid, holder_user, holder_id, holder_pid, holder_start_time, "
    "holder_groups, profile, memory_bytes, sms, whole_gpu, bare, compute, gpu, start, board, exclusive_gpu, "
    "same_gpu_as, priority, quota_slices, quota_bytes, asked_ms, duration_ms, granted_ms, expires_ms, ended_ms, "
    "warned, ended_number, cause, cause_details, recut, host_millicpus, "
    "host_memory_bytes, place_gpu, place_whole, place_profile, place_start, "
    "place_compute";

template <class T>
Value number(T n) {
  return static_cast<std::int64_t>(n);
}
template <class T>
Value number(const std::optional<T>& n) {
  return n ? number(*n) : Value{};
}
Value time(const std::optional<Time>& at) { return at ? number(at->time_since_epoch().count()) : Value{}; }
Value text(const std::optional<std::string>& t) { return t ? Value{*t} : Value{}; }
Value word(std::string_view w) { return std::string(w); }
Value lines(const std::vector<std::string>& all) { return join(all, "\n"); }

std::vector<std::string> lines_of(const std::string& all) {
  return all.empty() ? std::vector<std::string>{} : split(all, '\n');
}

std::string compute_text(const std::vector<ComputeRecord>& compute) {
  std::string all;
  for (const ComputeRecord& c : compute) all += fmt::format("{}{} {}", all.empty() ? "" : "\n", c.profile, c.start);
  return all;
}
std::vector<ComputeRecord> compute_of(const std::string& all) {
  std::vector<ComputeRecord> compute;
  for (const std::string& line : lines_of(all)) {
    ComputeRecord record;
    const char* end = line.data() + line.size();
    const auto first = std::from_chars(line.data(), end, record.profile);
    const bool spaced = first.ec == std::errc{} && first.ptr != end && *first.ptr == ' ';
    if (!spaced || std::from_chars(first.ptr + 1, end, record.start).ec != std::errc{}) throw std::bad_variant_access();
    compute.push_back(record);
  }
  return compute;
}

// The columns of a row, one after the other.
class Columns {
 public:
  explicit Columns(const Row& row) : row_(row) {}
  std::int64_t number() { return std::get<std::int64_t>(next()); }
  int small() { return static_cast<int>(number()); }
  bool flag() { return number() != 0; }
  const std::string& text() { return std::get<std::string>(next()); }
  std::optional<std::int64_t> maybe_number() { return skips() ? std::nullopt : std::optional(number()); }
  std::optional<int> maybe_small() { return skips() ? std::nullopt : std::optional(small()); }
  std::optional<std::string> maybe_text() { return skips() ? std::nullopt : std::optional(text()); }
  Time time() { return Time(milliseconds(number())); }
  std::optional<Time> maybe_time() { return skips() ? std::nullopt : std::optional(time()); }
  template <class T>
  T known(std::optional<T> value) {
    if (!value) throw std::bad_variant_access();
    return *value;
  }

 private:
  const Value& next() { return row_.at(at_++); }
  bool skips() {
    if (row_.at(at_).index() != 0) return false;
    ++at_;
    return true;
  }
  const Row& row_;
  std::size_t at_ = 0;
};

api::Holder holder_of(Columns& in) {
  api::Holder holder;
  holder.kind = in.known(api::holder_kind(in.text()));
  holder.uid = static_cast<uid_t>(in.number());
  holder.user = in.text();
  holder.id = in.text();
  const auto pid = in.maybe_number();
  const auto start = in.maybe_number();
  if (pid) holder.process = {static_cast<pid_t>(*pid), static_cast<std::uint64_t>(start.value_or(0))};
  return holder;
}

api::Requirement requirement_of(Columns& in) {
  api::Requirement wanted;
  wanted.profile = in.text();
  if (const auto bytes = in.maybe_number()) wanted.memory = Bytes{static_cast<std::uint64_t>(*bytes)};
  wanted.sms = in.maybe_small();
  wanted.whole_gpu = in.flag();
  wanted.bare = in.flag();
  wanted.compute = lines_of(in.text());
  wanted.gpu = in.maybe_text();
  wanted.start = in.maybe_small();
  wanted.board = in.maybe_text();
  wanted.exclusive_gpu = in.flag();
  wanted.same_gpu_as = in.maybe_text();
  return wanted;
}

LeaseRecord record_of(const Row& row) {
  Columns in(row);
  LeaseRecord record;
  api::Lease& lease = record.lease;
  lease.id = in.number();
  record.bundle = in.number();
  lease.name = in.text();
  lease.state = in.known(api::lease_state(in.text()));
  record.told = in.flag();
  lease.holder = holder_of(in);
  record.groups = lines_of(in.text());
  lease.requirement = requirement_of(in);
  lease.priority = in.known(api::priority(in.text()));
  record.quota_slices = in.small();
  record.quota_memory = Bytes{static_cast<std::uint64_t>(in.number())};
  lease.asked = in.time();
  if (const auto duration = in.maybe_number()) record.duration = milliseconds(*duration);
  lease.granted = in.maybe_time();
  lease.expires = in.maybe_time();
  lease.ended = in.maybe_time();
  record.warned = in.flag();
  in.maybe_number();
  lease.cause = in.text();
  lease.cause_details = lines_of(in.text());
  lease.recut = in.flag();
  if (const auto millicpus = in.maybe_number()) lease.host_limits.cpus = static_cast<double>(*millicpus) / 1000;
  if (const auto bytes = in.maybe_number()) lease.host_limits.memory = Bytes{static_cast<std::uint64_t>(*bytes)};
  if (auto gpu = in.maybe_text()) {
    LeasePlace& place = record.place.emplace();
    place.gpu = *std::move(gpu);
    place.whole_gpu = in.flag();
    place.instance.profile = in.small();
    place.instance.start = in.small();
    place.instance.compute = compute_of(in.text());
  }
  record.stored = true;
  return record;
}

Row row_of(const LeaseRecord& record, std::optional<std::int64_t> ended_number) {
  const api::Lease& lease = record.lease;
  const api::Holder& holder = lease.holder;
  const api::Requirement& wanted = lease.requirement;
  Row row = {number(lease.id),
             number(record.bundle),
             lease.name,
             word(api::to_string(lease.state)),
             number(record.told),
             word(api::to_string(holder.kind)),
             number(holder.uid),
             holder.user,
             holder.id,
             holder.process ? number(holder.process->pid) : Value{},
             holder.process ? number(holder.process->start_time) : Value{},
             lines(record.groups),
             wanted.profile,
             wanted.memory ? number(wanted.memory->value) : Value{},
             number(wanted.sms),
             number(wanted.whole_gpu),
             number(wanted.bare),
             lines(wanted.compute),
             text(wanted.gpu),
             number(wanted.start),
             text(wanted.board),
             number(wanted.exclusive_gpu),
             text(wanted.same_gpu_as),
             word(api::to_string(lease.priority)),
             number(record.quota_slices),
             number(record.quota_memory.value),
             number(lease.asked.time_since_epoch().count()),
             record.duration ? number(record.duration->count()) : Value{},
             time(lease.granted),
             time(lease.expires),
             time(lease.ended),
             number(record.warned),
             number(ended_number),
             lease.cause,
             lines(lease.cause_details),
             number(lease.recut),
             lease.host_limits.cpus ? number(std::llround(*lease.host_limits.cpus * 1000)) : Value{},
             lease.host_limits.memory ? number(lease.host_limits.memory->value) : Value{}};
  if (record.place) {
    const LeasePlace& place = *record.place;
    for (Value value : {Value{place.gpu}, number(place.whole_gpu), number(place.instance.profile),
                        number(place.instance.start), Value{compute_text(place.instance.compute)}})
      row.push_back(std::move(value));
  } else {
    row.resize(row.size() + 5);
  }
  return row;
}

std::string insert_sql() {
  std::string marks = "?";
  for (const char c : kColumns)
    if (c == ',') marks += ", ?";
  std::string updates;  // only what changes is written then, in the indices, too
  for (const std::string& column : split(std::string(kColumns), ','))
    if (const std::string_view name = trim(column); name != "id")
      updates += fmt::format("{}{} = excluded.{}", updates.empty() ? "" : ", ", name, name);
  return fmt::format("INSERT INTO lease ({}) VALUES ({}) ON CONFLICT (id) DO UPDATE SET {}", kColumns, marks, updates);
}

template <class Read>
std::invoke_result_t<Read> read_rows(const Database& database, Read read) {
  try {
    return read();
  } catch (const std::bad_variant_access&) {
    return std::unexpected(database.damaged());
  }
}

}  // namespace

Result<LeaseNumbers> LeaseLedger::numbers() {
  LeaseNumbers numbers;
  const auto one = [&](std::string_view sql, std::int64_t& into) -> Result<void> {
    const auto rows = TRY(database_.query(sql));
    if (!rows.empty())
      if (const auto* found = std::get_if<std::int64_t>(&rows.at(0).at(0))) into = *found;
    return {};
  };
  TRY_VOID(one("SELECT seq FROM sqlite_sequence WHERE name = 'lease'", numbers.last_lease));
  TRY_VOID(one("SELECT seq FROM sqlite_sequence WHERE name = 'event'", numbers.last_event));
  TRY_VOID(one("SELECT max(ended_number) FROM lease WHERE ended_number IS NOT NULL", numbers.last_ended));
  TRY_VOID(one("SELECT max(number) FROM service", numbers.last_service));
  return numbers;
}

Result<std::vector<LeaseRecord>> LeaseLedger::read(std::string_view where, const Row& values) {
  std::vector<LeaseRecord> records;
  if (database_.version() < 2) return records;
  const auto rows = TRY(database_.query(fmt::format("SELECT {} FROM lease WHERE {}", kColumns, where), values));
  return read_rows(database_, [&]() -> Result<std::vector<LeaseRecord>> {
    for (const Row& row : rows) records.push_back(record_of(row));
    for (LeaseRecord& record : records)
      for (const Row& row :
           TRY(database_.query("SELECT key, value FROM lease_label WHERE lease = ?", {number(record.lease.id)})))
        record.lease.labels.emplace(std::get<std::string>(row.at(0)), std::get<std::string>(row.at(1)));
    return std::move(records);
  });
}

Result<std::vector<LeaseRecord>> LeaseLedger::live() { return read("ended_number IS NULL ORDER BY id", {}); }
Result<std::vector<LeaseRecord>> LeaseLedger::ended(std::int64_t limit) {
  auto records = TRY(read("ended_number IS NOT NULL ORDER BY ended_number DESC LIMIT ?", {number(limit)}));
  return std::vector<LeaseRecord>(std::move_iterator(records.rbegin()), std::move_iterator(records.rend()));
}

Result<std::map<std::string, std::int64_t, std::less<>>> LeaseLedger::services() {
  std::map<std::string, std::int64_t, std::less<>> result;
  if (database_.version() < 2) return result;
  const auto rows = TRY(database_.query("SELECT user, number FROM service"));
  return read_rows(database_, [&]() -> Result<std::map<std::string, std::int64_t, std::less<>>> {
    for (const Row& row : rows) result[std::get<std::string>(row.at(0))] = std::get<std::int64_t>(row.at(1));
    return std::move(result);
  });
}

Result<std::vector<api::Event>> LeaseLedger::events(std::int64_t after, std::int64_t limit) {
  std::vector<api::Event> events;
  if (database_.version() < 2) return events;
  const auto rows =
      TRY(database_.query("SELECT number, at_ms, kind, lease, text FROM event WHERE number > ? ORDER BY number LIMIT ?",
                          {number(after), number(limit)}));
  return read_rows(database_, [&]() -> Result<std::vector<api::Event>> {
    for (const Row& row : rows) {
      Columns in(row);
      api::Event event;
      event.number = in.number();
      event.at = in.time();
      event.kind = in.text();
      event.lease = in.text();
      event.text = in.text();
      events.push_back(std::move(event));
    }
    return std::move(events);
  });
}

Result<void> LeaseLedger::store_as(const LeaseRecord& record, std::optional<std::int64_t> ended_number) {
  static const std::string kInsert = insert_sql();
  TRY_VOID(database_.run(kInsert, row_of(record, ended_number)));
  for (const auto& [key, value] : record.lease.labels)
    TRY_VOID(
        database_.run("INSERT OR REPLACE INTO lease_label VALUES (?, ?, ?)", {number(record.lease.id), key, value}));
  return {};
}

Result<void> LeaseLedger::store(const LeaseRecord& record) { return store_as(record, std::nullopt); }

Result<void> LeaseLedger::store_ended(const LeaseRecord& record, std::int64_t ended_number) {
  TRY_VOID(store_as(record, ended_number));
  if (ended_number % kForgottenAtOnce != 0) return {};
  return database_.run("DELETE FROM lease WHERE ended_number <= ?", {number(ended_number - kEndedKept)});
}

Result<void> LeaseLedger::drop(std::int64_t id) {
  TRY_VOID(database_.run("DELETE FROM asked WHERE first_lease = ?", {number(id)}));
  return database_.run("DELETE FROM lease WHERE id = ?", {number(id)});
}

Result<std::optional<LeaseRecord>> LeaseLedger::find(std::int64_t id) {
  auto records = TRY(read("id = ?", {number(id)}));
  if (records.empty()) return std::nullopt;
  return std::move(records.front());
}

Result<std::optional<Asked>> LeaseLedger::asked(const std::string& key) {
  const auto rows = TRY(database_.query("SELECT text, first_lease, count FROM asked WHERE key = ?", {key}));
  if (rows.empty()) return std::nullopt;
  return read_rows(database_, [&]() -> Result<std::optional<Asked>> {
    Columns in(rows.at(0));
    Asked found;
    found.once = {key, in.text()};
    found.first_lease = in.number();
    found.count = in.small();
    return found;
  });
}

Result<void> LeaseLedger::store_asked(const Asked& asked, Time now) {
  const auto at = [](Time time) { return number(time.time_since_epoch().count()); };
  TRY_VOID(database_.run("DELETE FROM asked WHERE at_ms < ?", {at(now - kAskedKept)}));
  return database_.run("INSERT OR REPLACE INTO asked VALUES (?, ?, ?, ?, ?)",
                       {asked.once.key, asked.once.text, number(asked.first_lease), number(asked.count), at(now)});
}

Result<void> LeaseLedger::store_service(const std::string& user, std::int64_t n) {
  return database_.run("INSERT OR REPLACE INTO service VALUES (?, ?)", {user, number(n)});
}

Result<void> LeaseLedger::store_events(const std::vector<api::Event>& events) {
  if (events.empty()) return {};
  for (const api::Event& event : events)
    TRY_VOID(database_.run(
        "INSERT INTO event VALUES (?, ?, ?, ?, ?)",
        {number(event.number), number(event.at.time_since_epoch().count()), event.kind, event.lease, event.text}));
  return database_.run("DELETE FROM event WHERE number <= ?", {number(events.back().number - kEventsKept)});
}

Result<std::optional<LeaseLedger::Conduct>> LeaseLedger::conduct() {
  if (database_.version() < 2) return std::nullopt;
  const auto rows = TRY(database_.query("SELECT clean, boot_id, driver_load FROM conduct"));
  if (rows.empty()) return std::nullopt;
  return read_rows(database_, [&]() -> Result<std::optional<Conduct>> {
    Columns in(rows.at(0));
    Conduct conduct;
    conduct.clean = in.flag();
    conduct.epoch.boot_id = in.text();
    conduct.epoch.driver_load = in.text();
    return conduct;
  });
}

Result<void> LeaseLedger::store_conduct(const Conduct& conduct) {
  return database_.run("INSERT OR REPLACE INTO conduct VALUES (1, ?, ?, ?)",
                       {number(conduct.clean), conduct.epoch.boot_id, conduct.epoch.driver_load});
}

}  // namespace partita::node
