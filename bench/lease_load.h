// Many clients of a daemon's socket in one thread, so that they cost little: each leases, waits until it has the
// partition, and releases, over and over, on a connection of its own that stays open.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "api/json.h"
#include "lease_world.h"

namespace partita::bench {

using Steady = std::chrono::steady_clock;

inline double milliseconds_since(Steady::time_point begin) {
  return std::chrono::duration<double, std::milli>(Steady::now() - begin).count();
}

// One connection: a request at a time.
class Wire {
 public:
  explicit Wire(const std::filesystem::path& socket) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, socket.c_str(), sizeof address.sun_path - 1);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      ::close(socket_);
      throw std::runtime_error("nobody answers at " + socket.string());
    }
  }
  Wire(Wire&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)), in_(std::move(other.in_)), done_(other.done_) {}
  Wire& operator=(Wire&&) = delete;
  ~Wire() {
    if (socket_ >= 0) ::close(socket_);
  }
  int socket() const { return socket_; }

  void ask(std::string_view method, std::string_view target, std::string_view body) {
    std::string text = std::string(method) + " " + std::string(target) + " HTTP/1.1\r\nHost: localhost\r\n";
    if (!body.empty())
      text += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
    text += "\r\n";
    text += body;
    if (::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size()))
      throw std::runtime_error("the daemon takes no request");
    in_.clear();
    done_ = 0;
  }
  // Takes what there is (waits for some). True: the answer is whole.
  bool read() {
    char bytes[16384];
    const ssize_t got = ::recv(socket_, bytes, sizeof bytes, 0);
    if (got <= 0) throw std::runtime_error("the daemon ended the connection");
    in_.append(bytes, static_cast<std::size_t>(got));
    if (done_ == 0) {
      const auto head = in_.find("\r\n\r\n");
      if (head == std::string::npos) return false;
      const auto length = in_.find("Content-Length: ");
      if (length > head) throw std::runtime_error("an answer without its length");
      done_ = head + 4 + std::stoul(in_.substr(length + 16, 20));
    }
    return in_.size() >= done_;
  }
  // Of a good answer.
  std::string_view body() const {
    const std::string_view all = in_;
    if (!all.starts_with("HTTP/1.1 20")) throw std::runtime_error("refused: " + in_);
    return all.substr(all.find("\r\n\r\n") + 4);
  }

 private:
  int socket_;
  std::string in_;
  std::size_t done_ = 0;
};

struct Tally {
  std::vector<double> milliseconds;  // of each call, a lease's until it is active
  std::size_t pairs = 0, recuts = 0, waited = 0;
};

class LeaseClient {
 public:
  using Wanted = std::function<api::Requirement(std::mt19937&)>;

  LeaseClient(const std::filesystem::path& socket, int number, Wanted wanted)
      : wire_(socket), random_(static_cast<unsigned>(number)), wanted_(std::move(wanted)) {
    request_.name = "client-" + std::to_string(number);
    request_.holder.uid = ::geteuid();
    target_ = "/v1/leases/" + request_.name;
  }
  int socket() const { return wire_.socket(); }

  void begin() {
    request_.requirement = wanted_(random_);
    begun_ = Steady::now();
    waits_ = false;
    step_ = Step::leasing;
    wire_.ask("POST", "/v1/leases", api::to_json(request_));
  }
  // Something has arrived. False: nothing is under way any more, after a pair when `stop`.
  bool go_on(Tally& tally, bool stop) {
    if (!wire_.read()) return true;
    const std::string_view body = wire_.body();
    if (step_ == Step::releasing) {
      tally.milliseconds.push_back(milliseconds_since(begun_));
      ++tally.pairs;
      if (stop) return false;
      begin();
      return true;
    }
    if (body.find(R"("state": "active")") == std::string_view::npos) {
      waits_ = true;
      looks_again_ = Steady::now() + std::chrono::milliseconds(2);
      step_ = Step::pausing;
      return true;
    }
    tally.milliseconds.push_back(milliseconds_since(begun_));
    tally.recuts += body.find(R"("recut": true)") != std::string_view::npos ? 1 : 0;
    tally.waited += waits_ ? 1 : 0;
    begun_ = Steady::now();
    step_ = Step::releasing;
    wire_.ask("DELETE", target_, "");
    return true;
  }
  // One whose lease waits asks again now and then.
  void look_again(Steady::time_point now) {
    if (step_ != Step::pausing || now < looks_again_) return;
    step_ = Step::leasing;
    wire_.ask("GET", target_, "");
  }

 private:
  enum class Step { leasing, pausing, releasing };
  Wire wire_;
  std::mt19937 random_;
  Wanted wanted_;
  api::LeaseRequest request_;
  std::string target_;
  Step step_ = Step::leasing;
  bool waits_ = false;
  Steady::time_point begun_, looks_again_;
};

// Until `enough` says so; then each client ends what it has begun.
inline Tally load(const std::filesystem::path& socket, int clients, const LeaseClient::Wanted& wanted,
                  const std::function<bool(const Tally&)>& enough) {
  Tally tally;
  std::vector<LeaseClient> all;
  std::vector<pollfd> sockets;
  for (int i = 0; i < clients; ++i) {
    all.emplace_back(socket, i, wanted).begin();
    sockets.push_back({all.back().socket(), POLLIN, 0});
  }
  for (int running = clients; running > 0;) {
    const bool stop = enough(tally);
    if (::poll(sockets.data(), sockets.size(), 1) < 0) throw std::runtime_error("poll");
    const auto now = Steady::now();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (sockets[i].fd < 0) continue;
      if (sockets[i].revents == 0) {
        all[i].look_again(now);
      } else if (!all[i].go_on(tally, stop)) {
        sockets[i].fd = -1;
        --running;
      }
    }
  }
  return tally;
}

}  // namespace partita::bench
