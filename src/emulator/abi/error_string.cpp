// The words for NVML's return numbers. The only function that works before nvmlInit.
#include "emulator/abi/nvml_types.h"

extern "C" __attribute__((visibility("default"))) const char* nvmlErrorString(int result) {
  switch (result) {
    case 0:
      return "Success";
    case 1:
      return "Uninitialized";
    case 2:
      return "Invalid Argument";
    case 3:
      return "Not Supported";
    case 4:
      return "Insufficient Permissions";
    case 5:
      return "Already Initialized";
    case 6:
      return "Not Found";
    case 7:
      return "Insufficient Size";
    case 8:
      return "Insufficient External Power";
    case 9:
      return "Driver Not Loaded";
    case 10:
      return "Timeout";
    case 11:
      return "Interrupt Request Issue";
    case 12:
      return "NVML Shared Library Not Found";
    case 13:
      return "Function Not Found";
    case 14:
      return "Corrupted infoROM";
    case 15:
      return "GPU is lost";
    case 16:
      return "GPU requires reset";
    case 17:
      return "GPU access blocked by the operating system";
    case 18:
      return "Driver/library version mismatch";
    case 19:
      return "In use by another client";
    case 20:
      return "Insufficient Memory";
    case 21:
      return "No data";
    case 22:
      return "Requested vGPU operation is not available on target device because ECC is enabled";
    case 23:
      return "Insufficient Resources";
    case 24:
      return "Frequency not supported";
    case 25:
      return "Version mismatch between requested argument and supported";
    case 26:
      return "Requested functionality has been deprecated";
    case 27:
      return "System is not ready for the request";
    case 28:
      return "GPU not found";
    case 29:
      return "Invalid state";
    default:
      return "Unknown Error";
  }
}
