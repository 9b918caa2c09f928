// Field values: the same facts as the getters tell, by number. What a board does not have answers NOT_SUPPORTED.
#include <span>

#include "emulator/abi/links.h"
#include "emulator/abi/pcie.h"
#include "emulator/abi/state_words.h"
#include "emulator/engine/behaviour.h"

using namespace partita::emulator::abi;
using namespace partita::emulator;

namespace {

Return put(nvmlFieldValue_t& to, unsigned value) {
  to.valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
  to.value.uiVal = value;
  return kSuccess;
}
Return put_long(nvmlFieldValue_t& to, double value) {
  to.valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
  to.value.ullVal = static_cast<unsigned long long>(value);
  return kSuccess;
}
Return put_signed(nvmlFieldValue_t& to, int value) {
  to.valueType = NVML_VALUE_TYPE_SIGNED_INT;
  to.value.siVal = value;
  return kSuccess;
}
Return none_yet(nvmlFieldValue_t& to) { return put_long(to, 0); }

bool in(unsigned field, unsigned first, unsigned last) { return field >= first && field <= last; }

// Number of the link that a counter of link L0 to L5, or of L6 to L11, is about; the field after L5 is the total.
bool is_link_counter(unsigned field) {
  return in(field, NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L0, NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL) ||
         in(field, NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L6, NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L11) ||
         in(field, NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_L0, NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_TOTAL) ||
         in(field, NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY, NVML_FI_DEV_NVLINK_ERROR_DL_CRC) ||
         in(field, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, NVML_FI_DEV_NVLINK_THROUGHPUT_RAW_RX) ||
         in(field, NVML_FI_DEV_NVLINK_COUNT_XMIT_PACKETS, NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS) ||
         in(field, NVML_FI_DEV_NVLINK_COUNT_EFFECTIVE_ERRORS, NVML_FI_DEV_NVLINK_COUNT_SYMBOL_BER);
}

Return link_field(const Target& target, nvmlFieldValue_t& to) {
  const unsigned links = nvlink_count(target), field = to.fieldId;
  if (field == NVML_FI_DEV_NVLINK_LINK_COUNT) return links == 0 ? Return{kNotSupported} : put(to, links);
  if (links == 0) return kNotSupported;
  if (is_link_counter(field)) return none_yet(to);
  const bool speed = in(field, NVML_FI_DEV_NVLINK_SPEED_MBPS_L0, NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON) ||
                     in(field, NVML_FI_DEV_NVLINK_SPEED_MBPS_L6, NVML_FI_DEV_NVLINK_SPEED_MBPS_L11) ||
                     field == NVML_FI_DEV_NVLINK_GET_SPEED;
  if (speed) return put(to, nvlink_mb_per_s(target.spec));
  switch (field) {
    case NVML_FI_DEV_NVLINK_REMOTE_NVLINK_ID:
      return put(to, to.scopeId);
    case NVML_FI_DEV_NVSWITCH_CONNECTED_LINK_COUNT:
      return put(to, target.spec.reset_group == 0 ? links : 0);
    case NVML_FI_DEV_NVLINK_GET_STATE:
      return to.scopeId < links ? put(to, NVML_NVLINK_STATE_ACTIVE) : Return{kInvalidArgument};
    case NVML_FI_DEV_NVLINK_GET_VERSION:
      return put(to, nvlink_version(target.spec));
    default:
      return kNotSupported;
  }
}

Return memory_error_field(const Target& target, nvmlFieldValue_t& to) {
  if (!has_ecc(target.spec)) return kNotSupported;
  const SettingsRecord settings = target.engine.settings(target.handle.gpu);
  switch (to.fieldId) {
    case NVML_FI_DEV_ECC_CURRENT:
      return put(to, settings.ecc_current);
    case NVML_FI_DEV_ECC_PENDING:
      return put(to, settings.ecc_pending);
    case NVML_FI_DEV_REMAPPED_COR:
    case NVML_FI_DEV_REMAPPED_UNC:
    case NVML_FI_DEV_REMAPPED_PENDING:
    case NVML_FI_DEV_REMAPPED_FAILURE:
      return rows_are_hidden(target) ? Return{kNotSupported} : put(to, 0);
    default:
      return none_yet(to);
  }
}

bool is_memory_error(unsigned field) {
  return in(field, NVML_FI_DEV_ECC_CURRENT, NVML_FI_DEV_ECC_DBE_AGG_CBU) ||
         in(field, NVML_FI_DEV_REMAPPED_COR, NVML_FI_DEV_REMAPPED_FAILURE);
}

// Degrees to the point where the GPU is as warm as it may be; told by Hopper and later.
Return margin_field(const GpuSpec& gpu, nvmlFieldValue_t& to, unsigned degrees) {
  if (gpu.compute_capability_major < 9) return kNotSupported;
  return put_signed(to, static_cast<int>(thermal_limits(gpu).most) - static_cast<int>(degrees));
}

Return power_field(const Target& target, const GpuReadings& now, nvmlFieldValue_t& to) {
  switch (to.fieldId) {
    case NVML_FI_DEV_POWER_AVERAGE:
    case NVML_FI_DEV_POWER_INSTANT:
      return put(to, now.power_mw);
    case NVML_FI_DEV_POWER_MIN_LIMIT:
      return put(to, least_power_mw(target.spec));
    case NVML_FI_DEV_POWER_MAX_LIMIT:
    case NVML_FI_DEV_POWER_DEFAULT_LIMIT:
      return put(to, board_power_mw(target.spec));
    case NVML_FI_DEV_POWER_CURRENT_LIMIT:
    case NVML_FI_DEV_POWER_REQUESTED_LIMIT:
      return put(to, now.power_limit_mw);
    default:
      return put_long(to, static_cast<double>(now.energy_mj));
  }
}

Return other_field(const Target& target, nvmlFieldValue_t& to) {
  const GpuSpec& gpu = target.spec;
  const auto readings = [&] { return target.engine.readings(target.handle.gpu); };
  const auto pcie_bytes = [&](double share) { return readings().sm_total_ms * share * pcie_mb_per_s(gpu) * 1000; };
  switch (to.fieldId) {
    case NVML_FI_DEV_MEMORY_TEMP:
      return put(to, static_cast<unsigned>(readings().memory_degrees));
    case NVML_FI_DEV_GPU_TEMP:
      return put(to, static_cast<unsigned>(readings().degrees));
    case NVML_FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT:
      return margin_field(gpu, to, thermal_limits(gpu).shutdown);
    case NVML_FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT:
      return margin_field(gpu, to, thermal_limits(gpu).slowdown);
    case NVML_FI_DEV_TEMPERATURE_MEM_MAX_TLIMIT:
    case NVML_FI_DEV_TEMPERATURE_GPU_MAX_TLIMIT:
      return margin_field(gpu, to, thermal_limits(gpu).most);
    case NVML_FI_DEV_PCIE_COUNT_TX_BYTES:
      return put_long(to, pcie_bytes(kPcieToHost));
    case NVML_FI_DEV_PCIE_COUNT_RX_BYTES:
      return put_long(to, pcie_bytes(kPcieFromHost));
    case NVML_FI_DEV_IS_RESETLESS_MIG_SUPPORTED:
      return put(to, gpu.units > 0 && !gpu.mode_change_needs_reset ? 1 : 0);
    case NVML_FI_DEV_IS_MIG_MODE_INDEPENDENT_MIG_QUERY_CAPABLE:
      return put(to, 0);  // profile queries are refused while MIG mode is off
    case NVML_FI_DEV_RESET_STATUS:
    case NVML_FI_DEV_DRAIN_AND_RESET_STATUS:
      return put(to, to.fieldId == NVML_FI_DEV_RESET_STATUS ? target.summary.reset_required : 0);
    case NVML_FI_DEV_GET_GPU_RECOVERY_ACTION:
      return put(
          to, target.summary.reset_required != 0 ? NVML_GPU_RECOVERY_ACTION_GPU_RESET : NVML_GPU_RECOVERY_ACTION_NONE);
    default:
      return kNotSupported;
  }
}

bool is_link_field(unsigned field) {
  return is_link_counter(field) || in(field, NVML_FI_DEV_NVLINK_SPEED_MBPS_L0, NVML_FI_DEV_NVLINK_LINK_COUNT) ||
         in(field, NVML_FI_DEV_NVLINK_SPEED_MBPS_L6, NVML_FI_DEV_NVLINK_SPEED_MBPS_L11) ||
         in(field, NVML_FI_DEV_NVLINK_REMOTE_NVLINK_ID, NVML_FI_DEV_NVSWITCH_CONNECTED_LINK_COUNT) ||
         in(field, NVML_FI_DEV_NVLINK_GET_SPEED, NVML_FI_DEV_NVLINK_GET_VERSION);
}

bool is_power_field(unsigned field) {
  return field == NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION ||
         in(field, NVML_FI_DEV_POWER_AVERAGE, NVML_FI_DEV_POWER_REQUESTED_LIMIT);
}

// Counters of times at which the GPU was held back.
bool is_slow_time(unsigned field) {
  return in(field, NVML_FI_DEV_PERF_POLICY_POWER, NVML_FI_DEV_PERF_POLICY_TOTAL_BASE_CLOCKS) ||
         in(field, NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN,
            NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN);
}

bool is_pcie_error(unsigned field) {
  return in(field, NVML_FI_DEV_PCIE_REPLAY_COUNTER, NVML_FI_DEV_PCIE_REPLAY_ROLLOVER_COUNTER) ||
         field == NVML_FI_DEV_PCIE_L0_TO_RECOVERY_COUNTER ||
         in(field, NVML_FI_DEV_PCIE_COUNT_CORRECTABLE_ERRORS, NVML_FI_DEV_PCIE_COUNT_LANE_ERROR);
}

Return field(const Target& target, nvmlFieldValue_t& to) {
  if (to.fieldId == 0 || to.fieldId >= NVML_FI_MAX) return kInvalidArgument;
  if (is_memory_error(to.fieldId)) return memory_error_field(target, to);
  if (is_link_field(to.fieldId)) return link_field(target, to);
  if (is_power_field(to.fieldId)) return power_field(target, target.engine.readings(target.handle.gpu), to);
  if (is_slow_time(to.fieldId)) return none_yet(to);
  if (is_pcie_error(to.fieldId)) return put(to, 0);
  return other_field(target, to);
}

}  // namespace

// Each value carries its own return; the call itself fails only for wrong arguments.
NVML_EXPORT nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t* values) {
  return on_gpu(__func__, device, [&](const Target& target) -> Return {
    if (values == nullptr || count < 1) return kInvalidArgument;
    const long long now = microseconds(target.engine.now());
    for (nvmlFieldValue_t& value : std::span(values, static_cast<std::size_t>(count))) {
      value.timestamp = now;
      value.latencyUsec = 0;
      value.valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
      value.value.ullVal = 0;
      value.nvmlReturn = field(target, value);
    }
    return kSuccess;
  });
}
