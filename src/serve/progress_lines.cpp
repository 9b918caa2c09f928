#include "serve/progress_lines.h"

#include <memory>
#include <nlohmann/json.hpp>

namespace partita::serve {
namespace {

using Json = nlohmann::ordered_json;

std::string line_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n'; }

// A client that goes away does not stop the work.
class LineProgress final : public Progress {
 public:
  explicit LineProgress(Sink& sink) : sink_(sink) {}
  void step(int done, int total, std::string_view what) override {
    Json line;
    line["step"] = done;
    line["steps"] = total;
    line["what"] = what;
    sink_.write(line_of(line));
  }
  void note(std::string_view text) override {
    Json line;
    line["note"] = text;
    sink_.write(line_of(line));
  }

 private:
  Sink& sink_;
};

}  // namespace

Response apply_in_lines(api::Node& node, StatusCache& status, api::PlanRequest request, api::Boards boards) {
  Response out;
  out.type = "application/x-ndjson";
  out.stream = [&node, &status, boards, request = std::make_shared<api::PlanRequest>(std::move(request))](Sink& sink) {
    LineProgress progress(sink);
    const auto answer = node.apply(*request, progress);
    status.changed();
    Json last;
    if (answer)
      last["result"] = Json::parse(api::to_json(*answer, boards), nullptr, false);
    else
      last = Json::parse(api::to_json(answer.error()), nullptr, false);
    sink.write(line_of(last));
  };
  return out;
}

}  // namespace partita::serve
