// What happens on the node: as a list, as a list that is waited for, and as server-sent events.
#include <charconv>
#include <chrono>
#include <limits>

#include "api/json.h"
#include "base/text.h"
#include "serve/query.h"
#include "serve/route.h"

namespace partita::serve {
namespace {

constexpr std::int64_t kMostNumber = std::numeric_limits<std::int64_t>::max();
constexpr int kMostEvents = 1000;

std::string frame(const api::Event& event) {
  return "id: " + std::to_string(event.number) + "\nevent: " + event.kind + "\ndata: " + api::to_json(event) + "\n\n";
}

// A text of several lines as one event's data.
std::string data_lines(const std::string& text) {
  std::string out;
  for (const auto& line : split(text, '\n'))
    if (!line.empty()) out += "data: " + line + '\n';
  return out;
}

Result<std::int64_t> event_number(const std::string& text) {
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error == std::errc{} && end == text.data() + text.size() && out >= 0) return out;
  return fail(ErrorCode::invalid, "Last-Event-ID: expected the number of an event, found " + quote(text));
}

// Asks for events as they come, and says something every fifteen seconds, so that both sides see a lost connection.
void stream_events(api::Node& node, api::EventQuery query, Sink& sink) {
  constexpr std::chrono::milliseconds kSlice{500};
  constexpr int kSlicesPerHeartbeat = 30;
  query.wait = kSlice;
  if (!sink.write(": partita events\n\n")) return;
  for (int quiet = 0; sink.open();) {
    const auto events = node.events(query);
    if (!events) {
      sink.write("event: error\n" + data_lines(api::to_json(events.error())) + "\n");
      return;
    }
    for (const auto& event : *events) {
      if (!sink.write(frame(event))) return;
      query.after = event.number;
    }
    quiet = events->empty() ? quiet + 1 : 0;
    if (quiet < kSlicesPerHeartbeat) continue;
    quiet = 0;
    if (!sink.write(": still here\n\n")) return;
  }
}

}  // namespace

Result<Response> get_events(const Call& call) {
  constexpr std::int64_t kLongestWaitMs = 60'000;
  Query query(call.request);
  api::EventQuery wanted;
  wanted.caller = call.caller;
  wanted.after = query.number("after", 0, 0, kMostNumber);
  wanted.limit = static_cast<int>(query.number("limit", kMostEvents, 1, kMostEvents));
  wanted.wait = std::chrono::milliseconds(query.number("wait_ms", 0, 0, kLongestWaitMs));
  TRY_VOID(query.end());
  const auto last = call.request.header("last-event-id");
  const auto last_number = last && !last->empty() ? TRY(event_number(*last)) : wanted.after;
  Response out;
  if (!call.request.accepts("text/event-stream")) {
    std::shared_ptr<void> held;
    if (wanted.wait.count() > 0) held = TRY(call.service.streams.enter(call.who));
    out.body = api::to_json(TRY(call.service.node.events(wanted)));
    return out;
  }
  wanted.after = last_number;
  auto held = TRY(call.service.streams.enter(call.who));
  out.type = "text/event-stream";
  out.headers.emplace_back("Cache-Control", "no-store");
  out.stream = [&node = call.service.node, wanted, held](Sink& sink) { stream_events(node, wanted, sink); };
  return out;
}

}  // namespace partita::serve
