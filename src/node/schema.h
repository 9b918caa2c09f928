// The ledger's tables, as numbered migrations: never change one that was released, add the next.
#pragma once

#include <array>
#include <string_view>

namespace partita::node {

// profile and compute_profile are NVML's numbers, starts are in placement units (compute: compute slices).
inline constexpr std::array<std::string_view, 3> kMigrations = {R"sql(
CREATE TABLE ownership (
  gpu TEXT NOT NULL,
  gpu_instance INTEGER NOT NULL,
  profile INTEGER NOT NULL,
  start INTEGER NOT NULL,
  boot_id TEXT NOT NULL,
  driver_load TEXT NOT NULL,
  generation INTEGER NOT NULL,
  PRIMARY KEY (gpu, gpu_instance)
);
CREATE TABLE operation (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  state TEXT NOT NULL CHECK (state IN ('open', 'done', 'rolled_back')),
  forward INTEGER NOT NULL,
  skip_reset INTEGER NOT NULL,
  boot_id TEXT NOT NULL,
  driver_load TEXT NOT NULL,
  pid INTEGER NOT NULL,
  command TEXT NOT NULL,
  begun_ms INTEGER NOT NULL,
  ended_ms INTEGER
);
CREATE INDEX operation_open ON operation (state) WHERE state = 'open';
CREATE TABLE operation_gpu (
  operation INTEGER NOT NULL REFERENCES operation ON DELETE CASCADE,
  gpu TEXT NOT NULL,
  old_mode INTEGER NOT NULL,
  new_mode INTEGER NOT NULL,
  new_instances INTEGER NOT NULL,  -- 0: only the mode counts
  PRIMARY KEY (operation, gpu)
);
CREATE TABLE operation_instance (
  operation INTEGER NOT NULL,
  gpu TEXT NOT NULL,
  side TEXT NOT NULL CHECK (side IN ('old', 'new')),
  profile INTEGER NOT NULL,
  start INTEGER NOT NULL,
  foreign_made INTEGER NOT NULL,
  compute_profile INTEGER,  -- one row per compute instance; null: a bare GPU instance
  compute_start INTEGER,
  FOREIGN KEY (operation, gpu) REFERENCES operation_gpu ON DELETE CASCADE
);
CREATE INDEX operation_instance_of ON operation_instance (operation, gpu);
CREATE TABLE operation_step (
  operation INTEGER NOT NULL REFERENCES operation ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  gpu TEXT NOT NULL,
  kind TEXT NOT NULL,
  enable INTEGER NOT NULL,
  profile INTEGER NOT NULL,
  start INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('planned', 'doing', 'done')),
  PRIMARY KEY (operation, ordinal)
);
)sql",
                                                                R"sql(
-- Live leases and the latest ended ones. Lists (compute, groups, cause_details) have one entry per line.
CREATE TABLE lease (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  bundle INTEGER NOT NULL,  -- id of the first lease of one request
  name TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('waiting', 'cutting', 'granting', 'active', 'parked', 'releasing', 'ended')),
  told INTEGER NOT NULL,    -- its caller knows of it
  holder_kind TEXT NOT NULL,
  holder_uid INTEGER NOT NULL,
  holder_user TEXT NOT NULL,
  holder_id TEXT NOT NULL,
  holder_pid INTEGER,
  holder_start_time INTEGER,
  holder_groups TEXT NOT NULL,
  profile TEXT NOT NULL,
  memory_bytes INTEGER,
  sms INTEGER,
  whole_gpu INTEGER NOT NULL,
  bare INTEGER NOT NULL,
  compute TEXT NOT NULL,
  gpu TEXT,
  start INTEGER,
  board TEXT,
  exclusive_gpu INTEGER NOT NULL,
  same_gpu_as TEXT,
  priority TEXT NOT NULL,
  quota_slices INTEGER NOT NULL,
  quota_bytes INTEGER NOT NULL,
  asked_ms INTEGER NOT NULL,
  duration_ms INTEGER,
  granted_ms INTEGER,
  expires_ms INTEGER,
  ended_ms INTEGER,
  warned INTEGER NOT NULL,
  ended_number INTEGER,     -- the n-th to end
  cause TEXT NOT NULL,
  cause_details TEXT NOT NULL,
  recut INTEGER NOT NULL,
  host_millicpus INTEGER,
  host_memory_bytes INTEGER,
  place_gpu TEXT,           -- UUID; null: it has no partition
  place_whole INTEGER,
  place_profile INTEGER,    -- NVML's number
  place_start INTEGER,
  place_compute TEXT        -- NVML's number and start of each compute instance: "0 2", one per line
);
CREATE UNIQUE INDEX lease_live ON lease (name) WHERE ended_number IS NULL;
CREATE UNIQUE INDEX lease_ended ON lease (ended_number) WHERE ended_number IS NOT NULL;
CREATE TABLE lease_label (
  lease INTEGER NOT NULL REFERENCES lease ON DELETE CASCADE,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (lease, key)
) WITHOUT ROWID;
CREATE TABLE service (   -- whose turn it was last
  user TEXT PRIMARY KEY,
  number INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE event (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  at_ms INTEGER NOT NULL,
  kind TEXT NOT NULL,
  lease TEXT NOT NULL,
  text TEXT NOT NULL
);
CREATE TABLE conduct (   -- one row: whether permissions, files and groups were as the leases say when last looked at
  one INTEGER PRIMARY KEY CHECK (one = 1),
  clean INTEGER NOT NULL,
  boot_id TEXT NOT NULL,
  driver_load TEXT NOT NULL
);
)sql",
                                                                R"sql(
CREATE TABLE asked (   -- what was asked with a key: asked again, the same leases are answered
  key TEXT PRIMARY KEY,
  text TEXT NOT NULL,
  first_lease INTEGER NOT NULL,  -- ids of one request follow each other
  count INTEGER NOT NULL,
  at_ms INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX asked_at ON asked (at_ms);
CREATE INDEX asked_lease ON asked (first_lease);
)sql"};

}  // namespace partita::node
