// Answers drawn for people. Each takes an answer and a look and gives the text: no input, no decisions.
#pragma once

#include <string>
#include <vector>

#include "api/node.h"
#include "catalog/catalog.h"
#include "cli/draw/bar.h"
#include "cli/draw/terminal.h"

namespace partita::cli {

// Nodes of up to two GPUs, and all with `detailed`, show the ids, UUIDs and processes of each instance. `gpu_count` is
// the node's, of which the answer may hold a selection.
std::string draw_status(const Look& look, const api::StatusAnswer& answer, bool detailed, std::size_t gpu_count);
std::string draw_plan(const Look& look, const api::NodePlanAnswer& answer);
std::string draw_apply(const Look& look, const api::ApplyAnswer& answer);
std::string draw_differences(const Look& look, const api::AssertAnswer& answer);
std::string draw_findings(const Look& look, const api::DoctorAnswer& answer);
std::string draw_boards(const Look& look, const std::vector<std::shared_ptr<const catalog::Board>>& boards);
std::string draw_board(const Look& look, const catalog::Board& board);
std::string draw_warnings(const Look& look, const std::vector<std::string>& warnings,
                          std::string_view label = "warning");

// Parts that several drawings share.

struct Holding {  // how an instance is held, for its cell and its line
  Tone tone = Tone::idle;
  std::string mark;                // one column: "●", "*" or " "
  std::vector<std::string> brief;  // wordings, longest first: "python 4711", "python"; empty when idle
  std::string whole;               // "pid 4711 (python) 2.00 GiB, lease alice-train"
};
Holding holding_of(const Look& look, const layout::Gpu& gpu, const layout::GpuInstance& instance);

// The name of a profile that fits `columns`: "1g.10gb+me", else "1g+me".
std::string name_that_fits(const std::string& name, int columns);
std::string profile_name(const catalog::Board* board, int profile);
// The cells of a GPU's instances for a bar with units of `wide` columns: profile, id and holder as far as they fit in
// one line, or id and holder in the second.
enum class CellLines { one, two };
std::vector<BarCell> instance_cells(const Look& look, const layout::Gpu& gpu, int wide, CellLines lines);
// Whether one line is enough to show every holder.
bool holders_fit(const Look& look, const layout::Gpu& gpu, int wide);
// One header and one bar line per GPU.
std::string draw_gpu_briefly(const Look& look, const layout::Gpu& gpu);
std::string draw_legend(const Look& look, const std::vector<layout::Gpu>& gpus);
// "GPU 3" for an index known by UUID, or the UUID.
std::string gpu_label(const layout::NodeState& node, const std::string& uuid);

}  // namespace partita::cli
