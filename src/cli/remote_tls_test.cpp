// What a user of a remote node is told when the certificate or the token is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "client/client.h"
#include "serve/test_support.h"
#include "serve/tokens.h"

namespace partita::cli {
namespace {

using serve::value;
using testing::AllOf;
using testing::HasSubstr;

struct Pair {
  std::filesystem::path certificate, key;
};

void openssl(const std::string& arguments) {
  if (std::system(("openssl " + arguments + " >/dev/null 2>&1").c_str()) != 0)
    throw std::runtime_error("openssl " + arguments);
}

class RemoteTls : public testing::Test {
 protected:
  Pair make(const std::string& name, const std::string& host) {
    const Pair pair{folder_.path() / (name + ".pem"), folder_.path() / (name + ".key")};
    openssl("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=" + name +
            " -addext subjectAltName=" + host + " -keyout " + pair.key.string() + " -out " + pair.certificate.string());
    return pair;
  }
  // Signed by itself, good in January 2020.
  Pair make_expired() {
    folder_.write("index", "");
    folder_.write("serial", "01");
    folder_.write("ca.cnf", "[ca]\ndefault_ca=d\n[d]\ndatabase=" + (folder_.path() / "index").string() + "\nserial=" +
                                (folder_.path() / "serial").string() + "\nnew_certs_dir=" + folder_.path().string() +
                                "\ndefault_md=sha256\npolicy=p\nx509_extensions=e\n[p]\ncommonName=supplied\n"
                                "[e]\nsubjectAltName=IP:127.0.0.1\nbasicConstraints=CA:TRUE\n");
    const Pair pair{folder_.path() / "old.pem", folder_.path() / "old.key"};
    const auto request = (folder_.path() / "old.csr").string();
    openssl("req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=old -keyout " +
            pair.key.string() + " -out " + request);
    openssl("ca -batch -selfsign -config " + (folder_.path() / "ca.cnf").string() + " -keyfile " + pair.key.string() +
            " -in " + request + " -out " + pair.certificate.string() +
            " -startdate 20200101000000Z -enddate 20200201000000Z");
    return pair;
  }
  static serve::Options with(const Pair& pair) {
    serve::Options options;
    options.tcp = serve::TcpOptions{"127.0.0.1:0", pair.certificate, pair.key};
    return options;
  }
  static std::string token(serve::RunningServer& running, serve::Role role) {
    serve::Token wanted;
    wanted.name = "t" + std::to_string(static_cast<int>(role));
    wanted.role = role;
    wanted.user = "root";
    return value(create_token(running.options.tokens, wanted, running.clock.now())).secret;
  }
  // What reading leases there says.
  static Error asked(serve::RunningServer& running, const std::string& secret, const std::filesystem::path& authority) {
    const auto node = client::connect(
        client::Remote{"https://127.0.0.1:" + std::to_string(running.server->tcp_port()), secret, authority});
    if (!node) return node.error();
    const auto leases = (*node)->leases({});
    return leases ? Error{ErrorCode::internal, "no error", {}} : leases.error();
  }

  TestFolder folder_;
};

TEST_F(RemoteTls, TellsWhatIsWrongWithACertificate) {
  const Pair good = make("good", "IP:127.0.0.1"), other = make("other", "DNS:elsewhere");
  serve::RunningServer running(with(good));
  const auto secret = token(running, serve::Role::user);
  EXPECT_EQ(asked(running, secret, good.certificate).message, "no error");
  EXPECT_THAT(asked(running, secret, other.certificate).message,
              AllOf(HasSubstr("certificate is refused: self"), HasSubstr("PARTITA_CA names the file")));
  EXPECT_THAT(asked(running, secret, folder_.path() / "none.pem").message, HasSubstr("none.pem cannot be read"));
  EXPECT_THAT(asked(running, secret, "-").message, HasSubstr("- cannot be read")) << "not standard input";
  EXPECT_THAT(asked(running, secret, good.key.parent_path() / "good.key").code, ErrorCode::unavailable);
  EXPECT_THAT(asked(running, secret, folder_.write("text", "no PEM")).message, HasSubstr("expected certificates"));

  serve::RunningServer elsewhere(with(other));
  EXPECT_THAT(asked(elsewhere, token(elsewhere, serve::Role::user), other.certificate).message,
              HasSubstr("certificate is for another name"));
}

TEST_F(RemoteTls, AnExpiredCertificateIsCalledSoOnBothSides) {
  const Pair old = make_expired();
  std::string noted;
  auto options = with(old);
  options.note = [&](std::string_view line) { noted = line; };
  serve::RunningServer running(options);
  EXPECT_THAT(noted, HasSubstr("old.pem: the certificate has expired"));
  EXPECT_THAT(asked(running, token(running, serve::Role::user), old.certificate).message,
              HasSubstr("certificate has expired"));
}

TEST_F(RemoteTls, AWrongTokenIsDenied) {
  const Pair good = make("good", "IP:127.0.0.1");
  serve::RunningServer running(with(good));
  for (const std::string& wrong : {std::string("partita_1_00"), token(running, serve::Role::viewer) + "0"}) {
    const Error error = asked(running, wrong, good.certificate);
    EXPECT_EQ(error.code, ErrorCode::denied);
    EXPECT_THAT(error.message, HasSubstr("the token is not valid"));
  }
}

}  // namespace
}  // namespace partita::cli
