// Making, finding and removing node folders.
//
// A node is made in ".starting" and renamed; removed by renaming to ".stopping" first. So whoever looks sees a whole
// node or none. Both happen under a lock on the nodes folder: what is found in those two places then is left over
// from a killed process, and goes.
#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <system_error>

#include "base/file.h"
#include "base/text.h"
#include "emulator/control/compile.h"
#include "emulator/control/control.h"
#include "emulator/control/coverage.h"
#include "emulator/control/device_name.h"
#include "emulator/control/node_file.h"
#include "emulator/control/node_source.h"
#include "emulator/engine/engine.h"

namespace partita::emulator {

namespace fs = std::filesystem;

namespace {

std::unexpected<Error> cannot(std::string_view what, const fs::path& path, int error) {
  const ErrorCode code =
      error == EACCES || error == EPERM || error == EROFS ? ErrorCode::denied : ErrorCode::unavailable;
  return fail(code, fmt::format("cannot {} {}: {}; PARTITA_EMULATED_ROOT names another folder for emulated nodes", what,
                                path.string(), std::strerror(error)));
}

// Held while nodes are made and removed; ends with the process.
class NodesLock {
 public:
  static Result<NodesLock> take(const fs::path& folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return cannot("make", folder, error.value());
    constexpr mode_t kOwnerAlone = 0600;  // who can open it can lock it
    NodesLock lock(::open((folder / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kOwnerAlone));
    if (lock.fd_ < 0) return cannot("lock", folder, errno);
    (void)::fchmod(lock.fd_, kOwnerAlone);  // one that an earlier version made
    while (::flock(lock.fd_, LOCK_EX) != 0)
      if (errno != EINTR) return cannot("lock", folder, errno);
    for (const char* left_over : {".starting", ".stopping"}) fs::remove_all(folder / left_over, error);
    return lock;
  }
  NodesLock(NodesLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  NodesLock(const NodesLock&) = delete;
  ~NodesLock() {
    if (fd_ >= 0) ::close(fd_);
  }

 private:
  explicit NodesLock(int fd) : fd_(fd) {}
  int fd_;
};

Result<void> check_name(std::string_view name) {
  if (is_node_name(name)) return {};
  return fail(ErrorCode::invalid,
              fmt::format("{} is no name of an emulated node; expected up to 63 of a-z, 0-9, '.', '_' and '-', "
                          "beginning with a letter or digit",
                          quote(name)));
}

// Where the '=' of NAME=TYPE is; a '/' before it makes the whole a path.
std::optional<std::size_t> name_end(std::string_view argument) {
  const std::size_t at = argument.find('=');
  if (at == std::string_view::npos || argument.substr(0, at).find('/') != std::string_view::npos) return std::nullopt;
  return at;
}

// Neither atomic nor synced: the folder is renamed when all is in it, and an emulated node may be lost with the
// machine.
Result<void> write(const fs::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) return cannot("write", path, errno);
  return {};
}

EmulatedNode describe_node(const std::string& name, const fs::path& folder, int gpus) {
  const Result<std::string> type = read_file(folder / "type", 8192);
  return {name, type ? std::string(trim(*type)) : "", folder, gpus};
}

Error no_such_node(std::string_view name) {
  std::vector<std::string> names;
  for (const EmulatedNode& node : list()) names.push_back(node.name);
  return Error{
      ErrorCode::not_found,
      fmt::format("no emulated node is called {}{}; {}; start it with 'partita emulate start {}'", name,
                  did_you_mean(name, names), names.empty() ? "none runs" : "these run: " + join(names, ", "), name),
      {}};
}

Result<void> make(catalog::Catalog& catalog, const NodeSource& source, const std::string& name,
                  const fs::path& folder) {
  const NodeFile file = TRY(read_node_file(source.text, source.file));
  const NodeSpec spec = TRY(
      compile(catalog, file, name, is_node_path(source.type) ? fs::path(source.type).stem().string() : source.type));
  for (const Fault& fault : file.faults) {
    if (fault.gpu && static_cast<std::size_t>(*fault.gpu) >= spec.gpus.size())
      return fail(ErrorCode::invalid, fmt::format("{}: faults: there is no GPU {}; the node has {}", source.file,
                                                  *fault.gpu, spec.gpus.size()));
    if (const auto known = check_function(fault.function); !known && known.error().code == ErrorCode::not_found)
      return fail(ErrorCode::invalid, fmt::format("{}: faults: {}", source.file, known.error().message),
                  known.error().details);
  }
  std::error_code error;
  fs::create_directory(folder, error);
  if (error) return cannot("make", folder, error.value());
  TRY_VOID(Engine::create(folder, spec));
  TRY_VOID(write(folder / "type", source.type + "\n"));
  TRY_VOID(write(folder / "node.yaml", source.text));
  if (file.faults.empty()) return {};
  Engine engine = TRY(Engine::open(folder));
  for (const Fault& fault : file.faults)
    if (engine.add_fault(fault) != kSuccess)
      return fail(ErrorCode::invalid, fmt::format("{}: faults: too many", source.file));
  return {};
}

// The node exists: is it the one that is asked for?
Result<EmulatedNode> existing(const NodeName& asked, bool type_named) {
  EmulatedNode node = TRY(find(asked.name));
  if (!type_named) return node;
  const NodeSource source = TRY(node_source(asked.type));
  const std::string stop = fmt::format("stop it first ('partita emulate stop {}'), or choose another name", asked.name);
  if (node.type != source.type)
    return fail(ErrorCode::invalid, fmt::format("emulated node {} exists and was made from {}, not from {}; {}",
                                                asked.name, node.type, source.type, stop));
  const Result<std::string> text = read_file(node.folder / "node.yaml", 1U << 21);
  if (is_node_path(node.type) && text && *text != source.text)
    return fail(ErrorCode::invalid,
                fmt::format("emulated node {} was made from an earlier text of {}; {}", asked.name, node.type, stop));
  return node;
}

}  // namespace

fs::path nodes_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return fs::path(value ? value : "");
  };
  if (const fs::path root = variable("PARTITA_EMULATED_ROOT"); !root.empty()) {
    std::error_code none;
    return fs::absolute(root, none);
  }
  if (::geteuid() == 0) return "/var/lib/partita/emulated";
  if (const fs::path state = variable("XDG_STATE_HOME"); state.is_absolute()) return state / "partita/emulated";
  fs::path home = variable("HOME");
  if (const passwd* user = home.is_absolute() ? nullptr : ::getpwuid(::geteuid())) home = user->pw_dir;
  return home / ".local/state/partita/emulated";
}

Result<NodeName> parse_node_name(std::string_view text) {
  if (const std::optional<std::size_t> equals = name_end(text)) {
    NodeName node{std::string(text.substr(0, *equals)), std::string(text.substr(*equals + 1))};
    TRY_VOID(check_name(node.name));
    if (!is_node_path(node.type)) TRY_VOID(check_name(node.type));
    return node;
  }
  if (!is_node_path(text)) {
    TRY_VOID(check_name(text));
    return NodeName{std::string(text), std::string(text)};
  }
  const NodeSource source = TRY(node_source(text));
  const NodeFile file = TRY(read_node_file(source.text, source.file));
  const std::string name = file.name.value_or(fs::path(text).stem().string());
  if (!is_node_name(name))
    return fail(ErrorCode::invalid,
                fmt::format("{} is no name of an emulated node; write `name:` into {} or ask for NAME={}", quote(name),
                            one_line(text), one_line(text)));
  return NodeName{name, std::string(text)};
}

Result<EmulatedNode> start(catalog::Catalog& catalog, std::string_view node_argument) {
  const NodeName asked = TRY(parse_node_name(node_argument));
  const bool type_named = name_end(node_argument).has_value() || is_node_path(node_argument);
  const fs::path folder = nodes_folder() / asked.name;
  std::error_code error;
  if (fs::exists(folder, error)) return existing(asked, type_named);
  const NodeSource source = TRY(node_source(asked.type));
  const NodesLock lock = TRY(NodesLock::take(nodes_folder()));
  if (fs::exists(folder, error)) return existing(asked, type_named);
  const fs::path making = nodes_folder() / ".starting";
  if (Result<void> made = make(catalog, source, asked.name, making); !made) {
    fs::remove_all(making, error);
    return std::unexpected(made.error());
  }
  fs::rename(making, folder, error);
  if (error) return cannot("make", folder, error.value());
  return find(asked.name);
}

Result<EmulatedNode> find(std::string_view name) {
  TRY_VOID(check_name(name));
  const fs::path folder = nodes_folder() / name;
  std::error_code error;
  if (!fs::is_directory(folder, error)) return std::unexpected(no_such_node(name));
  Result<Engine> engine = Engine::open(folder);
  if (!engine) {
    engine.error().message += fmt::format("; 'partita emulate stop {}' removes it", name);
    return std::unexpected(in_context(fmt::format("emulated node {}", name), engine.error()));
  }
  return describe_node(std::string(name), folder, static_cast<int>(engine->spec().gpus.size()));
}

std::vector<EmulatedNode> list() {
  std::vector<EmulatedNode> nodes;
  std::error_code error;
  for (fs::directory_iterator entry(nodes_folder(), error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!is_node_name(name) || !entry->is_directory(error)) continue;
    const Result<Engine> engine = Engine::open(entry->path());
    nodes.push_back(describe_node(name, entry->path(), engine ? static_cast<int>(engine->spec().gpus.size()) : 0));
  }
  std::ranges::sort(nodes, {}, &EmulatedNode::name);
  return nodes;
}

Result<void> stop(std::string_view name) {
  TRY_VOID(check_name(name));
  const fs::path folder = nodes_folder() / name, leaving = nodes_folder() / ".stopping";
  std::error_code error;
  if (!fs::is_directory(folder, error)) return std::unexpected(no_such_node(name));
  const NodesLock lock = TRY(NodesLock::take(nodes_folder()));
  if (!fs::is_directory(folder, error)) return std::unexpected(no_such_node(name));
  if (Result<Engine> engine = Engine::open(folder)) {  // a node whose state is damaged can be removed, too
    std::vector<int> all(engine->spec().gpus.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
    if (std::vector<std::string> in_use = holders(*engine, all); !in_use.empty()) {
      std::string message =
          fmt::format("emulated node {} is in use by {}; end them first", name, count_of(in_use.size(), "process"));
      return fail(ErrorCode::busy, std::move(message), std::move(in_use));
    }
  }
  fs::rename(folder, leaving, error);
  if (error) return cannot("remove", folder, error.value());
  fs::remove_all(leaving, error);
  if (error) return cannot("remove", leaving, error.value());
  return {};
}

}  // namespace partita::emulator
