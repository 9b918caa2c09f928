#include "serve/tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "serve/login.h"
#include "serve/secret.h"
#include "serve/token_table.h"

namespace partita::serve {
namespace {

Result<void> check_new(const Token& wanted, Time now) {
  constexpr std::size_t kLongest = 63;
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  if (wanted.name.empty() || wanted.name.size() > kLongest || !std::ranges::all_of(wanted.name, fits))
    return fail(ErrorCode::invalid,
                "token name " + quote(wanted.name) + ": expected 1-63 characters of a-z, A-Z, 0-9, '.', '_', '-'");
  if (wanted.expires && *wanted.expires <= now)
    return fail(ErrorCode::invalid, "token " + quote(wanted.name) + " would have ended already");
  return {};
}

std::unexpected<Error> refused() {
  return fail(ErrorCode::denied, "the token is not valid: unknown, revoked or expired");
}

}  // namespace

Result<NewToken> create_token(const std::filesystem::path& file, const Token& wanted, Time now) {
  TRY_VOID(check_new(wanted, now));
  TRY_VOID(user_named(wanted.user));
  auto table = TRY(TokenTable::open(file, TokenTable::Access::make));
  for (const auto& row : TRY(table.rows()))
    if (row.token.name == wanted.name && !row.token.revoked && (!row.token.expires || *row.token.expires > now))
      return fail(ErrorCode::invalid,
                  "a token " + quote(wanted.name) + " lives already: revoke it, or take another name");
  NewToken out{wanted, TRY(new_secret())};
  out.token.made = now;
  out.token.revoked = out.token.last_used = std::nullopt;
  out.token.id = TRY(table.insert(out.token, hash_of(out.secret)));
  out.secret = fmt::format("partita_{}_{}", out.token.id, out.secret);
  return out;
}

Result<std::vector<Token>> list_tokens(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return std::vector<Token>{};
  auto table = TRY(TokenTable::open(file, TokenTable::Access::existing));
  std::vector<Token> out;
  for (auto& row : TRY(table.rows())) out.push_back(std::move(row.token));
  return out;
}

Result<void> revoke_token(const std::filesystem::path& file, std::string_view name_or_id, Time now) {
  std::vector<std::string> names;
  std::optional<std::int64_t> id;
  for (const auto& token : TRY(list_tokens(file))) {
    if (!token.revoked) names.push_back(token.name);
    if (!token.revoked && (token.name == name_or_id || std::to_string(token.id) == name_or_id)) id = token.id;
  }
  if (!id) return fail(ErrorCode::not_found, "no live token " + quote(name_or_id) + did_you_mean(name_or_id, names));
  auto table = TRY(TokenTable::open(file, TokenTable::Access::existing));
  return table.revoke(*id, now);
}

Result<api::Caller> caller_of(TokenTable& table, std::string_view secret, Time now) {
  constexpr std::string_view kPrefix = "partita_";
  constexpr std::chrono::minutes kUseInterval{1};
  if (!secret.starts_with(kPrefix)) return refused();
  secret.remove_prefix(kPrefix.size());
  const auto line = secret.find('_');
  std::int64_t id = 0;
  const auto* last = secret.data() + (line == std::string_view::npos ? 0 : line);
  if (const auto [end, error] = std::from_chars(secret.data(), last, id);
      error != std::errc{} || end != last || id <= 0)
    return refused();
  const auto row = TRY(table.row(id));
  // The same work whether or not there is such a token.
  const std::string hash = row ? row->hash : hash_of("");
  const bool same = same_secret(hash, hash_of(secret.substr(line + 1)));
  if (!row || !same || row->token.revoked || (row->token.expires && *row->token.expires <= now)) return refused();
  auto caller = user_named(row->token.user);
  if (!caller) return refused();
  caller->administrator = row->token.role == Role::administrator;
  caller->viewer = row->token.role == Role::viewer;
  if (!row->token.last_used || now - *row->token.last_used >= kUseInterval) TRY_VOID(table.used(id, now));
  return *std::move(caller);
}

Result<api::Caller> caller_of(const std::filesystem::path& file, std::string_view secret, Time now) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return refused();
  auto table = TRY(TokenTable::open(file, TokenTable::Access::existing));
  return caller_of(table, secret, now);
}

}  // namespace partita::serve
