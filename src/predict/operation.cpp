#include "predict/operation.h"

namespace partita::predict {

Totals totals(const std::vector<Operation>& operations) {
  Totals out;
  for (const Operation& operation : operations) {
    out.macs += operation.macs();
    out.parameters += operation.parameter_elements;
    out.operations += 1;
  }
  return out;
}

}  // namespace partita::predict
