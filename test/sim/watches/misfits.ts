import type { InstanceRow } from '#libs/domain/instance';

/** The fields of `row` that its state should have and lack, or the reverse; `Instance` as a check at run time. */
export function misfits(row: InstanceRow): string[] {
  const { has, lacks } = FIELDS[row.state];
  const missing = has.filter((field) => row[field] === undefined).map((field) => `no ${field}`);
  const extra = lacks.filter((field) => row[field] !== undefined).map((field) => `a ${field}`);
  return [...missing, ...extra];
}

type Field = 'host' | 'claimToken' | 'waiting' | 'migration';

interface Fields {
  readonly has: readonly Field[];
  readonly lacks: readonly Field[];
}

const UNPLACED: Fields = { has: [], lacks: ['host', 'waiting', 'migration'] };
const DISPLACED: Fields = { has: ['host'], lacks: ['waiting', 'migration'] };
const BUILT: Fields = { has: ['host'], lacks: ['waiting'] };
const MOVING: Fields = { has: ['host', 'migration'], lacks: ['waiting'] };
const ENDING: Fields = { has: [], lacks: ['waiting'] };

const FIELDS: Readonly<Record<InstanceRow['state'], Fields>> = {
  scheduling: UNPLACED,
  pending: { has: ['waiting'], lacks: ['host', 'migration'] },
  building: { has: ['host', 'claimToken'], lacks: ['waiting', 'migration'] },
  active: BUILT,
  unknown: BUILT,
  stopping: BUILT,
  stopped: BUILT,
  starting: BUILT,
  rebuilding: DISPLACED,
  preempting: DISPLACED,
  shelving: DISPLACED,
  shelved_offloaded: UNPLACED,
  unshelving: UNPLACED,
  resize: MOVING,
  migrating: MOVING,
  verify_resize: MOVING,
  revert_resize: MOVING,
  undoing: ENDING,
  error: ENDING,
  deleting: ENDING,
  deleted: ENDING,
};
