#include "node/context.h"

namespace partita::node {

Result<layout::NodeState> read_node(Context& context) {
  layout::NodeState state = TRY(context.driver.state());
  std::vector<OwnedInstance> owned = TRY(context.ledger.owned(context.epoch));
  TRY_VOID(context.ledger.disown(stale_marks(state, owned)));
  set_pins(state, owned, {.adopt = context.adopt, .refused = context.refused, .leased = context.leased});
  return state;
}

}  // namespace partita::node
