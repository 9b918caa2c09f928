#include "emulator/engine/spec_codec.h"

#include <cstring>
#include <limits>
#include <type_traits>

namespace partita::emulator {

namespace {

// One visit() per struct lists its fields; Encoder and Decoder both walk it, so they cannot drift apart.
template <class Codec, class Spec>
  requires std::is_same_v<std::remove_const_t<Spec>, ComputeProfileSpec>
void visit(Codec& codec, Spec& s) {
  codec(s.nvml_profile, s.slices, s.sm, s.max_instances, s.size, s.starts, s.name);
}

template <class Codec, class Spec>
  requires std::is_same_v<std::remove_const_t<Spec>, ProfileSpec>
void visit(Codec& codec, Spec& s) {
  codec(s.nvml_profile, s.id, s.name, s.compute_slices, s.memory_slices, s.max_instances, s.memory_mib, s.sm, s.copy,
        s.decoder, s.encoder, s.jpeg, s.ofa, s.me, s.me_all, s.no_me, s.gfx, s.create_ms, s.destroy_ms, s.size,
        s.starts, s.driver_order, s.compute);
}

template <class Codec, class Spec>
  requires std::is_same_v<std::remove_const_t<Spec>, VgpuTypeSpec>
void visit(Codec& codec, Spec& s) {
  codec(s.id, s.name, s.frame_buffer_mib, s.max_instances, s.profile_id);
}

template <class Codec, class Spec>
  requires std::is_same_v<std::remove_const_t<Spec>, FirmwareSpec>
void visit(Codec& codec, Spec& s) {
  codec(s.vbios, s.part_number, s.inforom_image, s.inforom_oem, s.inforom_ecc);
}

template <class Codec, class Spec>
  requires std::is_same_v<std::remove_const_t<Spec>, GpuSpec>
void visit(Codec& codec, Spec& s) {
  codec(s.product, s.uuid, s.pdi, s.chip_id, s.serial, s.pci_bus_id, s.pci_device_id, s.pci_subsystem_id, s.minor,
        s.memory_mib, s.units, s.compute_slices, s.memory_slices, s.mode_change_needs_reset, s.mode_survives_reboot,
        s.mirrored, s.mig_enabled, s.reset_group, s.sm, s.power_limit_mw, s.least_power_mw, s.idle_clock_mhz,
        s.boost_clock_mhz, s.memory_clock_mhz, s.application_clock_mhz, s.video_clock_mhz, s.memory_bus_bits,
        s.firmware, s.compute_capability_major, s.compute_capability_minor, s.architecture, s.bar1_mib, s.nvlinks,
        s.profiles, s.vgpu_types);
}

template <class Codec, class Spec>
  requires std::is_same_v<std::remove_const_t<Spec>, NodeSpec>
void visit(Codec& codec, Spec& s) {
  codec(s.name, s.type, s.driver_version, s.cuda_version, s.vgpu_host, s.files, s.gpus);
}

class Encoder {
 public:
  std::string bytes;

  template <class... Fields>
  void operator()(const Fields&... fields) {
    (put(fields), ...);
  }

 private:
  template <class T>
  void put(const T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    } else {
      visit(*this, value);
    }
  }
  void put(const std::string& text) {
    put(static_cast<std::uint32_t>(text.size()));
    bytes += text;
  }
  template <class T>
  void put(const std::vector<T>& items) {
    put(static_cast<std::uint32_t>(items.size()));
    for (const T& item : items) put(item);
  }
};

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : bytes_(bytes) {}

  template <class... Fields>
  void operator()(Fields&... fields) {
    (get(fields), ...);
  }
  bool complete() const { return good_ && bytes_.empty(); }

 private:
  template <class T>
  void get(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      std::uint8_t byte = 0;
      get(byte);
      value = byte != 0;
    } else if constexpr (std::is_arithmetic_v<T>) {
      if (bytes_.size() < sizeof value) return fail_here();
      std::memcpy(&value, bytes_.data(), sizeof value);
      bytes_.remove_prefix(sizeof value);
    } else {
      visit(*this, value);
    }
  }
  void get(std::string& text) {
    std::uint32_t size = 0;
    get(size);
    if (size > bytes_.size()) return fail_here();
    text = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
  }
  template <class T>
  void get(std::vector<T>& items) {
    std::uint32_t count = 0;
    get(count);
    if (count > bytes_.size()) return fail_here();  // every item takes a byte or more
    items.reserve(count);
    for (std::uint32_t i = 0; i < count && good_; ++i) get(items.emplace_back());
  }
  void fail_here() {
    good_ = false;
    bytes_ = {};
  }

  std::string_view bytes_;
  bool good_ = true;
};

}  // namespace

std::string encode(const NodeSpec& spec) {
  Encoder encoder;
  visit(encoder, spec);
  return std::move(encoder.bytes);
}

Result<NodeSpec> decode(std::string_view bytes) {
  NodeSpec spec;
  Decoder decoder(bytes);
  visit(decoder, spec);
  if (!decoder.complete()) return fail(ErrorCode::invalid, "the description of the node in the state file is damaged");
  return spec;
}

std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  while (bytes.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    hash = (hash ^ word) * 0x100000001b3;
    hash ^= hash >> 29;
    bytes.remove_prefix(8);
  }
  for (const char c : bytes) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace partita::emulator
