// What was seen on real machines when instances are made without a placement: the outside opinion on the emulator,
// because the planner reads the same board files.
#pragma once

#include <string>
#include <vector>

namespace partita::emulator::test {

inline constexpr int kRefused = -1;  // in place of an id and a start: "Insufficient Resources"

struct Capture {
  const char* what;
  std::vector<std::string> boards;  // what the machine had
  bool mirrored;
  std::vector<int> profiles, ids, starts;
  std::string name() const { return std::string(what) + (mirrored ? ", mirrored" : ""); }
};

inline const std::vector<Capture>& captures() {
  static const std::vector<std::string> a100_40{"a100-sxm4-40gb", "a100-pcie-40gb"};
  static const std::vector<std::string> a100{"a100-sxm4-40gb", "a100-pcie-40gb", "a100-sxm4-80gb", "a100-pcie-80gb"};
  static const std::vector<Capture> rows{
      {"H100 SXM5 80GB",
       {"h100-sxm5-80gb"},
       false,
       {19, 19, 19, 19, 19, 19, 19},
       {13, 11, 12, 7, 8, 9, 10},
       {6, 4, 5, 0, 1, 2, 3}},
      {"H100 PCIe 80GB, seven small ones",
       {"h100-pcie-80gb"},
       true,
       {19, 19, 19, 19, 19, 19, 19},
       {9, 7, 8, 11, 12, 13, 14},
       {6, 4, 5, 0, 1, 2, 3}},
      {"A100 40GB, user guide", a100_40, false, {19, 14, 5}, {13, 5, 1}, {6, 4, 0}},
      {"A100 40GB, large one first", a100_40, false, {9, 19, 14, 19}, {2, 7, 4, 8}, {4, 0, 2, 1}},
      {"A100 40GB, large one first", a100_40, true, {9, 19, 14, 19}, {1, 11, 6, 12}, {4, 0, 2, 1}},
      {"H100 PCIe 80GB", {"h100-pcie-80gb"}, false, {9, 19, 19, 19}, {2, 7, 8, 9}, {4, 0, 1, 2}},
      {"A100, the last one fails", a100, false, {19, 19, 14, 9}, {13, 11, 3, kRefused}, {6, 4, 0, kRefused}},
      {"A100, a middle one first", a100, false, {14, 19, 19, 19, 19, 19}, {5, 13, 7, 8, 9, 10}, {4, 6, 0, 1, 2, 3}},
      {"H100 NVL", {"h100-nvl-94gb"}, true, {9, 15, 19}, {1, 5, 13}, {4, 0, 2}},
      {"GH200 96GB", {"gh200-96gb"}, false, {15, 15, 15}, {5, 3, 4}, {4, 0, 2}},
      {"A100 40GB, descending", a100_40, true, {5, 14, 19}, {2, 3, 9}, {0, 4, 6}},
      {"A100 and H100 80GB", {"a100-sxm4-80gb", "h100-sxm5-80gb"}, true, {9, 9}, {1, 2}, {4, 0}},
  };
  return rows;
}

}  // namespace partita::emulator::test
