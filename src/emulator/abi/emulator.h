// What the emulated library offers besides NVML, for tests and tools that know they run on it.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

// Version of Partita that the library is from, "0.1.0".
const char* partita_emulator_version(void);

// How often readers of this process had to start again because a writer was faster; 0 before nvmlInit.
unsigned long long partita_emulator_reader_retries(void);

// Why the last nvmlInit of this process failed, in words ("" when it did not); NVML_ERROR_INSUFFICIENT_SIZE (7) when
// `length` is too short.
int partita_emulator_last_error(char* text, unsigned length);

// The functions of NVML's interface that the library exports, sorted by name; `implemented` is 0 for those that answer
// NOT_SUPPORTED to whoever asks. Returns how many; `functions` may be NULL.
struct partita_emulator_function {
  const char* name;
  int implemented;
};
unsigned partita_emulator_functions(const struct partita_emulator_function** functions);

// Version of NVIDIA's interface that the library follows, "13.5.37".
const char* partita_emulator_interface(void);

#ifdef __cplusplus
}
#endif
