#include "cli/verbs/fleet_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <map>

#include "base/file.h"
#include "base/text.h"

namespace partita::cli {

namespace {

namespace fs = std::filesystem;

// Folders that are made here go again unless all went well.
class Folders {
 public:
  ~Folders() {
    std::error_code ignored;
    if (!kept_)
      for (const auto& each : made_) fs::remove(each, ignored);
  }
  Result<void> make(const std::string& folder) {
    std::error_code error;
    for (auto at = fs::path(folder); !at.empty() && !fs::exists(at, error); at = at.parent_path()) made_.push_back(at);
    fs::create_directories(folder, error);
    if (!error && !fs::is_directory(folder, error)) error = std::make_error_code(std::errc::not_a_directory);
    if (error) return fail(ErrorCode::unavailable, "cannot make the folder " + folder + ": " + error.message());
    return {};
  }
  void keep() { kept_ = true; }

 private:
  std::vector<fs::path> made_;  // the innermost first
  bool kept_ = false;
};

// Files beside those they become; what is left of them goes in the end.
class Staged {
 public:
  ~Staged() {
    std::error_code ignored;
    for (const auto& [beside, target] : files_) fs::remove(beside, ignored);
    if (!kept_)
      for (const auto& each : fresh_) fs::remove(each, ignored);
  }
  Result<void> write(const OutputFile& file) {
    std::error_code none;
    const auto target = fs::exists(file.path, none) ? fs::canonical(file.path, none) : file.path;
    fs::path beside = target;
    beside += ".new-" + std::to_string(::getpid());
    files_.emplace_back(beside, target);
    auto written = write_file_atomically(beside, file.text);
    if (!written) {  // the file meant, not the one beside
      TRY_VOID(can_write_file(file.path));
      auto& message = written.error().message;
      if (const auto at = message.find(beside.string()); at != std::string::npos)
        message.replace(at, beside.string().size(), file.path.string());
      return written;
    }
    return {};
  }
  Result<void> rename_all() {
    for (const auto& [beside, target] : files_) {
      std::error_code error;
      const bool fresh = !fs::exists(target, error);
      fs::rename(beside, target, error);
      if (error) return fail(ErrorCode::unavailable, "cannot write " + target.string() + ": " + error.message());
      if (fresh) fresh_.push_back(target);
    }
    kept_ = true;
    return {};
  }

 private:
  std::vector<std::pair<fs::path, fs::path>> files_;
  std::vector<fs::path> fresh_;
  bool kept_ = false;
};

Result<void> check_path(const Parsed& parsed, const char* option, std::string_view what) {
  const auto path = parsed.text(option);
  if (!path || (!path->empty() && *path != "-")) return {};
  const auto end = path->empty() ? "nothing" : "\"-\": the plan itself is printed, with -o json for programs";
  return fail(ErrorCode::invalid, fmt::format("option --{}: expected a {}, found {}", option, what, end));
}

}  // namespace

std::string mig_parted_name(const std::string& group) {
  std::string out = group + ".yaml";
  for (auto& c : out)
    if (c == '/' || static_cast<unsigned char>(c) < ' ') c = '_';
  return out;
}

Result<void> check_targets(const Parsed& parsed, const fleet::FleetFile& fleet) {
  TRY_VOID(check_path(parsed, "output-dir", "folder"));
  TRY_VOID(check_path(parsed, "report", "file"));
  const auto folder = parsed.text("output-dir");
  const auto report = parsed.text("report");
  if (!folder) return report ? can_write_file(*report) : Result<void>{};
  std::map<std::string, std::string> groups;  // by file
  for (const auto& group : fleet.groups) {
    const auto [other, fresh] = groups.try_emplace(mig_parted_name(group.name), group.name);
    if (!fresh)
      return fail(ErrorCode::invalid, fmt::format("option --output-dir: the groups {} and {} would both be written to "
                                                  "{}: call one of them otherwise",
                                                  quote(other->second), quote(group.name), other->first));
  }
  if (!report) return {};
  for (const auto& [file, group] : groups)
    if (fs::path(*report).lexically_normal() == (fs::path(*folder) / file).lexically_normal())
      return fail(ErrorCode::invalid, fmt::format("option --report: {} is the file of the group {}: choose another",
                                                  *report, quote(group)));
  return {};
}

Result<void> write_together(const OutputFiles& out) {
  Folders folders;
  if (out.folder) TRY_VOID(folders.make(*out.folder));
  for (const auto& file : out.files) TRY_VOID(can_write_file(file.path));
  Staged staged;
  std::error_code none;
  const auto in_place = [&](const OutputFile& file) {
    return fs::exists(file.path, none) && !fs::is_regular_file(file.path, none);
  };
  for (const auto& file : out.files)
    if (!in_place(file)) TRY_VOID(staged.write(file));
  for (const auto& file : out.files)
    if (in_place(file)) TRY_VOID(write_file_atomically(file.path, file.text));  // a pipe or device
  TRY_VOID(staged.rename_all());
  folders.keep();
  return {};
}

}  // namespace partita::cli
