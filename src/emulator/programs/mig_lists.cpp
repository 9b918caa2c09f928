// The lists of `nvidia-smi mig`, character by character as NVIDIA's program prints them. Newer drivers' name columns
// are two characters wider in the lists of GPU instances and their profiles.
#include <fmt/format.h>

#include "base/text.h"
#include "emulator/programs/mig.h"

namespace partita::emulator::programs {

namespace {

std::string rule(std::size_t width, char with = '-', char edge = '+') {
  return edge + std::string(width - 2, with) + edge + '\n';
}

// Lines of a heading, filled with blanks to the width.
std::string heading(std::size_t width, std::initializer_list<std::string_view> lines) {
  std::string text = rule(width);
  for (const std::string_view line : lines) text += fmt::format("|{:<{}}|\n", line, width - 2);
  return text + rule(width, '=', '|');
}

std::string per(unsigned free, unsigned total) { return fmt::format("{}/{}", free, total); }

std::string gib(std::uint64_t mib) { return fmt::format("{:.2f}", static_cast<double>(mib) / 1024); }

// "Placements: {0,4}:4", "Placement : {0}:8"
std::string placements_text(const std::vector<driver::NvmlPlacement>& placements) {
  std::vector<std::string> starts;
  for (const auto& placement : placements) starts.push_back(std::to_string(placement.start));
  return fmt::format("{}: {{{}}}:{}", placements.size() == 1 ? "Placement " : "Placements", join(starts, ","),
                     placements.empty() ? 0 : placements.front().size);
}

}  // namespace

std::string draw_gpu_profiles(std::span<const Gpu> gpus, bool wide) {
  const std::size_t more = wide ? 2 : 0, width = 79 + more;
  const std::string gap(more, ' ');
  std::string text =
      heading(width, {" GPU instance profiles:",
                      " GPU   Name             " + gap + "ID    Instances   Memory     P2P    SM    DEC   ENC  ",
                      "                        " + gap + "      Free/Total   GiB              CE    JPEG  OFA  "});
  for (const Gpu& gpu : gpus)
    for (const GpuProfile& profile : gpu_profiles(gpu)) {
      const auto& info = profile.info;
      text += fmt::format("|{:>4}  MIG {:<{}}{:>2}     {:<11}{:<11}{:<7}{:<7}{:<6}{:<4}|\n", gpu.index, profile.name,
                          14 + more, info.id, per(profile.free, info.instances), gib(info.memory_mib),
                          info.p2p != 0 ? "Yes" : "No", info.multiprocessors, info.decoder, info.encoder);
      text += fmt::format("|{:>{}}     {:<6}{:<4}|\n", info.copy, 62 + more, info.jpeg, info.ofa);
      text += rule(width);
    }
  return text;
}

std::string draw_gpu_placements(std::span<const Gpu> gpus) {
  std::string text;
  for (const Gpu& gpu : gpus)
    for (const GpuProfile& profile : gpu_profiles(gpu))
      text += fmt::format("GPU {:>2} Profile ID {:>2} {}\n", gpu.index, profile.info.id,
                          placements_text(profile.placements));
  return text;
}

std::string draw_gpu_instances(std::span<const Gpu> gpus, const Arguments& arguments, bool wide) {
  const std::size_t more = wide ? 2 : 0, width = 57 + more;
  const std::string gap(more, ' ');
  std::string text =
      heading(width, {" GPU instances:", " GPU   Name             " + gap + "Profile  Instance   Placement  ",
                      "                        " + gap + "  ID       ID       Start:Size "});
  std::size_t drawn = 0;
  for (const Gpu& gpu : gpus)
    for (const GpuInstance& instance : gpu_instances(gpu, arguments.gpu_instances)) {
      const auto& info = instance.info;
      text += fmt::format("|{:>4}  MIG {:<{}}{:>2}       {:>2}{:>11}:{:<6}|\n", gpu.index, instance.profile.name,
                          16 + more, info.profile_id, info.id, info.placement.start, info.placement.size);
      text += rule(width);
      ++drawn;
    }
  return drawn == 0 ? "" : text;
}

std::string draw_compute_profiles(std::span<const Gpu> gpus, const Arguments& arguments) {
  constexpr std::size_t kWidth = 88;
  std::string text =
      heading(kWidth, {" Compute instance profiles:",
                       " GPU     GPU       Name             Profile  Instances   Exclusive       Shared       ",
                       "       Instance                       ID     Free/Total     SM       DEC   ENC   OFA  ",
                       "         ID                                                          CE    JPEG       "});
  std::size_t drawn = 0;
  for (const Gpu& gpu : gpus)
    for (const GpuInstance& instance : gpu_instances(gpu, arguments.gpu_instances))
      for (const ComputeProfile& profile : compute_profiles(instance)) {
        const auto& info = profile.info;
        text +=
            fmt::format("|{:>4}     {:>2}       MIG {:<16}{:>2}{}     {:<14}{:<10}{:<6}{:<6}{:<4}|\n", gpu.index,
                        instance.info.id, profile.name, info.id, profile.whole ? '*' : ' ',
                        per(profile.free, info.instances), info.multiprocessors, info.decoder, info.encoder, info.ofa);
        text += fmt::format("|{:70}{:<6}{:<10}|\n", "", info.copy, info.jpeg);
        text += rule(kWidth);
        ++drawn;
      }
  return drawn == 0 ? "" : text;
}

std::string draw_compute_placements(std::span<const Gpu> gpus, const Arguments& arguments) {
  std::string text;
  for (const Gpu& gpu : gpus)
    for (const GpuInstance& instance : gpu_instances(gpu, arguments.gpu_instances))
      for (const ComputeProfile& profile : compute_profiles(instance))
        text += fmt::format("GPU {:>2} GI {:>2} Profile ID {:>2} {}\n", gpu.index, instance.info.id, profile.info.id,
                            placements_text(profile.placements));
  return text;
}

std::string draw_compute_instances(std::span<const Gpu> gpus, const Arguments& arguments) {
  constexpr std::size_t kWidth = 70;
  std::string text =
      heading(kWidth, {" Compute instances:", " GPU     GPU       Name             Profile   Instance   Placement  ",
                       "       Instance                       ID        ID       Start:Size ",
                       "         ID                                                         "});
  std::size_t drawn = 0;
  for (const Gpu& gpu : gpus)
    for (const GpuInstance& instance : gpu_instances(gpu, arguments.gpu_instances))
      for (const ComputeInstance& compute : compute_instances(instance, arguments.compute_instances)) {
        const auto& info = compute.info;
        text += fmt::format("|{:>4}     {:>2}       MIG {:<16}{:>2}        {:>2}{:>11}:{:<6}|\n", gpu.index,
                            instance.info.id, compute.profile.name, info.profile_id, info.id, info.placement.start,
                            info.placement.size);
        text += rule(kWidth);
        ++drawn;
      }
  return drawn == 0 ? "" : text;
}

}  // namespace partita::emulator::programs
