#include "serve/listen.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace partita::serve {
namespace {

constexpr int kBacklog = 1024;

std::unexpected<Error> failed(const std::string& what) {
  return fail(ErrorCode::unavailable, what + ": " + std::strerror(errno));
}

// Removes what an ended server left.
Result<void> clear_path(const std::filesystem::path& path, const sockaddr_un& address) {
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) return {};
  if (!S_ISSOCK(found.st_mode))
    return fail(ErrorCode::unavailable, path.string() + " is in the way: expected a socket or nothing there");
  const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 || errno == EAGAIN)
    return fail(ErrorCode::unavailable, "another server answers on " + path.string());
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return failed(path.string());
  return {};
}

struct HostPort {
  std::string host, port;
};

Result<HostPort> split_address(const std::string& address) {
  const auto colon = address.rfind(':');
  HostPort out;
  if (colon != std::string::npos) {
    out = {address.substr(0, colon), address.substr(colon + 1)};
    if (out.host.starts_with('[') && out.host.ends_with(']')) out.host = out.host.substr(1, out.host.size() - 2);
  }
  const bool number = !out.port.empty() && out.port.size() <= 5 &&
                      out.port.find_first_not_of("0123456789") == std::string::npos && std::stoi(out.port) <= 65535;
  if (out.host.empty() || !number)
    return fail(ErrorCode::invalid,
                "address " + quote(address) + ": expected HOST:PORT, as 127.0.0.1:8443 or [::]:8443");
  return out;
}

int port_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<sockaddr_in6*>(&address)->sin6_port);
  return ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

std::string tls_reason() {
  constexpr std::size_t kRoom = 256;
  std::array<char, kRoom> text{};
  ::ERR_error_string_n(::ERR_get_error(), text.data(), text.size());
  ::ERR_clear_error();
  return text.data();
}

}  // namespace

Result<Descriptor> listen_unix(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string text = path.string();
  if (text.empty() || text.size() >= sizeof address.sun_path)
    return fail(ErrorCode::invalid, "socket " + quote(text) + ": expected a path of 1-107 bytes");
  std::memcpy(address.sun_path, text.data(), text.size());
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  if (error) return fail(ErrorCode::unavailable, path.parent_path().string() + ": " + error.message());
  TRY_VOID(clear_path(path, address));
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.get() < 0) return failed(text);
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return failed(text);
  constexpr mode_t kEveryone = 0666;
  if (::chmod(text.c_str(), kEveryone) != 0 || ::listen(socket.get(), kBacklog) != 0) return failed(text);
  return socket;
}

std::optional<FileId> file_at(const std::filesystem::path& path) {
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) return std::nullopt;
  return FileId{found.st_dev, found.st_ino};
}

Result<TcpListening> listen_tcp(const std::string& address) {
  const auto [host, port] = TRY(split_address(address));
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int wrong = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found); wrong != 0)
    return fail(ErrorCode::invalid, "address " + quote(address) + ": " + ::gai_strerror(wrong));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> keep(found, ::freeaddrinfo);
  TcpListening out;
  out.socket = Descriptor(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  ::setsockopt(out.socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(out.socket.get(), found->ai_addr, found->ai_addrlen) != 0 || ::listen(out.socket.get(), kBacklog) != 0)
    return failed("cannot listen on " + address);
  out.port = port_of(out.socket.get());
  return out;
}

void FreeTls::operator()(ssl_ctx_st* tls) const { ::SSL_CTX_free(tls); }

Result<Tls> open_tls(const TcpOptions& options) {
  if (options.certificate.empty() || options.key.empty())
    return fail(ErrorCode::invalid,
                "TCP " + quote(options.address) + " needs a certificate and its key: there is no TCP without TLS");
  Tls tls(::SSL_CTX_new(::TLS_server_method()));
  if (!tls) return fail(ErrorCode::unavailable, "TLS: " + tls_reason());
  ::SSL_CTX_set_min_proto_version(tls.get(), TLS1_2_VERSION);
  ::SSL_CTX_set_mode(tls.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (::SSL_CTX_use_certificate_chain_file(tls.get(), options.certificate.c_str()) != 1)
    return fail(ErrorCode::invalid, options.certificate.string() + ": no certificate in PEM: " + tls_reason());
  if (::SSL_CTX_use_PrivateKey_file(tls.get(), options.key.c_str(), SSL_FILETYPE_PEM) != 1)
    return fail(ErrorCode::invalid,
                options.key.string() + ": no private key in PEM of that certificate: " + tls_reason());
  return tls;
}

std::string out_of_time(const Tls& tls) {
  const X509* const certificate = ::SSL_CTX_get0_certificate(tls.get());
  if (!certificate) return "";
  if (::X509_cmp_current_time(::X509_get0_notAfter(certificate)) < 0) return "the certificate has expired";
  if (::X509_cmp_current_time(::X509_get0_notBefore(certificate)) > 0) return "the certificate is not valid yet";
  return "";
}

}  // namespace partita::serve
