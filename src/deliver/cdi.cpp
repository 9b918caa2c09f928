#include "deliver/cdi.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "deliver/descriptor.h"

namespace partita::deliver {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kPrefix = "partita-", kSuffix = ".json";

// Not of the locale.
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_letter_or_digit(char c) { return is_letter(c) || (c >= '0' && c <= '9'); }

// What a device needs beyond version 0.3.0: names that begin with a digit and nodes that are elsewhere on the host came
// with 0.5.0.
bool needs_0_5(std::string_view name, const CdiDevice& device) {
  return !is_letter(name.front()) ||
         std::ranges::any_of(device.nodes, [](const CdiNode& node) { return !node.host_path.empty(); });
}

Json edits_of(const CdiDevice& device) {
  Json edits = Json::object();
  for (const auto& [name, value] : device.envs) edits["env"].push_back(name + "=" + value);
  for (const CdiNode& node : device.nodes) {
    Json entry = {{"path", node.path}};
    if (!node.host_path.empty()) entry["hostPath"] = node.host_path;
    entry["permissions"] = node.permissions;
    edits["deviceNodes"].push_back(std::move(entry));
  }
  return edits;
}

Result<fs::path> file_of(const fs::path& folder, std::string_view stem) {
  if (stem.empty() || stem.find('/') != std::string_view::npos || stem.find('\0') != std::string_view::npos)
    return fail(ErrorCode::invalid, fmt::format("{} cannot be part of a file's name", quote(stem)));
  return folder / fmt::format("{}{}{}", kPrefix, stem, kSuffix);
}

Error system_error(std::string_view doing, const fs::path& path, int error) {
  const bool denied = error == EACCES || error == EPERM || error == EROFS;
  return Error{denied ? ErrorCode::denied : ErrorCode::unavailable,
               fmt::format("cannot {} {}: {}", doing, path.string(), std::strerror(error)),
               {}};
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

bool is_cdi_device_name(std::string_view name) {
  return !name.empty() && is_letter_or_digit(name.front()) && is_letter_or_digit(name.back()) &&
         std::ranges::all_of(name,
                             [](char c) { return is_letter_or_digit(c) || std::string_view("_-.:").contains(c); });
}

std::string cdi_specification(std::span<const CdiDevice> devices) {
  bool newer = false;
  std::set<std::string_view> seen;
  Json list = Json::array();
  for (const CdiDevice& device : devices) {
    const Json edits = edits_of(device);
    for (const std::string& name : device.names) {
      if (!is_cdi_device_name(name) || !seen.insert(name).second) continue;
      newer = newer || needs_0_5(name, device);
      list.push_back({{"name", name}, {"containerEdits", edits}});
    }
  }
  const Json specification = {
      {"cdiVersion", newer ? "0.5.0" : "0.3.0"}, {"kind", kCdiKind}, {"devices", std::move(list)}};
  return specification.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<void> write_cdi(const fs::path& folder, std::string_view stem, std::string_view text) {
  const fs::path path = TRY(file_of(folder, stem));
  const fs::path temporary = folder / fmt::format(".{}{}.new", kPrefix, stem);  // readers take only .json and .yaml
  {
    const auto open = [&] {
      return Descriptor(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
    };
    Descriptor file = open();
    if (file.get() < 0 && errno == ENOENT) {
      std::error_code error;
      fs::create_directories(folder, error);
      if (error) return std::unexpected(system_error("make", folder, error.value()));
      file = open();
    }
    if (file.get() < 0) return std::unexpected(system_error("write", temporary, errno));
    if (!write_all(file.get(), text) || ::fchmod(file.get(), 0644) != 0)
      return std::unexpected(system_error("write", temporary, errno));
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) return std::unexpected(system_error("write", path, errno));
  return {};
}

Result<void> remove_cdi(const fs::path& folder, std::string_view stem) {
  const fs::path path = TRY(file_of(folder, stem));
  if (::unlink(path.c_str()) != 0 && errno != ENOENT && errno != ENOTDIR)
    return std::unexpected(system_error("remove", path, errno));
  return {};
}

std::vector<std::string> list_cdi(const fs::path& folder) {
  std::vector<std::string> stems;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    if (name.size() > kPrefix.size() + kSuffix.size() && name.starts_with(kPrefix) && name.ends_with(kSuffix))
      stems.push_back(name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size()));
  }
  std::ranges::sort(stems);
  return stems;
}

}  // namespace partita::deliver
