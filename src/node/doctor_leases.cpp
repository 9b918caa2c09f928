#include "node/doctor_leases.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/text.h"
#include "deliver/confine.h"
#include "node/book.h"
#include "node/handover.h"
#include "node/ledger.h"
#include "node/paths.h"
#include "node/view.h"

namespace partita::node {
namespace {

using Level = api::Finding::Level;
using State = api::LeaseState;

api::Finding confinement(const Options& options) {
  if (options.confinement_prefix.empty() || ::geteuid() != 0)
    return {Level::ok, "confinement",
            options.emulated ? "none: without root an emulated node's device nodes are files" : "not seen by this user",
            ""};
  auto opened = deliver::Confinement::open(options.confinement_prefix);
  if (!opened) return {Level::problem, "confinement", opened.error().message, join(opened.error().details, "; ")};
  return {Level::ok, "confinement", fmt::format("programs are kept to their devices by {}", opened->kind()), ""};
}

std::string limit_text(const api::QuotaRow& row) {
  const auto amount = [&](std::int64_t n) {
    return row.what == "memory" ? to_string(Bytes{static_cast<std::uint64_t>(n)}) : std::to_string(n);
  };
  return fmt::format("{}: {} of {} {} ({})", row.who, amount(row.used), amount(row.limit.value_or(0)), row.what,
                     row.source);
}

void add_policy(const Options& options, const Book& book, std::vector<api::Finding>& findings) {
  const auto policy = load_policy(options);
  if (!policy)
    return findings.push_back({Level::problem, "policy", policy.error().message,
                               "correct the file; until then a running daemon keeps the old policy"});
  if (policy->file.empty()) return findings.push_back({Level::ok, "policy", "none: nobody is limited", ""});
  const api::Caller everyone{::geteuid(), "", true, false, {}};
  std::vector<std::string> limits, full;
  for (const api::QuotaRow& row : lease::explain(*policy, everyone, book.usages())) {
    if (!row.limit) continue;
    limits.push_back(limit_text(row));
    if (row.used >= *row.limit) full.push_back(limits.back());
  }
  const std::string found = limits.empty() ? fmt::format("{} sets no quotas", policy->file) : join(limits, "; ");
  findings.push_back({Level::ok, "policy", found, ""});
  if (const auto unknown = unknown_names(*policy); !unknown.empty())
    findings.push_back(
        {Level::warning, "names in the policy", join(unknown, "; "),
         "their limits hold for nobody until there is such a name: correct it, or add the user or group"});
  if (!full.empty())
    findings.push_back({Level::warning, "quotas", "used up: " + join(full, "; "),
                        "release leases, or raise the limit in " + policy->file});
}

// Capability nodes by minor: who owns them and who may open them.
struct NodeOwner {
  uid_t uid = 0;
  mode_t mode = 0;
};
std::map<std::string, NodeOwner> capability_nodes(const Options& options) {
  std::map<std::string, NodeOwner> owners;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(options.driver.device_root / "dev/nvidia-caps", error)) {
    struct stat info{};
    if (::stat(entry.path().c_str(), &info) == 0)
      owners["/dev/nvidia-caps/" + entry.path().filename().string()] = {info.st_uid, info.st_mode & 07777U};
  }
  return owners;
}

void add_modes(const Options& options, const Book& book, std::vector<api::Finding>& findings) {
  if (options.emulated && ::geteuid() != 0) return;
  std::vector<std::string> wrong;
  std::size_t leased = 0;
  const auto owners = capability_nodes(options);
  for (const auto& [id, record] : book.live()) {
    if (!record.lease.grant || record.lease.state != State::active) continue;
    for (const api::DeviceNode& node : record.lease.grant->nodes) {
      if (!node.capability) continue;
      ++leased;
      const auto owner = owners.find(node.path);
      if (owner == owners.end())
        wrong.push_back(fmt::format("{} of lease {} is missing", node.path, record.lease.name));
      else if (owner->second.uid != record.lease.holder.uid || (owner->second.mode & 077U) != 0)
        wrong.push_back(fmt::format("{} of lease {} has owner {} and mode {:04o}", node.path, record.lease.name,
                                    owner->second.uid, owner->second.mode));
    }
  }
  if (!wrong.empty())
    findings.push_back({Level::problem, "permissions of leases", join(wrong, "; "),
                        "start the daemon again, or run any verb that changes leases: they are set anew"});
  else if (leased > 0)
    findings.push_back(
        {Level::ok, "permissions of leases", fmt::format("{} are their holders' alone", count_of(leased, "node")), ""});
}

void add_leases(const Book& book, std::vector<api::Finding>& findings) {
  std::map<State, std::size_t> counts;
  for (const auto& [id, record] : book.live()) {
    const api::Lease& lease = record.lease;
    ++counts[lease.state];
    const std::string what = "lease " + lease.name;
    if (lease.state == State::releasing)
      findings.push_back({Level::warning, what,
                          fmt::format("is being released, but {}", lease.cause_details.empty()
                                                                       ? "its partition is not free yet"
                                                                       : join(lease.cause_details, ", ") + " runs on"),
                          "end what runs, or look into the kernel log when it does not end"});
    if (lease.state == State::waiting) findings.push_back({Level::ok, what, fmt::format("waits: {}", lease.cause), ""});
    if (lease.state == State::active && !lease.grant)
      findings.push_back({Level::problem, what, "its partition is not there",
                          "start the daemon again, or run any verb that changes leases: it is settled then"});
  }
  std::vector<std::string> words;
  for (const auto& [state, count] : counts) words.push_back(fmt::format("{} {}", count, api::to_string(state)));
  findings.push_back({Level::ok, "leases", words.empty() ? "none" : join(words, ", "), ""});
}

}  // namespace

std::vector<api::Finding> lease_findings(const Options& options, driver::Driver* driver,
                                         const layout::NodeState* state) {
  std::vector<api::Finding> findings;
  std::error_code error;
  Book book;
  if (std::filesystem::exists(ledger_file(options), error)) {
    auto ledger = Ledger::open(ledger_file(options), Database::Access::read);
    auto loaded = ledger ? Book::load(*ledger) : std::unexpected(ledger.error());
    if (!loaded) return findings;  // the ledger itself is told to be in trouble
    book = *std::move(loaded);
  }
  if (driver != nullptr && state != nullptr) {
    Handover handover(*driver, options);
    for (auto& [id, record] : book.live()) {
      if (!record.place) continue;
      const auto there = std::ranges::find(state->gpus, record.place->gpu, &layout::Gpu::uuid);
      if (there == state->gpus.end()) continue;
      if (auto grant = handover.grant_of(*there, *record.place)) record.lease.grant = *std::move(grant);
    }
  }
  findings.push_back(confinement(options));
  add_policy(options, book, findings);
  add_modes(options, book, findings);
  add_leases(book, findings);
  return findings;
}

}  // namespace partita::node
