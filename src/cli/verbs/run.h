// The verbs: each parses, calls, draws, and decides nothing. The value is the exit status.
#pragma once

#include "base/error.h"
#include "cli/command_line/parse.h"

namespace partita::cli {

Result<int> run_boards(const Parsed& parsed);
Result<int> run_status(const Parsed& parsed);
Result<int> run_plan(const Parsed& parsed);
Result<int> run_apply(const Parsed& parsed);
Result<int> run_assert(const Parsed& parsed);
Result<int> run_export(const Parsed& parsed);
Result<int> run_checkpoint(const Parsed& parsed);
Result<int> run_restore(const Parsed& parsed);
Result<int> run_generate_config(const Parsed& parsed);
Result<int> run_predict(const Parsed& parsed);
Result<int> run_predict_fit(const Parsed& parsed);
Result<int> run_predict_validate(const Parsed& parsed);
Result<int> run_study(const Parsed& parsed);
Result<int> run_doctor(const Parsed& parsed);
Result<int> run_completion(const Parsed& parsed);
Result<int> run_man(const Parsed& parsed);

Result<int> run_lease(const Parsed& parsed);
Result<int> run_leases(const Parsed& parsed);
Result<int> run_release(const Parsed& parsed);
Result<int> run_renew(const Parsed& parsed);
Result<int> run_resize(const Parsed& parsed);
Result<int> run_park(const Parsed& parsed);
Result<int> run_unpark(const Parsed& parsed);
Result<int> run_run(const Parsed& parsed);
Result<int> run_serve(const Parsed& parsed);
Result<int> run_token(const Parsed& parsed);
Result<int> run_token_create(const Parsed& parsed);
Result<int> run_token_list(const Parsed& parsed);
Result<int> run_token_revoke(const Parsed& parsed);

Result<int> run_emulate(const Parsed& parsed);
Result<int> run_emulate_start(const Parsed& parsed);
Result<int> run_emulate_stop(const Parsed& parsed);
Result<int> run_emulate_list(const Parsed& parsed);
Result<int> run_emulate_types(const Parsed& parsed);
Result<int> run_emulate_coverage(const Parsed& parsed);
Result<int> run_emulate_reboot(const Parsed& parsed);
Result<int> run_emulate_reset(const Parsed& parsed);
Result<int> run_emulate_hold(const Parsed& parsed);
Result<int> run_emulate_fault(const Parsed& parsed);
Result<int> run_emulate_lose(const Parsed& parsed);
Result<int> run_emulate_xid(const Parsed& parsed);
Result<int> run_emulate_advance(const Parsed& parsed);

}  // namespace partita::cli
