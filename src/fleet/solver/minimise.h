// An integer program by steps that each may end it: its relaxation, the whole numbers near the relaxation's solution,
// and what reduced costs leave of the program. Inside fleet/ only.
#pragma once

#include "fleet/solver/integer_program.h"

namespace partita::fleet {

// As solve(), sooner where the relaxation is nearly whole.
IntegerSolution minimise(const IntegerProgram& program, const WorkLimits& limits, double grain,
                         std::span<const double> start = {});

}  // namespace partita::fleet
