#include "serve/secret.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <array>
#include <span>

namespace partita::serve {
namespace {

std::string hex_of(std::span<const unsigned char> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

}  // namespace

Result<std::string> new_secret() {
  std::array<unsigned char, 32> bytes;
  if (::RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1)
    return fail(ErrorCode::unavailable, "the system gives no random numbers");
  return hex_of(bytes);
}

std::string hash_of(std::string_view text) {
  std::array<unsigned char, 32> digest{};
  ::EVP_Digest(text.data(), text.size(), digest.data(), nullptr, ::EVP_sha256(), nullptr);
  return hex_of(digest);
}

bool same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace partita::serve
