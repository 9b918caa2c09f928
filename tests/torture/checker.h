// Looks at an emulated node while others change it: is what it sees at any moment a state that the driver allows?
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "emulator/engine/engine.h"

namespace partita::torture {

class Checker {
 public:
  explicit Checker(const std::filesystem::path& node);

  // Looks once at every GPU; what is wrong, in words.
  std::vector<std::string> look();
  // Do the files under root/ show the state? For a node that nobody changes now.
  std::vector<std::string> look_at_files() const;

  std::uint64_t looks() const { return looks_; }
  std::uint64_t retries() const { return engine_.reader_retries(); }
  // Most retries of one look at one GPU.
  std::uint64_t most_retries() const { return most_retries_; }

 private:
  void check_gpu(int gpu, const emulator::GpuRecord& record);
  void check_instance(int gpu, const emulator::InstanceRecord& instance);
  void check_compute(const std::string& where, const emulator::GpuSpec& spec, const emulator::InstanceRecord& instance);
  void check_serial(const std::string& where, std::uint32_t serial, const std::string& what);
  void wrong(const std::string& where, const std::string& what) { wrong_.push_back(where + ": " + what); }

  std::filesystem::path node_;
  emulator::Engine engine_;
  std::map<std::uint32_t, std::string> serials_;  // what each belongs to, for ever
  std::vector<std::string> wrong_;
  std::uint64_t looks_ = 0, most_retries_ = 0;
};

}  // namespace partita::torture
