// Any bytes as the JSON body of a request; the first one chooses of which. What is accepted is written and read again:
// the same request.
#include "api/json.h"
#include "api/json_read.h"
#include "fuzz.h"

using namespace partita;

namespace {

template <class Read, class Write>
void read_and_write(std::string_view json, Read read, Write write) {
  const auto once = read(json);
  if (!fuzz::accepted(once)) return;
  const std::string text = write(*once);
  const auto again = read(text);
  fuzz::require(again.has_value(), "what was written is read");
  fuzz::require(write(*again) == text, "it is the same request");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const api::Caller caller{1000, "alice", false, false, {"ml"}};
  const auto json = fuzz::text_of(data + 1, size - 1);
  switch (data[0] % 6) {
    case 0:
      (void)fuzz::accepted(api::read_plan_request(json, caller, api::Hooks::refused));
      break;
    case 1:
      read_and_write(
          json, [&](std::string_view text) { return api::read_lease_request(text, caller); },
          [](const api::LeaseRequest& request) { return api::to_json(request); });
      break;
    case 2:
      read_and_write(
          json, [&](std::string_view text) { return api::read_lease_change(text, caller, "a"); },
          [](const api::LeaseChange& change) { return api::to_json(change); });
      break;
    case 3:
      read_and_write(
          json, [&](std::string_view text) { return api::read_renewal(text, caller, "a"); },
          [](const api::Renewal& wanted) { return api::to_json(wanted.change, wanted.duration); });
      break;
    case 4:
      read_and_write(
          json, [&](std::string_view text) { return api::read_resizing(text, caller, "a"); },
          [](const api::Resizing& wanted) { return api::to_json(wanted.change, wanted.requirement); });
      break;
    default:
      read_and_write(
          json, [&](std::string_view text) { return api::read_attachment(text, caller, "a"); },
          [](const api::Attachment& wanted) { return api::to_json(wanted.change, wanted.process); });
  }
  return 0;
}
