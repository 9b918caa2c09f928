#include "deliver/bpf_filter.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/bpf.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "deliver/descriptor.h"

namespace partita::deliver {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kProgramName = "partita_lease";  // at most 15 bytes
constexpr std::size_t kMostNodes = 1000;                    // kernels before 5.2 take 4096 instructions

int bpf(bpf_cmd command, bpf_attr& attributes) {
  return static_cast<int>(::syscall(SYS_bpf, command, &attributes, sizeof attributes));
}

template <class T>
std::uint64_t address(T* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

bpf_insn instruction(int code, int to, int from, std::size_t offset, int immediate) {
  bpf_insn made{};
  made.code = static_cast<std::uint8_t>(code);
  made.dst_reg = static_cast<std::uint8_t>(to & 0xf);
  made.src_reg = static_cast<std::uint8_t>(from & 0xf);
  made.off = static_cast<std::int16_t>(offset);
  made.imm = immediate;
  return made;
}
bpf_insn load(int to, int from, std::size_t offset) {
  return instruction(BPF_LDX | BPF_W | BPF_MEM, to, from, offset, 0);
}
bpf_insn set(int to, int value) { return instruction(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value); }
bpf_insn copy(int to, int from) { return instruction(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0); }
bpf_insn mask(int to, int value) { return instruction(BPF_ALU64 | BPF_AND | BPF_K, to, 0, 0, value); }
bpf_insn shift_right(int to, int bits) { return instruction(BPF_ALU64 | BPF_RSH | BPF_K, to, 0, 0, bits); }
bpf_insn jump_if(int condition, int what, int value, std::size_t over) {
  return instruction(BPF_JMP | condition | BPF_K, what, 0, over, value);
}
bpf_insn jump(std::size_t over) { return instruction(BPF_JMP | BPF_JA, 0, 0, over, 0); }
bpf_insn leave() { return instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0); }

// Answers 1 (allowed) or 0 (EPERM) to each open and mknod. In parts of known length, so that each jump is forward by a
// count of instructions:
//   head     what is asked: r2 access, r3 type, r4 major, r5 minor; no character device: allow
//   guarded  one per guarded major: go to check; none: allow
//   check    mknod: deny; then two per allowed node: that one: allow
//   deny, allow
std::vector<bpf_insn> program_of(const Filter& filter) {
  const std::size_t guarded = filter.guarded_majors.size(), nodes = filter.allowed.size();
  const std::size_t check = 7 + guarded + 1, deny = check + 1 + 2 * nodes, allow = deny + 2;
  std::vector<bpf_insn> program;
  if (guarded == 0) return {set(BPF_REG_0, 1), leave()};  // the kernel refuses instructions that nothing reaches
  const auto from_here_to = [&](std::size_t target) { return target - program.size() - 1; };

  program.push_back(load(BPF_REG_2, BPF_REG_1, offsetof(bpf_cgroup_dev_ctx, access_type)));
  program.push_back(load(BPF_REG_4, BPF_REG_1, offsetof(bpf_cgroup_dev_ctx, major)));
  program.push_back(load(BPF_REG_5, BPF_REG_1, offsetof(bpf_cgroup_dev_ctx, minor)));
  program.push_back(copy(BPF_REG_3, BPF_REG_2));
  program.push_back(mask(BPF_REG_3, 0xffff));
  program.push_back(shift_right(BPF_REG_2, 16));
  program.push_back(jump_if(BPF_JNE, BPF_REG_3, BPF_DEVCG_DEV_CHAR, from_here_to(allow)));

  for (const int major : filter.guarded_majors)
    program.push_back(jump_if(BPF_JEQ, BPF_REG_4, major, from_here_to(check)));
  program.push_back(jump(from_here_to(allow)));

  program.push_back(jump_if(BPF_JSET, BPF_REG_2, BPF_DEVCG_ACC_MKNOD, from_here_to(deny)));
  for (const NodeNumber& node : filter.allowed) {
    program.push_back(jump_if(BPF_JNE, BPF_REG_4, node.major, 1));
    program.push_back(jump_if(BPF_JEQ, BPF_REG_5, node.minor, from_here_to(allow)));
  }
  program.push_back(set(BPF_REG_0, 0));
  program.push_back(leave());
  program.push_back(set(BPF_REG_0, 1));
  program.push_back(leave());
  return program;
}

int try_load(const std::vector<bpf_insn>& program) {
  bpf_attr attributes{};
  attributes.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
  attributes.insn_cnt = static_cast<std::uint32_t>(program.size());
  attributes.insns = address(program.data());
  attributes.license = address("MIT");
  std::ranges::copy(kProgramName, attributes.prog_name);
  return bpf(BPF_PROG_LOAD, attributes);
}

Result<Descriptor> load_program(const Filter& filter) {
  if (filter.allowed.size() > kMostNodes)
    return fail(ErrorCode::invalid, fmt::format("a lease of {} device nodes is more than the {} that a filter can hold",
                                                filter.allowed.size(), kMostNodes));
  const std::vector<bpf_insn> program = program_of(filter);
  Descriptor loaded(try_load(program));
  if (loaded.get() < 0 && errno == EPERM) {  // kernels before 5.11 count programs as locked memory
    const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
    if (::setrlimit(RLIMIT_MEMLOCK, &unlimited) == 0) loaded = Descriptor(try_load(program));
  }
  if (loaded.get() >= 0) return loaded;
  const int error = errno;
  std::string_view hint;
  if (error == EPERM) hint = "; it needs root, or CAP_BPF and CAP_NET_ADMIN";
  if (error == EINVAL) hint = "; the kernel needs CONFIG_CGROUP_BPF";
  if (error == ENOSYS) hint = "; the kernel needs CONFIG_BPF_SYSCALL";
  return fail(error == EPERM ? ErrorCode::denied : ErrorCode::unavailable,
              fmt::format("cannot load a device filter: {}{}", std::strerror(error), hint));
}

// Our programs that are attached to the group itself (none at all when the kernel cannot tell).
std::vector<Descriptor> attached_before(int group) {
  std::array<std::uint32_t, 64> ids{};
  bpf_attr query{};
  query.query.target_fd = static_cast<std::uint32_t>(group);
  query.query.attach_type = BPF_CGROUP_DEVICE;
  query.query.prog_ids = address(ids.data());
  query.query.prog_cnt = static_cast<std::uint32_t>(ids.size());
  std::vector<Descriptor> ours;
  if (bpf(BPF_PROG_QUERY, query) != 0) return ours;
  for (std::size_t i = 0; i < query.query.prog_cnt; ++i) {
    bpf_attr by_id{};
    by_id.prog_id = ids[i];
    Descriptor program(bpf(BPF_PROG_GET_FD_BY_ID, by_id));
    if (program.get() < 0) continue;
    bpf_prog_info info{};
    bpf_attr ask{};
    ask.info.bpf_fd = static_cast<std::uint32_t>(program.get());
    ask.info.info_len = sizeof info;
    ask.info.info = address(&info);
    if (bpf(BPF_OBJ_GET_INFO_BY_FD, ask) == 0 && kProgramName == info.name) ours.push_back(std::move(program));
  }
  return ours;
}

int attach(int group, const Descriptor& program) {
  bpf_attr attributes{};
  attributes.target_fd = static_cast<std::uint32_t>(group);
  attributes.attach_bpf_fd = static_cast<std::uint32_t>(program.get());
  attributes.attach_type = BPF_CGROUP_DEVICE;
  attributes.attach_flags = BPF_F_ALLOW_MULTI;
  return bpf(BPF_PROG_ATTACH, attributes);
}

int detach(int group, const Descriptor& program) {
  bpf_attr attributes{};
  attributes.target_fd = static_cast<std::uint32_t>(group);
  attributes.attach_bpf_fd = static_cast<std::uint32_t>(program.get());
  attributes.attach_type = BPF_CGROUP_DEVICE;
  return bpf(BPF_PROG_DETACH, attributes);
}

}  // namespace

Result<void> check_bpf() {
  TRY_VOID(load_program(Filter{}));
  return {};
}

Result<void> set_bpf_filter(const fs::path& group, const Filter& filter) {
  const Descriptor folder(::open(group.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0)
    return fail(ErrorCode::unavailable,
                fmt::format("cannot open the control group {}: {}", group.string(), std::strerror(errno)));
  const Descriptor program = TRY(load_program(filter));
  const std::vector<Descriptor> former = attached_before(folder.get());
  if (attach(folder.get(), program) != 0) {
    const int error = errno;
    return fail(error == EPERM ? ErrorCode::denied : ErrorCode::unavailable,
                fmt::format("cannot attach a device filter to {}: {}{}", group.string(), std::strerror(error),
                            error == EPERM ? " (a filter of a group above it may allow no others)" : ""));
  }
  for (const Descriptor& old : former)
    if (detach(folder.get(), old) != 0 && errno != ENOENT)
      return fail(ErrorCode::unavailable, fmt::format("cannot detach the former device filter of {}: {}",
                                                      group.string(), std::strerror(errno)));
  return {};
}

}  // namespace partita::deliver
