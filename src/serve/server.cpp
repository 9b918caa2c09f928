#include "serve/server.h"

#include <malloc.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "serve/hub.h"
#include "serve/listen.h"
#include "serve/session.h"

namespace partita::serve {
namespace {

// A third of the threads may be held by streams, so that requests always find one.
constexpr int kStreamsPart = 2, kStreamsPerCallerPart = 6;

class HubServer final : public Server {
 public:
  HubServer(api::Node& node, const Clock& clock, const Options& options)
      : socket_(options.socket),
        note_(options.note),
        threads_(std::max(options.threads, kStreamsPerCallerPart)),
        connections_(options.connections),
        streams_(threads_ / kStreamsPart, threads_ / kStreamsPerCallerPart),
        status_(node),
        metrics_(node, clock, status_, streams_),
        shared_{{node, clock, status_, metrics_, streams_, options.everyone_administers},
                Login(clock, options.everyone_administers),
                TokenBook(options.tokens, clock),
                RateLimit(clock, options.requests_per_second),
                RateLimit(clock, kStrangersPerSecond),
                Idempotency(clock),
                options.most_body_bytes} {}
  ~HubServer() override {
    if (bound_ && file_at(socket_) == bound_) ::unlink(socket_.c_str());
  }

  Result<void> bind(const std::optional<TcpOptions>& tcp) {
    if (tcp) {
      tls_ = TRY(open_tls(*tcp));
      const auto wrong = out_of_time(tls_);
      if (!wrong.empty() && note_) note_(tcp->certificate.string() + ": " + wrong + ": clients will refuse it");
    }
    listening_.push_back({TRY(listen_unix(socket_)), nullptr, [this] { return bind_again(); }});
    bound_ = file_at(socket_);
    if (!tcp) return {};
    auto listening = TRY(listen_tcp(tcp->address));
    port_ = listening.port;
    listening_.push_back({std::move(listening.socket), tls_.get()});
    return {};
  }

  Result<void> run(std::stop_token stop) override {
    Hub hub(std::move(listening_), threads_, connections_, [this, stop] {
      struct Worker {
        Worker(Shared& shared, std::stop_token token) : session(shared), engine(session, std::move(token)) {}
        Session session;
        Engine engine;
      };
      auto worker = std::make_shared<Worker>(shared_, stop);
      return Hub::Answer([worker](Connection& connection) { return worker->engine.answer(connection); });
    });
    return hub.run(stop);
  }

  int tcp_port() const override { return port_; }

 private:
  static constexpr double kStrangersPerSecond = 20;

  // Where nothing is any more: something else in its place is left alone.
  std::optional<Descriptor> bind_again() {
    if (file_at(socket_)) return std::nullopt;
    auto socket = listen_unix(socket_);
    if (!socket) return std::nullopt;
    bound_ = file_at(socket_);
    if (note_) note_("the socket " + socket_.string() + " was removed: it is made again");
    return *std::move(socket);
  }

  std::filesystem::path socket_;
  std::function<void(std::string_view)> note_;
  int threads_, connections_;
  Streams streams_;
  StatusCache status_;
  Metrics metrics_;
  Shared shared_;
  Tls tls_;
  std::vector<Listening> listening_;
  std::optional<FileId> bound_;
  int port_ = 0;
};

// What one request took the next one takes: giving it back to the kernel in between costs more than keeping it.
void keep_memory() {
  constexpr int kKeptPerArena = 2 << 20, kArenas = 4;
  ::mallopt(M_TRIM_THRESHOLD, kKeptPerArena);
  ::mallopt(M_MMAP_THRESHOLD, kKeptPerArena);
  ::mallopt(M_ARENA_MAX, kArenas);
}

}  // namespace

Result<std::unique_ptr<Server>> Server::open(api::Node& node, const Clock& clock, const Options& options) {
  keep_memory();
  auto server = std::make_unique<HubServer>(node, clock, options);
  TRY_VOID(server->bind(options.tcp));
  return server;
}

}  // namespace partita::serve
