// Making, opening and locking the state file.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "emulator/engine/spec_codec.h"
#include "emulator/engine/state_file.h"
#include "emulator/engine/state_format.h"

namespace partita::emulator {

namespace {

namespace fs = std::filesystem;

// The process's own turn-taking and its open state files, for the fork handlers: no write is under way while the
// process forks, and the child drops the descriptors that would otherwise keep its parent's lock alive.
struct ProcessTurn {
  std::mutex mutex;
  std::vector<StateFile*> files;

  ProcessTurn() { ::pthread_atfork(&before_fork, &after_fork, &in_child); }
  static ProcessTurn& get() {
    static auto* turn = new ProcessTurn;  // outlives every static destructor
    return *turn;
  }
  static void before_fork() { get().mutex.lock(); }
  static void after_fork() { get().mutex.unlock(); }
  static void in_child() {
    for (StateFile* file : get().files) file->forget_lock_descriptor();
    get().mutex.unlock();
  }
};

Error system_error(const fs::path& path, std::string_view what) {
  const int error = errno;
  const ErrorCode code = error == ENOENT                       ? ErrorCode::not_found
                         : error == EACCES || error == EPERM   ? ErrorCode::denied
                         : error == EEXIST || error == ENOTDIR ? ErrorCode::invalid
                                                               : ErrorCode::unavailable;
  return Error{code, path.string() + ": " + std::string(what) + ": " + std::strerror(error), {}};
}

std::uint64_t check_of(StateHeader header, std::string_view immutable) {
  header.check = 0;
  return checksum(std::string_view(reinterpret_cast<const char*>(&header), sizeof header)) ^ checksum(immutable);
}

// Never 0, 1 or 2: in a client that has closed those, its messages would go into the state.
int open_state(const fs::path& path, int mode) {
  const int fd = ::open(path.c_str(), mode | O_CLOEXEC);
  if (fd < 0 || fd > 2) return fd;
  const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
  const int error = errno;
  ::close(fd);
  errno = error;
  return moved;
}

Result<void> write_all(int fd, std::string_view bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return std::unexpected(system_error(path, "cannot write"));
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

std::string image_of(std::string_view immutable, const std::vector<GpuRecord>& gpus, const NodeRecord& node) {
  StateHeader header{};
  std::memcpy(header.magic, kStateMagic, sizeof header.magic);
  header.version = kStateVersion;
  header.gpu_count = static_cast<std::uint32_t>(gpus.size());
  header.immutable_offset = kImmutableOffset;
  header.immutable_size = immutable.size();
  header.slots_offset = (kImmutableOffset + immutable.size() + 63) / 64 * 64;
  header.file_size = header.slots_offset + slots_size(static_cast<int>(gpus.size()));
  header.check = check_of(header, immutable);

  std::string image(header.file_size, '\0');
  std::memcpy(image.data(), &header, sizeof header);
  std::memcpy(image.data() + kImmutableOffset, immutable.data(), immutable.size());
  auto put = [&](int record, const void* data, std::size_t size) {
    std::memcpy(image.data() + header.slots_offset + slot_offset(record, 0, static_cast<int>(gpus.size())) + 8, data,
                size);
  };
  for (std::size_t i = 0; i < gpus.size(); ++i) put(static_cast<int>(i), &gpus[i], sizeof gpus[i]);
  const FaultsRecord faults;
  put(static_cast<int>(gpus.size()), &node, sizeof node);
  put(static_cast<int>(gpus.size()) + 1, &faults, sizeof faults);
  return image;
}

Result<void> check_header(const StateHeader& header, std::uint64_t size, const fs::path& path) {
  const std::string where = path.string() + ": ";
  if (std::memcmp(header.magic, kStateMagic, sizeof header.magic) != 0) {
    return fail(ErrorCode::invalid,
                where + "not the state of an emulated node; remove the folder and start the node again");
  }
  if (header.version != kStateVersion) {
    return fail(ErrorCode::invalid, where + "state format " + std::to_string(header.version) +
                                        ", this library reads format " + std::to_string(kStateVersion) +
                                        "; stop the node and start it again");
  }
  if (header.file_size != size || header.gpu_count > kMaxGpus || header.immutable_offset != kImmutableOffset ||
      header.immutable_size > size || header.slots_offset > size || header.slots_offset % 64 != 0 ||
      header.slots_offset < header.immutable_offset + header.immutable_size ||
      header.slots_offset + slots_size(static_cast<int>(header.gpu_count)) != size) {
    return fail(ErrorCode::invalid, where + "truncated or damaged: expected " + std::to_string(header.file_size) +
                                        " bytes, found " + std::to_string(size) + "; stop the node and start it again");
  }
  return {};
}

}  // namespace

Result<void> StateFile::create(const fs::path& folder, std::string_view immutable, const std::vector<GpuRecord>& gpus,
                               const NodeRecord& node) {
  const fs::path path = folder / "state";
  const fs::path temporary = folder / (".state." + std::to_string(::getpid()));
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return std::unexpected(system_error(temporary, "cannot create"));
  ::fchmod(fd, 0666);  // every process on the node may hold a device; folder permissions decide who gets here
  auto written = write_all(fd, image_of(immutable, gpus, node), temporary);
  ::close(fd);
  if (written && ::link(temporary.c_str(), path.c_str()) != 0) {
    written = std::unexpected(errno == EEXIST
                                  ? Error{ErrorCode::invalid, path.string() + ": there is a node here already", {}}
                                  : system_error(path, "cannot create"));
  }
  ::unlink(temporary.c_str());
  return written;
}

Result<std::unique_ptr<StateFile>> StateFile::open(const fs::path& folder) {
  std::unique_ptr<StateFile> file(new StateFile);
  file->path_ = folder / "state";
  file->writable_ = true;
  int fd = open_state(file->path_, O_RDWR);
  if (fd < 0 && (errno == EACCES || errno == EROFS || errno == EPERM)) {
    file->writable_ = false;
    fd = open_state(file->path_, O_RDONLY);
  }
  if (fd < 0) return std::unexpected(system_error(file->path_, "cannot open"));
  file->lock_fd_ = fd;  // closed by the destructor from here on
  file->lock_pid_ = ::getpid();
  struct stat info{};
  if (::fstat(fd, &info) != 0) return std::unexpected(system_error(file->path_, "cannot read"));
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (!S_ISREG(info.st_mode) || size < kImmutableOffset) {
    return fail(ErrorCode::invalid, file->path_.string() + ": not the state of an emulated node: too short or no file");
  }
  const int protection = file->writable_ ? PROT_READ | PROT_WRITE : PROT_READ;
  void* base = ::mmap(nullptr, size, protection, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) return std::unexpected(system_error(file->path_, "cannot map"));
  file->base_ = static_cast<char*>(base);
  file->size_ = size;
  file->device_ = info.st_dev;
  file->inode_ = info.st_ino;
  file->header_ = reinterpret_cast<const StateHeader*>(file->base_);
  file->control_ = reinterpret_cast<StateControl*>(file->base_ + kControlOffset);
  TRY_VOID(check_header(*file->header_, size, file->path_));
  file->gpu_count_ = static_cast<int>(file->header_->gpu_count);
  if (check_of(*file->header_, file->immutable()) != file->header_->check) {
    return fail(ErrorCode::invalid, file->path_.string() + ": damaged (checksum); stop the node and start it again");
  }
  ProcessTurn& turn = ProcessTurn::get();
  const std::lock_guard guard(turn.mutex);
  turn.files.push_back(file.get());
  return file;
}

StateFile::~StateFile() {
  ProcessTurn& turn = ProcessTurn::get();
  const std::lock_guard guard(turn.mutex);
  std::erase(turn.files, this);
  if (base_ != nullptr) ::munmap(base_, size_);
  if (lock_fd_ >= 0) ::close(lock_fd_);
}

std::string_view StateFile::immutable() const { return {base_ + header_->immutable_offset, header_->immutable_size}; }

void StateFile::forget_lock_descriptor() {
  if (lock_fd_ >= 0) ::close(lock_fd_);
  lock_fd_ = -1;
}

bool StateFile::reopen_lock_descriptor() {
  forget_lock_descriptor();
  lock_fd_ = open_state(path_, O_RDWR);
  lock_pid_ = ::getpid();
  struct stat info{};
  if (lock_fd_ < 0 || ::fstat(lock_fd_, &info) != 0) return false;
  return info.st_dev == device_ && info.st_ino == inode_;  // else: another node has taken the name
}

bool StateFile::lock() {
  if (!writable_) return false;
  ProcessTurn::get().mutex.lock();
  bool held = (lock_fd_ >= 0 && lock_pid_ == ::getpid()) || reopen_lock_descriptor();
  if (held) {
    struct flock whole{};
    whole.l_type = F_WRLCK;
    int answer = 0;
    do {
      answer = ::fcntl(lock_fd_, F_OFD_SETLKW, &whole);
    } while (answer != 0 && errno == EINTR);
    struct stat info{};
    held = answer == 0 && ::fstat(lock_fd_, &info) == 0 && info.st_nlink > 0;
    if (!held) forget_lock_descriptor();
  }
  if (!held) ProcessTurn::get().mutex.unlock();
  return held;
}

void StateFile::unlock() {
  struct flock whole{};
  whole.l_type = F_UNLCK;
  ::fcntl(lock_fd_, F_OFD_SETLK, &whole);
  ProcessTurn::get().mutex.unlock();
}

}  // namespace partita::emulator
