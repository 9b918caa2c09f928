// The ledger's tables, as numbered migrations: never change one that was released, add the next.
#pragma once

#include <array>
#include <string_view>

namespace partita::node {

// profile and compute_profile are NVML's numbers, starts are in placement units (compute: compute slices).
inline constexpr std::array<std::string_view, 1> kMigrations = {R"sql(
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
)sql"};

}  // namespace partita::node
