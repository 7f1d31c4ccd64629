import type { HostPosition, MissedReport } from './host-position';
import type { Migration } from './moves/migration';
import type { Admission, Waiting } from './queueing/admission';

/**
 * The states of an instance. The resting states are `active`, `stopped`, `shelved_offloaded`, `error` and `deleted`;
 * `unknown` means that its host is silent. A `stopped` instance keeps its host and its claim. A `pending` one holds
 * nothing and waits for capacity; a `preempting` one gives way to another and becomes `pending` again.
 */
export type InstanceState =
  | 'scheduling'
  | 'pending'
  | 'building'
  | 'active'
  | 'unknown'
  | 'stopping'
  | 'stopped'
  | 'starting'
  | 'rebuilding'
  | 'undoing'
  | 'preempting'
  | 'shelving'
  | 'shelved_offloaded'
  | 'unshelving'
  | 'resize'
  | 'verify_resize'
  | 'revert_resize'
  | 'migrating'
  | 'error'
  | 'deleting'
  | 'deleted';

/** A state in Nova's spelling, which people read and type: `ACTIVE`, `VERIFY_RESIZE`. */
export type StateName = Uppercase<InstanceState>;

export function nameOfState(state: InstanceState): StateName {
  return state.toUpperCase() as StateName;
}

/** The power state, in Nova's words: running, or kept on its host without running. */
export type PowerState = 'running' | 'shutdown';

/**
 * The lifecycle: from each state, the states that the next version of a record may have. A retry on an alternate stays
 * in `building`, a claim that is made again in `active`. A `scheduling` instance is found `active` after the store went
 * back to a time before its build.
 *
 * ```
 *                            unknown
 *                              ▲ ▼
 *   scheduling ──▶ building ──▶ active ──▶ deleting ──▶ deleted
 *        │             │           │          ▲
 *        └─────────────┴─▶ error ◀─┘          │
 *        │             │     │                │
 *        └─────────────┴─────┴────────────────┘
 * ```
 *
 * While it is on its host; each of these also goes to `error` and `deleting`, and a report of the host alone moves it
 * between `active` and `stopped`:
 *
 * ```
 *   active, unknown ──▶ stopping ──▶ stopped ──▶ starting ──▶ active
 *   building, each of these ──▶ rebuilding ──▶ building, then as it was; or back, when no other host takes it
 *   each of these ──▶ preempting ──▶ pending
 *   building, rebuilding, active, ... ──▶ undoing ──▶ error: its gang has failed
 *   active, unknown, stopping, stopped, starting, revert_resize ──▶ pending: it is lost, and its gang restores it
 *   building ──▶ pending: it was evacuated, its new host has died, and there is no other
 *   active, stopped ──▶ resize ──▶ verify_resize ──▶ as it was (resize, cold migration)
 *   active ──▶ migrating ──▶ active                         (live migration)
 *   resize, verify_resize, migrating ──▶ revert_resize ──▶ as it was, or stopped when it could not be started
 *   active, stopped ──▶ shelving ──▶ shelved_offloaded ──▶ unshelving ──▶ building, or back when no host takes it
 * ```
 *
 * Without capacity:
 *
 * ```
 *   scheduling ──▶ pending ──▶ building, or error when its time to wait is over
 * ```
 */
const TRANSITIONS: Readonly<Record<InstanceState, readonly InstanceState[]>> = {
  scheduling: ['pending', 'building', 'active', 'stopped', 'error', 'deleting'],
  pending: ['pending', 'building', 'active', 'stopped', 'error', 'deleting'],
  building: [
    'building',
    'pending',
    'active',
    'stopping',
    'stopped',
    'rebuilding',
    'shelved_offloaded',
    'preempting',
    'undoing',
    'error',
    'deleting',
  ],
  active: [
    'active',
    'pending',
    'unknown',
    'stopping',
    'stopped',
    'rebuilding',
    'shelving',
    'resize',
    'migrating',
    'preempting',
    'undoing',
    'error',
    'deleting',
  ],
  unknown: [
    'unknown',
    'pending',
    'active',
    'stopping',
    'stopped',
    'rebuilding',
    'preempting',
    'undoing',
    'error',
    'deleting',
  ],
  stopping: ['stopping', 'pending', 'stopped', 'rebuilding', 'preempting', 'undoing', 'error', 'deleting'],
  stopped: [
    'stopped',
    'pending',
    'starting',
    'active',
    'rebuilding',
    'shelving',
    'resize',
    'preempting',
    'undoing',
    'error',
    'deleting',
  ],
  starting: ['starting', 'pending', 'active', 'stopped', 'rebuilding', 'preempting', 'undoing', 'error', 'deleting'],
  rebuilding: ['unknown', 'building', 'active', 'stopping', 'stopped', 'starting', 'undoing', 'deleting'],
  shelving: ['shelving', 'shelved_offloaded', 'undoing', 'deleting'],
  shelved_offloaded: ['active', 'stopped', 'unshelving', 'error', 'deleting'],
  unshelving: ['shelved_offloaded', 'building', 'active', 'stopped', 'error', 'deleting'],
  resize: [
    'resize',
    'verify_resize',
    'revert_resize',
    'rebuilding',
    'active',
    'stopped',
    'undoing',
    'error',
    'deleting',
  ],
  migrating: ['migrating', 'revert_resize', 'rebuilding', 'active', 'stopped', 'undoing', 'error', 'deleting'],
  verify_resize: ['verify_resize', 'revert_resize', 'rebuilding', 'active', 'stopped', 'undoing', 'error', 'deleting'],
  revert_resize: [
    'revert_resize',
    'pending',
    'resize',
    'migrating',
    'verify_resize',
    'rebuilding',
    'unknown',
    'active',
    'stopped',
    'undoing',
    'error',
    'deleting',
  ],
  preempting: ['pending', 'active', 'stopped', 'undoing', 'deleting'],
  undoing: ['error', 'deleting'],
  error: ['error', 'deleting'],
  deleting: ['deleted'],
  deleted: [],
};

/**
 * The first states of a record: a request is `scheduling`, or `pending` where others already wait; an adopted instance
 * is on its host.
 */
export const FIRST_STATES: readonly InstanceState[] = ['scheduling', 'pending', 'active', 'stopped'];

/**
 * Time limit of `scheduling` while no scheduler answers; then the instance ends in ERROR. Longer than outages, since a
 * client still waits. Once a scheduler answers, the instance is placed, waits for capacity or ends at once.
 */
export const MAX_SCHEDULING_MS = 86_400_000;

/** The fault after that time limit. */
export const NOT_SCHEDULED = {
  reason: 'not_scheduled',
  message: `no scheduler has answered for it in ${MAX_SCHEDULING_MS / 3_600_000} hours`,
} as const;

/** The states of a built instance that holds its claim on its host. */
export const BUILT_STATES: readonly InstanceState[] = ['active', 'unknown', 'stopping', 'stopped', 'starting'];

export const INSTANCE_STATES = Object.keys(TRANSITIONS) as readonly InstanceState[];

/** True when the lifecycle allows the transition. */
export function canTransition(from: InstanceState, to: InstanceState): boolean {
  return TRANSITIONS[from].includes(to);
}

/** One try to build an instance on a host. */
export interface Attempt {
  readonly host: string;
  /** 1 for the first host; identifies late answers of earlier attempts. */
  readonly number: number;
  readonly outcome:
    | 'building'
    | 'active'
    | 'failed'
    | 'refused'
    | 'timed_out'
    | 'not_claimed'
    | 'evacuated'
    | 'rolled_back'
    | 'preempted'
    /** Its host gave the instance up; its copy there is destroyed. */
    | 'shelved'
    /** The next attempt runs the instance; the copy of this one is destroyed. */
    | 'moved'
    /** An earlier attempt runs the instance; the copy of this one is destroyed. */
    | 'reverted';
  /** Why it failed; for `moved` and `reverted`, the kind of the move. */
  readonly reason: string;
  readonly startedAtMs: number;
  readonly endedAtMs: number | undefined;
  /** The host's epoch by which it was ordered once more, after it had refused an order of an earlier one. */
  readonly orderedEpoch?: number | undefined;
}

/**
 * The record of an instance as stored, by a cell or by the top of a fleet: desired state and attempts. `version` rises
 * with each write and guards the next. In a cell it is an {@link Instance}.
 */
export interface InstanceRow {
  readonly uuid: string;
  readonly requestId: string;
  readonly name: string;
  readonly projectId: string;
  readonly userId: string;
  readonly state: InstanceState;
  readonly host: string | undefined;
  /** Token of the instance's present claim; undefined without one. */
  readonly claimToken: number | undefined;
  readonly attempts: readonly Attempt[];
  /**
   * Code and sentence: why it is in `error`; in `stopped`, why it could not be started; in `pending`, the lacking
   * resources; after an end that its client did not request, the cause; else why it could not be moved.
   */
  readonly fault: { readonly reason: string; readonly message: string } | undefined;
  /** The client's request spec in wire form, so that any conductor can continue. */
  readonly requestSpec: Uint8Array;
  /** The remaining alternates in wire form. */
  readonly alternates: Uint8Array;
  /** The sealed allocation request of its claim, to claim again after the store lost it. Empty when unknown. */
  readonly allocationRequest: Uint8Array;
  /** The host's last statement that the instance runs, or is kept, there. Earlier observations prove nothing. */
  readonly activeAt: HostPosition | undefined;
  /** The host's last report, if the instance was missing in it: a doubt. */
  readonly missingIn: MissedReport | undefined;
  /** The current move, until the source is gone. */
  readonly migration?: Migration | undefined;
  /** When a conductor must look at it again, whichever worked on it before; undefined in resting states. */
  readonly dueAtMs: number | undefined;
  /** Set when the request is a gang. */
  readonly gang?: Gang | undefined;
  /** Undefined when the request had none. */
  readonly admission?: Admission | undefined;
  /** Set while it is `pending`. */
  readonly waiting?: Waiting | undefined;
  /** When its time limit ends it, counted from the first time it was ACTIVE. */
  readonly endsAtMs?: number | undefined;
  /**
   * Its state before an evacuation, restoration, unshelving or move of a stopped instance, which it returns to (Nova's
   * `old_vm_state`). Undefined for moves of running instances.
   */
  readonly formerState?: InstanceState | undefined;
  /** The last call of a client that is on record: a copy of it is answered, not refused. Undefined where it named no version. */
  readonly lastCall?: string | undefined;
  /** Set at the top of a fleet only: the cell of the instance. */
  readonly cell?: CellOfInstance | undefined;
  readonly version: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** The record of an instance in its cell, by state: a field stands where a state always has it, or never. */
export type Instance = Unplaced | Pending | Building | Displaced | Built | Moving | Ending;

/** On no host. What was shelved remembers the token of its last claim. */
export interface Unplaced extends InstanceRow {
  readonly state: 'scheduling' | 'shelved_offloaded' | 'unshelving';
  readonly host: undefined;
  readonly waiting?: undefined;
  readonly migration?: undefined;
}

/** Waits for capacity, and holds nothing. */
export interface Pending extends InstanceRow {
  readonly state: 'pending';
  readonly host: undefined;
  readonly waiting: Waiting;
  readonly migration?: undefined;
}

/** On its host: built or being built there, or to be given up by it. */
interface Placed extends InstanceRow {
  readonly host: string;
  readonly waiting?: undefined;
}

/** Between two attempts `host` is that of the last. */
export interface Building extends Placed {
  readonly state: 'building';
  readonly claimToken: number;
  readonly migration?: undefined;
}

/** To be given up by its host, for another host, another instance, or none. */
export interface Displaced extends Placed {
  readonly state: 'rebuilding' | 'preempting' | 'shelving';
  readonly migration?: undefined;
}

/** After a move it keeps `migration` until the source is gone. */
export interface Built extends Placed {
  readonly state: 'active' | 'unknown' | 'stopping' | 'stopped' | 'starting';
}

/** On a move. What can't be given back to its source leaves it without a claim. */
export interface Moving extends Placed {
  readonly state: 'resize' | 'migrating' | 'verify_resize' | 'revert_resize';
  readonly migration: Migration;
}

/** At its end, or on the way there. */
export interface Ending extends InstanceRow {
  readonly state: 'undoing' | 'error' | 'deleting' | 'deleted';
  readonly waiting?: undefined;
}

/** The cell that the top placed an instance in, and the top's progress with it. */
export interface CellOfInstance {
  readonly name: string;
  /** For a group that spreads over zones: the zone it counts in, where the cell builds it. */
  readonly zone?: string | undefined;
  /** Version of the cell's own record in its last event; 0 before the first. */
  readonly version: number;
  /** True once the cell's broker has the build request. Before that, the instance stays assigned to this cell. */
  readonly isHandedOver: boolean;
  /** True while the top tells the cell to terminate it, until the cell confirms. */
  readonly isEnding: boolean;
  /** The fault to end with in `error`, when the client did not ask for the end. */
  readonly endedBy?: InstanceRow['fault'] | undefined;
  /** Id of its request in the cell, when it differs from the record's: it arrived by a move. */
  readonly requestId?: string | undefined;
  readonly move?: CellMove | undefined;
  /** The cell that it left, or where a move to it was undone; `isGone` once nothing is left there. */
  readonly left?: { readonly name: string; readonly isGone: boolean } | undefined;
}

/**
 * A cold migration to another cell: select there, stop here, build there, and terminate here once it is ACTIVE there.
 * `undoing` when that fails: terminate there, start here. A STOPPED instance is stopped there before it is terminated
 * here.
 */
export interface CellMove {
  /** Id of its build request in the target cell. */
  readonly id: string;
  readonly to: string;
  /**
   * For a member of a group that spreads over zones: the zone to count in there. It counts in the old one until it
   * arrives.
   */
  readonly zone?: string | undefined;
  /** True once it is undone and can't count there any more. */
  readonly isKept?: boolean | undefined;
  /** True when it was STOPPED, and shall be so there. */
  readonly staysStopped?: boolean | undefined;
  readonly phase: 'selecting' | 'stopping' | 'building' | 'undoing';
  /** Its state in the source cell and, once heard of, in the target cell. */
  readonly source: InstanceState;
  readonly target?: InstanceState | undefined;
  /** Version of the target cell's record in its last event; 0 before the first. */
  readonly version: number;
  /** True when its build request may be there. */
  readonly isHandedOver: boolean;
  readonly startedAtMs: number;
  /** Why it is undone. */
  readonly fault?: InstanceRow['fault'] | undefined;
}

/** The gang rule of a request: at least `minCount` of `count` become ACTIVE, or none runs. */
export interface Gang {
  readonly minCount: number;
  readonly count: number;
  /** Where a gang has members of several specs: the number of this member's kind, whose counts these are. */
  readonly kind?: number | undefined;
  /** Undefined: after its members were ACTIVE, each goes its own way. */
  readonly onLoss?: OnLoss | undefined;
}

/**
 * Policies of a gang that loses a member after it was ACTIVE: its host says that it is gone, or is dead.
 *
 * - `restore`  the member is built again, on another host if need be; the gang ends when that fails and leaves it below its minimum
 * - `end`      the gang ends once it is below its minimum
 */
export const ON_LOSS = ['restore', 'end'] as const;
export type OnLoss = (typeof ON_LOSS)[number];

/** Time that an instance with a time limit has left, all of it before it is first ACTIVE; undefined: it has no limit. */
export function timeLeftOf(
  { endsAtMs, admission }: Pick<InstanceRow, 'endsAtMs' | 'admission'>,
  nowMs: number,
): number | undefined {
  if (endsAtMs !== undefined) return Math.max(1, endsAtMs - nowMs);
  return admission?.timeLimitMs || undefined;
}

/** The number of the present attempt; 0 before the first. */
export function attemptNumber({ attempts }: Pick<InstanceRow, 'attempts'>): number {
  return attempts.at(-1)?.number ?? 0;
}

/** True when it was ACTIVE on some host, whatever happened since. */
export function hasBeenActive({ attempts }: Pick<InstanceRow, 'attempts'>): boolean {
  return attempts.some(({ outcome }) => BEEN_ACTIVE.includes(outcome));
}

/** A gang member is never preempted before it is ACTIVE. */
const BEEN_ACTIVE: readonly Attempt['outcome'][] = ['active', 'evacuated', 'preempted', 'shelved', 'moved', 'reverted'];

/** The attempts of its present build, and the outcome of the one before, on a host that it was built on. */
export function presentBuild({ attempts }: Pick<InstanceRow, 'attempts'>) {
  const last = attempts.findLastIndex(({ outcome }) => OF_EARLIER_BUILDS.includes(outcome));
  return { attempts: attempts.slice(last + 1), follows: attempts[last]?.outcome };
}

const OF_EARLIER_BUILDS: readonly Attempt['outcome'][] = ['evacuated', 'shelved', 'preempted'];

/** The power state to build or move an instance with: its former one, if it was built before. */
export function powerStateToBuild({ formerState }: Pick<InstanceRow, 'formerState'>): PowerState {
  return formerState === 'stopping' || formerState === 'stopped' ? 'shutdown' : 'running';
}

/** True while it is evacuated from a dead host to another. */
export function isBuiltElsewhere({ state, formerState }: InstanceRow): boolean {
  const isUnshelved = formerState === 'shelved_offloaded';
  return state === 'rebuilding' || (state === 'building' && formerState !== undefined && !isUnshelved);
}

/** True while a host builds the instance: its last attempt has no outcome yet. */
export function isAttemptOpen({ state, attempts }: InstanceRow): boolean {
  return state === 'building' && attempts.at(-1)?.outcome === 'building';
}
