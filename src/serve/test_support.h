// For the tests of this folder: a node in memory, a running server, and a client that sends exactly what it is told.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "api/node.h"
#include "base/clock.h"
#include "base/test_folder.h"
#include "serve/server.h"

namespace partita::serve {

template <class T>
T value(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

// Runs `work` in a process of user 65534; whether it said true.
inline bool as_nobody(const std::function<bool()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::setgid(65534) == 0 && ::setuid(65534) == 0 && work() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0;
}

// Enough of a node to see what a server makes of it: leases are names, and never wait.
class NodeInMemory final : public api::Node {
 public:
  Result<api::StatusAnswer> status() override {
    ++status_calls;
    api::StatusAnswer out;
    out.node = "memory";
    layout::Gpu gpu;
    gpu.uuid = "GPU-0";
    gpu.pci_bus_id = "00000000:07:00.0";
    gpu.mode = layout::MigMode{mode.load(), mode.load()};
    out.state.gpus.push_back(gpu);
    return out;
  }
  Result<api::NodePlanAnswer> plan(const api::PlanRequest&) override { return api::NodePlanAnswer{}; }
  Result<api::ApplyAnswer> apply(const api::PlanRequest& request, Progress& progress) override {
    hooks = request.options.hooks.apply_start.size();
    if (before_apply) before_apply();
    if (request.only_if)
      if (auto still = request.only_if(status()->state); !still) return std::unexpected(std::move(still).error());
    progress.step(1, 1, "GPU 0: set MIG mode");
    mode = true;
    return api::ApplyAnswer{};
  }
  Result<api::AssertAnswer> check(const api::PlanRequest&) override { return api::AssertAnswer{}; }
  Result<layout::NodeState> state() override { return layout::NodeState{}; }
  Result<api::DoctorAnswer> doctor() override { return api::DoctorAnswer{}; }

  Result<std::vector<api::Lease>> lease(const api::LeaseRequest& request) override {
    if (request.requirement.profile == "throw") throw std::runtime_error("a fault of the node");
    if (request.requirement.profile != "1g.5gb") return fail(ErrorCode::no_space, "no room", {"GPU 0: full"});
    const std::scoped_lock lock(mutex_);
    once = request.once;
    api::Lease lease;
    lease.id = ++last_id_;
    lease.name = request.name.empty() ? "lease-" + std::to_string(lease.id) : request.name;
    lease.state = api::LeaseState::active;
    lease.holder = request.holder;
    lease.requirement = request.requirement;
    leases_.push_back(lease);
    events_.push_back({static_cast<std::int64_t>(events_.size()) + 1, Time{}, "lease.active", lease.name, "granted"});
    happened_.notify_all();
    return std::vector{lease};
  }
  Result<std::vector<api::Lease>> leases(const api::LeaseQuery& query) override {
    const std::scoped_lock lock(mutex_);
    std::vector<api::Lease> out;
    for (const auto& lease : leases_)
      if (lease.id > query.after && (query.name.empty() || lease.name == query.name) &&
          (query.limit == 0 || out.size() < static_cast<std::size_t>(query.limit)))
        out.push_back(lease);
    return out;
  }
  Result<api::Lease> release(const api::LeaseChange& change) override {
    const std::scoped_lock lock(mutex_);
    for (auto at = leases_.begin(); at != leases_.end(); ++at)
      if (at->name == change.name) {
        api::Lease out = *at;
        out.state = api::LeaseState::ended;
        leases_.erase(at);
        return out;
      }
    return fail(ErrorCode::not_found, "no lease " + change.name);
  }
  Result<api::Lease> renew(const api::LeaseChange&, std::optional<std::chrono::milliseconds>) override {
    return fail(ErrorCode::busy, "not now");
  }
  Result<api::Lease> resize(const api::LeaseChange&, const api::Requirement&) override {
    return fail(ErrorCode::busy, "not now");
  }
  Result<api::Lease> park(const api::LeaseChange&) override { return fail(ErrorCode::busy, "not now"); }
  Result<api::Lease> unpark(const api::LeaseChange&) override { return fail(ErrorCode::busy, "not now"); }
  Result<api::Lease> attach(const api::LeaseChange&, const api::ProcessId&) override {
    return fail(ErrorCode::busy, "not now");
  }
  Result<std::vector<api::Event>> events(const api::EventQuery& query) override {
    std::unique_lock lock(mutex_);
    const auto some = [&] { return static_cast<std::int64_t>(events_.size()) > query.after; };
    happened_.wait_for(lock, query.wait, some);
    std::vector<api::Event> out;
    for (const auto& event : events_)
      if (event.number > query.after) out.push_back(event);
    return out;
  }
  Result<api::PolicyAnswer> policy(const api::Caller&) override { return api::PolicyAnswer{}; }

  std::atomic<int> status_calls = 0;
  std::atomic<bool> mode = false;
  std::atomic<std::size_t> hooks = 0;
  std::optional<api::Once> once;       // of the last lease
  std::function<void()> before_apply;  // what others do meanwhile

 private:
  std::mutex mutex_;
  std::condition_variable happened_;
  std::vector<api::Lease> leases_;
  std::vector<api::Event> events_;
  std::int64_t last_id_ = 0;
};

// One connection to a Unix socket.
class RawClient {
 public:
  explicit RawClient(const std::filesystem::path& path) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("cannot connect");
  }
  ~RawClient() { ::close(socket_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  // Whether all of it was taken.
  bool send(const std::string& text) {
    return ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) == std::ssize(text);
  }
  // What arrives until it contains `end`, the connection ends, or five seconds pass.
  std::string receive(const std::string& end) {
    while (received_.find(end) == std::string::npos && more()) {
    }
    return std::exchange(received_, {});
  }
  // One whole answer.
  std::string answer() {
    std::size_t head = std::string::npos;
    while ((head = received_.find("\r\n\r\n")) == std::string::npos)
      if (!more()) return std::exchange(received_, {});
    const auto length_at = received_.find("Content-Length: ");
    const std::size_t length = length_at < head ? std::stoul(received_.substr(length_at + 16)) : 0;
    const std::size_t whole = head + 4 + length;
    while (received_.size() < whole && more()) {
    }
    std::string out = received_.substr(0, whole);
    received_.erase(0, whole);
    return out;
  }
  bool ended() {
    while (more()) {
    }
    return ended_;
  }

 private:
  bool more() {
    pollfd one{socket_, POLLIN, 0};
    if (::poll(&one, 1, 5000) <= 0) return false;
    char bytes[4096];
    const ssize_t got = ::recv(socket_, bytes, sizeof bytes, 0);
    if (got <= 0) return ended_ = true, false;
    received_.append(bytes, static_cast<std::size_t>(got));
    return true;
  }

  int socket_;
  std::string received_;
  bool ended_ = false;
};

class RunningServer {
 public:
  explicit RunningServer(Options changed = {}) : options(std::move(changed)) {
    options.socket = folder.path() / "s";
    options.tokens = folder.path() / "tokens.db";
    server = value(Server::open(node, clock, options));
    thread = std::jthread([this](std::stop_token stop) { result = server->run(std::move(stop)); });
  }
  RawClient connect() const { return RawClient(options.socket); }
  static std::string text(const std::string& method, const std::string& path, const std::string& body = "",
                          const std::string& headers = "") {
    std::string out = method + " " + path + " HTTP/1.1\r\nHost: node\r\n" + headers;
    if (!body.empty())
      out += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
    return out + "\r\n" + body;
  }
  std::string ask(const std::string& method, const std::string& path, const std::string& body = "",
                  const std::string& headers = "") const {
    RawClient client(options.socket);
    client.send(text(method, path, body, headers));
    return client.answer();
  }
  void stop() {
    thread.request_stop();
    if (thread.joinable()) thread.join();
  }

  TestFolder folder;
  SystemClock clock;
  NodeInMemory node;
  Options options;
  std::unique_ptr<Server> server;
  Result<void> result;
  std::jthread thread;
};

}  // namespace partita::serve
