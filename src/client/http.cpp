#include "client/http.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <httplib.h>

#include <openssl/x509_vfy.h>

#include <charconv>

#include "base/file.h"
#include "base/pipe_signal.h"
#include "base/text.h"

namespace partita::client {
namespace {

constexpr std::chrono::seconds kConnectPatience{5};

// Cuts what arrives into lines.
class Lines {
 public:
  explicit Lines(const std::function<void(std::string_view)>& tell) : tell_(tell) {}
  void add(std::string_view piece) {
    rest_ += piece;
    std::size_t start = 0;
    for (auto end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', start)) {
      tell_(std::string_view(rest_).substr(start, end - start));
      start = end + 1;
    }
    rest_.erase(0, start);
  }

 private:
  const std::function<void(std::string_view)>& tell_;
  std::string rest_;
};

// "</v1/leases?after=7>; rel="next"".
std::string next_page(const std::string& link) {
  if (!link.starts_with('<') || link.find("rel=\"next\"") == std::string::npos) return "";
  return link.substr(1, link.find('>') - 1);
}

// Why no daemon could be reached through this socket.
std::string unreached(const std::filesystem::path& socket) {
  std::error_code error;
  const auto status = std::filesystem::status(socket, error);
  if (error == std::errc::permission_denied) return "a folder on the way to it is closed to this user";
  if (status.type() == std::filesystem::file_type::not_found)
    return "there is no such socket: partita serve makes it when it starts";
  if (status.type() != std::filesystem::file_type::socket) return "that is no socket";
  if (::access(socket.c_str(), W_OK) != 0) return "the socket is closed to this user";
  return "nobody answers: the daemon has ended, partita serve starts it again";
}

class HttplibHttp final : public Http {
 public:
  // One of them: `tls`, the same client, where it makes TLS connections; `socket`, where it has a daemon's.
  HttplibHttp(std::unique_ptr<httplib::ClientImpl> client, std::string where, const httplib::SSLClient* tls,
              std::filesystem::path socket)
      : client_(std::move(client)), where_(std::move(where)), tls_(tls), socket_(std::move(socket)) {
    client_->set_connection_timeout(kConnectPatience.count());
    client_->set_keep_alive(true);
    client_->set_url_encode(false);
    client_->set_tcp_nodelay(true);
  }

  Result<Reply> ask(const Ask& ask) override {
    const WithoutPipeSignal guard;  // the server may go away while it is written to
    client_->set_read_timeout(ask.patience.count());
    httplib::Request request;
    request.method = ask.method;
    request.path = ask.target;
    for (const auto& [name, value] : ask.headers) request.set_header(name, value);
    if (!ask.body.empty()) request.set_header("Content-Type", "application/json");
    request.body = ask.body;
    Reply reply;
    Lines lines(ask.on_line);
    bool in_lines = false;
    if (ask.on_line) {
      request.response_handler = [&](const httplib::Response& response) {
        in_lines = response.get_header_value("Content-Type").starts_with("application/x-ndjson");
        return true;
      };
      request.content_receiver = [&](const char* data, std::size_t size, std::uint64_t, std::uint64_t) {
        if (in_lines)
          lines.add({data, size});
        else
          reply.body.append(data, size);
        return true;
      };
    }
    const auto result = client_->send(request);
    if (!result) return fail(ErrorCode::unavailable, where_ + ": " + reason(result.error()));
    reply.status = result->status;
    if (!ask.on_line) reply.body = result->body;
    reply.next_page = next_page(result->get_header_value("Link"));
    return reply;
  }

 private:
  // What is wrong with the server's certificate, in OpenSSL's words where it has any.
  std::string refused_certificate() const {
    const long result = tls_ ? tls_->get_openssl_verify_result() : X509_V_OK;
    if (result == X509_V_OK) return "the server's certificate is for another name";
    return "the server's certificate is refused: " + std::string(::X509_verify_cert_error_string(result)) +
           (result == X509_V_ERR_CERT_HAS_EXPIRED ? "" : "; PARTITA_CA names the file of the authority that signed it");
  }

  std::string reason(httplib::Error error) const {
    switch (error) {
      case httplib::Error::Connection:
      case httplib::Error::ConnectionTimeout:
        return socket_.empty() ? "nobody answers" : unreached(socket_);
      case httplib::Error::Read:
        return "the connection broke, or no answer came in time";
      case httplib::Error::Write:
        return "the connection broke";
      case httplib::Error::SSLConnection:
      case httplib::Error::SSLLoadingCerts:
        return "no TLS connection could be made; is the authority's certificate given (PARTITA_CA)?";
      case httplib::Error::SSLServerVerification:
        return refused_certificate();
      default:
        return "HTTP failed: " + httplib::to_string(error);
    }
  }

  std::unique_ptr<httplib::ClientImpl> client_;
  std::string where_;
  const httplib::SSLClient* tls_;
  std::filesystem::path socket_;
};

// Else it would be told only when a connection fails, and not why.
Result<void> check_authority(const std::filesystem::path& file) {
  const auto text = read_file(std::filesystem::absolute(file));  // "-" is a file here
  if (!text) return fail(ErrorCode::invalid, "PARTITA_CA: " + file.string() + " cannot be read");
  if (text->find("-----BEGIN") == std::string::npos)
    return fail(ErrorCode::invalid, "PARTITA_CA: " + file.string() + ": expected certificates in PEM, found none");
  return {};
}

struct Address {
  std::string host;
  int port = 0;
};

// "https://node7:8443", "https://[::1]:8443/".
Result<Address> address_of(const std::string& url) {
  constexpr std::string_view kScheme = "https://";
  constexpr int kDefaultPort = 443, kMostPort = 65535;
  const auto wrong = [&](const std::string& why) {
    return fail(
        ErrorCode::invalid,
        "the server's address: expected https://HOST:PORT or the path of a socket, /..., found " + quote(url) + why);
  };
  if (!url.starts_with(kScheme)) return wrong(url.starts_with("http://") ? ": tokens are sent through TLS only" : "");
  auto rest = std::string_view(url).substr(kScheme.size());
  if (rest.ends_with('/')) rest.remove_suffix(1);
  Address out{"", kDefaultPort};
  const auto host_end = rest.starts_with('[') ? rest.find(']') : std::string_view::npos;
  const auto colon = rest.find(':', host_end == std::string_view::npos ? 0 : host_end);
  out.host = rest.substr(0, colon);
  if (out.host.starts_with('[') && out.host.ends_with(']')) out.host = out.host.substr(1, out.host.size() - 2);
  if (colon != std::string_view::npos) {
    const auto digits = rest.substr(colon + 1);
    const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), out.port);
    if (status != std::errc{} || end != digits.data() + digits.size() || out.port < 1 || out.port > kMostPort)
      return wrong("");
  }
  if (out.host.empty() || out.host.find_first_of("/@?# []") != std::string::npos) return wrong("");
  return out;
}

}  // namespace

std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '.' || c == '_' || c == '~';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

Result<std::unique_ptr<Http>> http_to(const std::filesystem::path& socket) {
  constexpr std::size_t kLongest = sizeof(sockaddr_un{}.sun_path) - 1;
  if (socket.native().size() > kLongest)
    return fail(ErrorCode::invalid,
                fmt::format("the socket's path {} is longer than {} bytes", quote(socket.native()), kLongest));
  auto client = std::make_unique<httplib::ClientImpl>(socket.native(), 80);
  client->set_address_family(AF_UNIX);
  client->set_default_headers({{"Host", "localhost"}});
  return std::make_unique<HttplibHttp>(std::move(client), "the daemon at " + socket.native(), nullptr, socket);
}

Result<std::unique_ptr<Http>> http_to(const Remote& remote) {
  const auto address = TRY(address_of(remote.url));
  if (remote.token.find_first_of("\r\n \t") != std::string::npos)
    return fail(ErrorCode::invalid, "the token (PARTITA_TOKEN) has blanks or line ends in it");
  if (remote.authority) TRY_VOID(check_authority(*remote.authority));
  auto client = std::make_unique<httplib::SSLClient>(address.host, address.port);
  const auto* tls = client.get();
  if (remote.authority) client->set_ca_cert_path(remote.authority->native());
  client->enable_server_certificate_verification(true);
  if (!remote.token.empty()) client->set_bearer_token_auth(remote.token);
  return std::make_unique<HttplibHttp>(std::move(client), "the server " + remote.url, tls, std::filesystem::path());
}

}  // namespace partita::client
