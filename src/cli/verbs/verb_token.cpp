// token: of remote callers, kept beside the ledger.
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/duration.h"
#include "base/text.h"
#include "cli/draw/done.h"
#include "cli/draw/table.h"
#include "cli/session.h"
#include "cli/verbs/lease_options.h"
#include "cli/verbs/run.h"
#include "serve/tokens.h"

namespace partita::cli {
namespace {

using Json = nlohmann::ordered_json;

Result<std::filesystem::path> token_file(const Parsed& parsed) {
  auto catalog = TRY(open_catalog(parsed));
  const auto place = TRY(node_place(parsed, catalog));
  if (!place.emulated && geteuid() != 0)
    return fail(ErrorCode::denied, "tokens are root's to make, list and revoke: use sudo");
  return place.options.state_dir / "tokens.db";
}

std::string_view word(serve::Role role) {
  switch (role) {
    case serve::Role::viewer:
      return "viewer";
    case serve::Role::user:
      return "user";
    case serve::Role::administrator:
      return "administrator";
  }
  return "viewer";
}

Result<serve::Role> role_of(const Parsed& parsed) {
  const auto text = parsed.text("role").value_or("user");
  for (const auto role : {serve::Role::viewer, serve::Role::user, serve::Role::administrator})
    if (word(role) == text) return role;
  return fail(ErrorCode::invalid, "option --role: expected viewer, user or administrator, found " + quote(text));
}

Json time_json(const std::optional<Time>& time) { return time ? Json(to_string(*time)) : Json(nullptr); }

Json token_json(const serve::Token& token) {
  return {{"id", token.id},
          {"name", token.name},
          {"role", word(token.role)},
          {"user", token.user},
          {"made_at", to_string(token.made)},
          {"expires_at", time_json(token.expires)},
          {"revoked_at", time_json(token.revoked)},
          {"last_used_at", time_json(token.last_used)}};
}

std::string text_of(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace); }

std::string state_words(const serve::Token& token, Time now) {
  if (token.revoked) return "revoked " + to_string(*token.revoked);
  if (!token.expires) return "until revoked";
  return (*token.expires > now ? "until " : "expired ") + to_string(*token.expires);
}

Result<void> print_secret(Format format, const serve::NewToken& made) {
  if (format == Format::table) return print(made.secret + '\n');
  auto json = token_json(made.token);
  json["secret"] = made.secret;
  return print_json(format, text_of(json));
}

}  // namespace

Result<int> run_token(const Parsed& /*parsed*/) {
  return fail(ErrorCode::invalid, "token needs a verb of its own: partita token create, list or revoke");
}

Result<int> run_token_create(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  const auto file = TRY(token_file(parsed));
  const auto now = SystemClock().now();
  serve::Token wanted;
  wanted.name = parsed.text("NAME").value_or("");
  wanted.role = TRY(role_of(parsed));
  wanted.user = parsed.text("user").value_or(this_user(false).name);
  if (const auto time = TRY(duration_option(parsed, "for"))) wanted.expires = now + *time;
  const auto made = TRY(serve::create_token(file, wanted, now));
  const WithoutPipeSignal guard;
  if (auto printed = print_secret(format, made); !printed) {
    const auto revoked = serve::revoke_token(file, made.token.name, now);
    printed.error().details.push_back(revoked ? "the token is revoked: nobody has read it"
                                              : "the token could not be revoked: " + revoked.error().message);
    return std::unexpected(std::move(printed).error());
  }
  if (format == Format::table)
    tell(parsed, "this is shown once; use it as PARTITA_TOKEN, or in the header Authorization: Bearer TOKEN");
  return 0;
}

Result<int> run_token_list(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  const auto file = TRY(token_file(parsed));
  const auto tokens = TRY(serve::list_tokens(file));
  if (format != Format::table) {
    Json json{{"tokens", Json::array()}};
    for (const auto& token : tokens) json["tokens"].push_back(token_json(token));
    TRY_VOID(print_json(format, text_of(json)));
    return 0;
  }
  if (tokens.empty()) {
    TRY_VOID(print("no tokens\n"));
    return 0;
  }
  Table table({{"ID", true}, {"NAME"}, {"ROLE"}, {"USER"}, {"GOOD"}, {"LAST USED"}});
  const auto now = SystemClock().now();
  for (const auto& token : tokens)
    table.add({{std::to_string(token.id)},
               {printable(token.name), Tone::strong},
               {std::string(word(token.role))},
               {printable(token.user)},
               {state_words(token, now)},
               {token.last_used ? to_string(*token.last_used) : "never"}});
  TRY_VOID(print(table.draw(output_look(parsed))));
  return 0;
}

Result<int> run_token_revoke(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  const auto name = parsed.text("NAME").value_or("");
  const auto file = TRY(token_file(parsed));
  TRY_VOID(serve::revoke_token(file, name, SystemClock().now()));
  TRY_VOID(print_done(format, "token " + name + " is revoked"));
  return 0;
}

}  // namespace partita::cli
