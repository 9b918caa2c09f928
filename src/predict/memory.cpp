#include "predict/memory.h"

namespace partita::predict {

MemoryTerms memory_terms(const Workload& workload, const Settings& settings) {
  constexpr double kMib = 1024.0 * 1024.0;
  bool training = settings.mode == Mode::training;
  double convolution_macs = 0, other_macs = 0;
  MemoryTerms terms;
  for (const Operation& op : workload.operations) {
    terms.convolutions = terms.convolutions || op.kind == OperationKind::convolution;
    (op.kind == OperationKind::convolution ? convolution_macs : other_macs) += op.macs();
  }
  double bytes = bytes_per_element(convolution_macs > other_macs ? settings.convolution : settings.matmul);
  // Training keeps 32 bit parameters whatever the precision of the products.
  terms.parameters_mib = workload.parameters * (training ? 4 : bytes) / kMib;
  terms.activations_mib = (training ? workload.saved_elements : workload.peak_live_elements) * bytes / kMib;
  // Fewer than Adam: its moments, and the buffers that it needs while it runs.
  if (settings.optimizer == Optimizer::sgd) terms.optimizer_copies = -3;
  if (settings.optimizer == Optimizer::sgd_momentum) terms.optimizer_copies = -2;
  return terms;
}

double memory_mib(const Constants& constants, const Host& host, const Workload& workload, const Settings& settings,
                  double batch, double multiprocessors) {
  MemoryTerms terms = memory_terms(workload, settings);
  double context =
      constants[Key::context_mib] + host.context_mib + constants[Key::context_mib_per_sm] * multiprocessors;
  if (terms.convolutions) context += constants[Key::convolution_context_mib];
  double one = 0;
  if (settings.mode == Mode::training) {
    one = context + (constants[Key::training_parameter_copies] + terms.optimizer_copies) * terms.parameters_mib +
          constants[Key::training_saved] * batch * terms.activations_mib;
  } else {
    one = context + terms.parameters_mib + constants[Key::inference_live] * batch * terms.activations_mib;
  }
  return one * settings.processes;
}

Fit fit_of(double memory, double capacity) {
  if (memory < 0.9 * capacity) return Fit::fits;
  return memory > 1.1 * capacity ? Fit::does_not_fit : Fit::uncertain;
}

}  // namespace partita::predict
