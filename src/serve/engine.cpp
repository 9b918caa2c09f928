#include "serve/engine.h"

#include <httplib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

#include "base/text.h"

namespace partita::serve {
namespace {

constexpr std::size_t kLongestPath = 1024;

class Wire final : public httplib::Stream {
 public:
  explicit Wire(Connection& connection) : connection_(connection) {}
  bool is_readable() const override { return true; }
  bool is_writable() const override { return !connection_.peer_gone(); }
  ssize_t read(char* to, std::size_t size) override { return connection_.read(to, size); }
  ssize_t write(const char* from, std::size_t size) override {
    connection_.write({from, size});
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    ip = connection_.peer().address;
    port = 0;
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override {
    ip.clear();
    port = 0;
  }
  socket_t socket() const override { return connection_.socket(); }

 private:
  Connection& connection_;
};

class WireSink final : public Sink {
 public:
  WireSink(httplib::DataSink& sink, Connection& connection, const std::stop_token& stop)
      : sink_(sink), connection_(connection), stop_(stop) {}
  bool write(std::string_view text) override {
    if (text.empty()) return open();
    return open() && sink_.write(text.data(), text.size()) && connection_.push();
  }
  bool open() const override { return !stop_.stop_requested() && !connection_.peer_gone(); }

 private:
  httplib::DataSink& sink_;
  Connection& connection_;
  const std::stop_token& stop_;
};

bool has_body(const std::string& method) {
  return method == "POST" || method == "PUT" || method == "PATCH" || method == "DELETE";
}

Request head_of(const httplib::Request& from) {
  Request out;
  out.method = from.method == "HEAD" ? "GET" : from.method;
  out.path = from.path;
  out.query = from.params;
  for (const auto& [name, value] : from.headers) out.headers.emplace(lower(name), value);
  return out;
}

// The length of the body that the head announces. The library takes wrong lengths for 0, after which the body would be
// read as the next request.
struct Announced {
  enum class Kind { none, length, chunked, wrong };
  Kind kind = Kind::none;
  std::size_t length = 0;
};

Announced announced_body(const httplib::Request& request) {
  using Kind = Announced::Kind;
  const auto lengths = request.headers.count("Content-Length");
  const auto encodings = request.headers.count("Transfer-Encoding");
  if (lengths + encodings == 0) return {};
  if (lengths + encodings > 1) return {Kind::wrong};
  if (encodings == 1)
    return {lower(request.get_header_value("Transfer-Encoding")) == "chunked" ? Kind::chunked : Kind::wrong};
  const std::string text = request.get_header_value("Content-Length");
  Announced out{Kind::length};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out.length);
  const bool number = !text.empty() && text.front() != '-' && end == text.data() + text.size();
  if (error == std::errc::result_out_of_range && number) return {Kind::length, ~std::size_t{0}};
  if (error != std::errc{} || !number) return {Kind::wrong};
  return out;
}

// A request line whose method the library does not know: it would call it no HTTP at all.
std::optional<Request> odd_request(std::string_view arrived) {
  constexpr std::array<std::string_view, 10> kKnown = {"GET",     "HEAD",    "POST",  "PUT",   "DELETE",
                                                       "CONNECT", "OPTIONS", "TRACE", "PATCH", "PRI"};
  const auto words = split(arrived.substr(0, arrived.find('\r')), ' ');
  constexpr std::size_t kWords = 3;
  if (words.size() != kWords || !words[2].starts_with("HTTP/1.") || words[0].empty()) return std::nullopt;
  if (words[0].find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ-") != std::string::npos) return std::nullopt;
  if (std::ranges::find(kKnown, words[0]) != kKnown.end()) return std::nullopt;
  Request out;
  out.method = words[0];
  out.path = words[1].substr(0, words[1].find('?'));
  return out;
}

// A line that the library does not read: it calls the whole no HTTP.
bool has_long_header(std::string_view arrived) {
  const auto head = arrived.substr(0, arrived.find("\r\n\r\n"));
  if (head.size() < CPPHTTPLIB_HEADER_MAX_LENGTH) return false;
  return std::ranges::any_of(split(head, '\n'),
                             [](const std::string& line) { return line.size() >= CPPHTTPLIB_HEADER_MAX_LENGTH; });
}

Error too_large(std::size_t most) {
  return {ErrorCode::invalid, "the body is longer than " + std::to_string(most) + " bytes, the most that is taken", {}};
}

// What went wrong before any route was asked.
Error library_error(int status) {
  const char* message = "the request is no HTTP/1.1 request";
  if (status == 414) message = "the address is longer than 8192 bytes";
  if (status == 416) message = "ranges are not served";
  return {status >= 500 ? ErrorCode::internal : ErrorCode::invalid, message, {}};
}

}  // namespace

class Engine::Impl final : private httplib::Server {
 public:
  Impl(Application& application, std::stop_token stop) : application_(application), stop_(std::move(stop)) {
    svr_sock_ = 0;  // streams are written only while there is some socket; ours are not the library's
    constexpr std::size_t kManyRequests = 1'000'000;
    constexpr time_t kIdleSeconds = 75;
    set_keep_alive_max_count(kManyRequests);
    set_keep_alive_timeout(kIdleSeconds);
    set_payload_max_length(application.most_body_bytes());
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      return before_body(request, response) ? HandlerResponse::Handled : HandlerResponse::Unhandled;
    });
    const auto whole = [this](const httplib::Request& request, httplib::Response& response) {
      head_.body = request.body;
      put(application_.answer(head_, connection_->peer()), response);
    };
    for (const HandlerOf add : {Post, Put, Patch, Delete}) (this->*add)(".*", whole);
    set_error_handler([this](const httplib::Request&, httplib::Response& response) { on_error(response); });
    set_exception_handler([this](const httplib::Request&, httplib::Response& response, const std::exception_ptr&) {
      put(problem({ErrorCode::internal, "the server met an error of its own", {}}), response);
    });
  }

  bool process(Connection& connection) {
    Wire wire(connection);
    connection_ = &connection;
    announced_ = {};
    end_after_ = false;
    answered_ = false;
    odd_ = odd_request(connection.arrived());
    long_header_ = has_long_header(connection.arrived());
    bool closed = false;
    connection.allow(Connection::kMostHeadBytes);
    const bool done = process_request(wire, stop_.stop_requested(), closed,
                                      [this](httplib::Request& request) { after_head(request); });
    if (!done && !answered_ && !end_after_ && connection.limit_reached()) refuse_line(connection);
    return done && !closed && !end_after_ && answered_ && !stop_.stop_requested();
  }

 private:
  using HandlerOf = httplib::Server& (httplib::Server::*)(const std::string&, Handler);
  static constexpr HandlerOf Post = &httplib::Server::Post;
  static constexpr HandlerOf Put = &httplib::Server::Put;
  static constexpr HandlerOf Patch = &httplib::Server::Patch;
  static constexpr HandlerOf Delete = &httplib::Server::Delete;

  // A request line without an end: the library reads no further and answers nothing.
  static void refuse_line(Connection& connection) {
    constexpr int kTooLong = 414;
    const auto answer = problem(library_error(kTooLong), kTooLong);
    connection.write("HTTP/1.1 414 " + std::string(reason_phrase(kTooLong)) +
                     "\r\nConnection: close\r\nContent-Type: " + answer.type +
                     "\r\nContent-Length: " + std::to_string(answer.body.size()) + "\r\n\r\n" + answer.body);
  }

  void after_head(httplib::Request& request) {
    announced_ = announced_body(request);
    request.ranges.clear();
    if (has_body(request.method) && announced_.kind == Announced::Kind::none) request.set_header("Content-Length", "0");
    constexpr std::size_t kChunkLines = 64u << 10;
    connection_->allow(application_.most_body_bytes() + kChunkLines);
  }

  // Everything that needs no body is answered here.
  bool before_body(const httplib::Request& request, httplib::Response& response) {
    answered_ = true;
    using Kind = Announced::Kind;
    const bool body = announced_.kind == Kind::chunked || (announced_.kind == Kind::length && announced_.length > 0);
    const auto refuse = [&](const Response& answer) {
      end_after_ = end_after_ || body;  // it is not read
      put(answer, response);
      return true;
    };
    if (announced_.kind == Kind::wrong) {
      end_after_ = true;
      return refuse(
          problem({ErrorCode::invalid, "Content-Length and Transfer-Encoding do not say how long the body is", {}}));
    }
    if (request.path.size() > kLongestPath)
      return refuse(problem({ErrorCode::invalid, "the path is longer than 1024 bytes", {}}, 414));
    head_ = head_of(request);
    if (auto refusal = application_.refuse(head_, connection_->peer())) return refuse(*refusal);
    const auto most = application_.most_body_bytes();
    if (announced_.kind == Kind::length && announced_.length > most) return refuse(problem(too_large(most), 413));
    if (has_body(request.method)) return false;
    return refuse(application_.answer(head_, connection_->peer()));
  }

  void put(const Response& answer, httplib::Response& response) {
    response.status = answer.status;
    for (const auto& [name, value] : answer.headers) response.set_header(name, value);
    if (end_after_) response.set_header("Connection", "close");
    if (!answer.stream) {
      response.set_content(answer.body, answer.type);
      return;
    }
    response.set_chunked_content_provider(answer.type,
                                          [this, stream = answer.stream](std::size_t, httplib::DataSink& sink) {
                                            WireSink wire(sink, *connection_, stop_);
                                            connection_->push();
                                            stream(wire);
                                            sink.done();
                                            return true;
                                          });
  }

  void on_error(httplib::Response& response) {
    if (!response.body.empty() || response.content_provider_) return;
    end_after_ = true;
    if (odd_) {
      if (const auto refusal = application_.refuse(*odd_, connection_->peer())) return put(*refusal, response);
    }
    if (connection_->limit_reached() || response.status == 413) {
      put(answered_ ? problem(too_large(application_.most_body_bytes()), 413)
                    : problem({ErrorCode::invalid, "the head of the request is longer than 16 KiB", {}}, 431),
          response);
      return;
    }
    if (long_header_ && response.status == 400)
      return put(problem({ErrorCode::invalid, "a header is longer than 8192 bytes", {}}, 431), response);
    put(problem(library_error(response.status), response.status), response);
  }

  Application& application_;
  std::stop_token stop_;
  Connection* connection_ = nullptr;
  Request head_;
  std::optional<Request> odd_;
  Announced announced_;
  bool end_after_ = false, answered_ = false, long_header_ = false;
};

Engine::Engine(Application& application, std::stop_token stop)
    : impl_(std::make_unique<Impl>(application, std::move(stop))) {}
Engine::~Engine() = default;

bool Engine::answer(Connection& connection) { return impl_->process(connection); }

}  // namespace partita::serve
