#include "cli/draw/draw_lease.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/duration.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/draw/table.h"

namespace partita::cli {
namespace {

using State = api::LeaseState;

// "2h30m": two units at most, because nobody counts the seconds of a day.
std::string brief(std::chrono::milliseconds time) {
  using std::chrono::duration_cast;
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(std::max(time, std::chrono::milliseconds{}));
  constexpr std::chrono::hours kLong{48};
  if (seconds >= kLong) return to_string(std::chrono::milliseconds(duration_cast<std::chrono::hours>(seconds)));
  if (seconds >= std::chrono::hours(1))
    return to_string(std::chrono::milliseconds(duration_cast<std::chrono::minutes>(seconds)));
  return to_string(std::chrono::milliseconds(seconds));
}

std::string place_in_line(int position) {
  if (position % 100 < 11 || position % 100 > 13) {
    if (position % 10 == 1) return fmt::format("{}st in line", position);
    if (position % 10 == 2) return fmt::format("{}nd in line", position);
    if (position % 10 == 3) return fmt::format("{}rd in line", position);
  }
  return fmt::format("{}th in line", position);
}

std::string turn_words(const api::Lease& lease, Time now) {
  std::vector<std::string> out;
  if (lease.queue_position) out.push_back(place_in_line(*lease.queue_position));
  if (lease.estimate) out.push_back("at the latest in " + brief(*lease.estimate - now));
  return join(out, ", ");
}

Tone tone_of(State state) {
  switch (state) {
    case State::active:
      return Tone::good;
    case State::ended:
      return Tone::faint;
    case State::parked:
      return Tone::plain;
    default:
      return Tone::warning;
  }
}

std::string holder_words(const api::Holder& holder) {
  auto out = printable(holder.user);
  if (holder.process) out += fmt::format(", pid {}", holder.process->pid);
  if (!holder.id.empty()) out += fmt::format(", {} {}", to_string(holder.kind), printable(holder.id));
  return out;
}

std::string time_words(const api::Lease& lease, Time now) {
  if (lease.state == State::ended) return lease.ended ? brief(now - *lease.ended) + " ago" : "";
  if (lease.state == State::waiting) return turn_words(lease, now);
  if (!lease.expires) return "until released";
  return *lease.expires > now ? brief(*lease.expires - now) + " left" : "expired";
}

// "3g.20gb on GPU 0", with MIG device 0:1 of it.
std::string where_words(const api::Lease& lease) {
  if (!lease.grant || lease.grant->devices.empty()) return "";
  const auto& devices = lease.grant->devices;
  std::vector<std::string> indices;
  for (const auto& device : devices) indices.push_back(device.index);
  std::erase(indices, "");
  return indices.empty() ? fmt::format("GPU {}", devices.front().gpu_index) : join(indices, " ");
}

std::string what_words(const api::Lease& lease) {
  if (lease.grant && !lease.grant->devices.empty() && !lease.grant->devices.front().profile.empty())
    return printable(lease.grant->devices.front().profile);
  return requirement_words(lease.requirement);
}

std::string line(const Look& look, std::string_view label, const std::string& text) {
  constexpr int kLabel = 22;
  return text.empty() ? "" : "  " + paint(look, Tone::faint, padded(look, label, kLabel)) + printable(text) + '\n';
}

std::string device_lines(const Look& look, const api::GrantedDevice& device) {
  const auto size = fmt::format("{}, {} SMs", to_string(device.memory), device.sms);
  const auto place = device.start ? fmt::format("GPU {}, placement {}", device.gpu_index, *device.start)
                                  : fmt::format("GPU {}", device.gpu_index);
  std::string out = line(
      look, "device",
      (device.profile.empty() ? "whole GPU" : device.profile) + " on " + place + " (" + device.board + "), " + size);
  out += line(look, "UUID", device.uuid);
  out += line(look, "index", device.index);
  return out + line(look, "CDI name", device.cdi);
}

std::string use_lines(const Look& look, const api::Lease& lease, const api::Grant& grant, const std::string& command) {
  std::string out = line(look, "a program", command + " run --lease " + lease.name + " -- CMD");
  std::string devices;
  for (const auto& device : grant.devices)
    if (!device.cdi.empty()) devices += " --device " + device.cdi;
  if (!devices.empty()) out += line(look, "a container", "podman run" + devices + " IMAGE");
  if (!lease.holder.process) out += line(look, "give it back", command + " release " + lease.name);
  return out;
}

}  // namespace

std::string requirement_words(const api::Requirement& requirement) {
  std::vector<std::string> out;
  if (!requirement.profile.empty()) out.push_back(printable(requirement.profile));
  if (requirement.memory) out.push_back(to_string(*requirement.memory) + " or more");
  if (requirement.sms) out.push_back(fmt::format("{} SMs or more", *requirement.sms));
  if (requirement.whole_gpu) out.emplace_back("whole GPU");
  return join(out, ", ");
}

std::string waiting_words(const api::Lease& lease, Time now) {
  auto out = fmt::format("lease {} waits for {}", lease.name, requirement_words(lease.requirement));
  if (const auto turn = turn_words(lease, now); !turn.empty()) out += ", " + turn;
  if (!lease.cause.empty()) out += ": " + printable(lease.cause);
  return out;
}

std::string draw_lease(const Look& look, const api::Lease& lease, Time now, const std::string& command) {
  std::string out = paint(look, Tone::strong, printable(lease.name)) + "  " +
                    paint(look, tone_of(lease.state), to_string(lease.state));
  if (const auto time = time_words(lease, now); !time.empty()) out += ", " + time;
  out += '\n';
  out += line(look, "holder", holder_words(lease.holder));
  if (!lease.cause.empty()) out += line(look, lease.state == State::ended ? "ended" : "because", lease.cause);
  for (const auto& detail : lease.cause_details) out += line(look, "", detail);
  for (const auto& [key, text] : lease.labels) out += line(look, "label " + printable(key), text);
  if (!lease.grant) {
    out += line(look, "asked for", requirement_words(lease.requirement));
    return lease.state == State::parked ? out + line(look, "cut it again", command + " unpark " + lease.name) : out;
  }
  for (const auto& device : lease.grant->devices) out += device_lines(look, device);
  out += line(look, "CUDA_VISIBLE_DEVICES", lease.grant->cuda_visible_devices);
  if (lease.state == State::active && lease.grant) out += use_lines(look, lease, *lease.grant, command);
  return out;
}

std::string draw_leases(const Look& look, const std::vector<api::Lease>& leases, Time now) {
  if (leases.empty()) return "no leases\n";
  Table table({{"NAME"}, {"STATE"}, {"WHAT"}, {"DEVICE"}, {"HOLDER"}, {"TIME"}});
  for (const auto& lease : leases) {
    table.add({{printable(lease.name), Tone::strong},
               {std::string(to_string(lease.state)), tone_of(lease.state)},
               {what_words(lease)},
               {where_words(lease)},
               {holder_words(lease.holder)},
               {time_words(lease, now)}});
    const bool explained = lease.state == State::ended || lease.state == State::waiting;
    if (explained && !lease.cause.empty()) table.add_note({printable(lease.cause), Tone::faint});
  }
  return table.draw(look);
}

}  // namespace partita::cli
