// What every verb needs: where and how to print, the catalog, the node, the files that are given.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/node.h"
#include "base/clock.h"
#include "base/pipe_signal.h"
#include "catalog/catalog.h"
#include "cli/command_line/parse.h"
#include "cli/draw/terminal.h"
#include "emulator/control/control.h"

namespace partita::cli {

enum class Format { table, json, yaml };

// The -o given, or `otherwise`. `invalid` names the formats.
Result<Format> format_of(const Parsed& parsed, Format otherwise = Format::table);

Look output_look(const Parsed& parsed);

// Writes to standard output and flushes; `unavailable` when it cannot be written.
Result<void> print(std::string_view text);
// JSON text as -o json or -o yaml prints it.
Result<void> print_json(Format format, const std::string& json);

// A line for people on standard error: "partita: ...".
void tell(const Parsed& parsed, std::string_view line);
// Prints an error to standard error (drawn, or as JSON or YAML by -o) and returns its exit status.
int print_error(const Parsed* parsed, const Error& error);

Result<catalog::Catalog> open_catalog(const Parsed& parsed);

// An open node with what it refers to.
struct Session {
  catalog::Catalog catalog;
  SystemClock clock;
  api::Caller caller;
  std::unique_ptr<api::Node> node;
  bool served = false;                             // by a daemon; else this process is the node
  std::optional<emulator::EmulatedNode> emulated;  // where it is one that this machine has
};

// The node of this machine, or the one of --emulate, started if it is absent: through its daemon where one holds it.
// With --server, that daemon's. `unavailable` without a driver shows the --emulate form.
Result<std::unique_ptr<Session>> open_session(const Parsed& parsed);

// "partita --emulate lab": what a person types before a verb to reach this node again.
std::string command_words(const Parsed& parsed, const Session& session);

// What -f, -c, -k, --demand and the flags of plan, apply, assert and restore ask for.
Result<api::ChangeOptions> change_options(const Parsed& parsed);
Result<api::Wanted> wanted_layout(const Parsed& parsed, bool demand_allowed);
// "3g.20gb=2,1g.5gb=4".
Result<api::DemandRequest> parse_demand(std::string_view text);

}  // namespace partita::cli
