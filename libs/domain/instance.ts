import type { HostPosition } from './host-position';
import type { Migration } from './moves/migration';
import type { Admission, Waiting } from './queueing/admission';

/**
 * The states of an instance. It may rest in `active`, `stopped`, `shelved_offloaded`, `error` and `deleted`; it is `unknown`
 * while the host on which it was active is silent. A `stopped` one keeps its host and its claim. A `pending` one holds nothing
 * and waits for capacity, a `preempting` one is to make room for another and then be `pending` again.
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

/** Whether an instance runs or is kept where it does not, in Nova's words. */
export type PowerState = 'running' | 'shutdown';

/**
 * The lifecycle: from each state, the states that the next version of a record may have. A retry on an alternate stays in
 * `building`, a claim that is made again in `active`. What is `scheduling` is found `active` when the store went back to
 * before it was built.
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
 * And while it is on its host, each of these to `error` and `deleting`, too, and between `active` and `stopped` on the
 * word of the host alone:
 *
 * ```
 *   active, unknown ──▶ stopping ──▶ stopped ──▶ starting ──▶ active
 *   building, each of these ──▶ rebuilding ──▶ building, then as it was; or back, when no other host takes it
 *   each of these ──▶ preempting ──▶ pending
 *   building, rebuilding, active, ... ──▶ undoing ──▶ error: its gang has failed
 *   active, stopped ──▶ resize ──▶ verify_resize ──▶ as it was (resize, cold migration)
 *   active ──▶ migrating ──▶ active                         (live migration)
 *   resize, verify_resize, migrating ──▶ revert_resize ──▶ as it was, or stopped when it could not be started
 *   active, stopped ──▶ shelving ──▶ shelved_offloaded ──▶ unshelving ──▶ building, or back when no host takes it
 * ```
 *
 * While there is no capacity for it:
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
  unknown: ['unknown', 'active', 'stopping', 'stopped', 'rebuilding', 'preempting', 'undoing', 'error', 'deleting'],
  stopping: ['stopping', 'stopped', 'rebuilding', 'preempting', 'undoing', 'error', 'deleting'],
  stopped: [
    'stopped',
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
  starting: ['starting', 'active', 'stopped', 'rebuilding', 'preempting', 'undoing', 'error', 'deleting'],
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
  migrating: ['migrating', 'revert_resize', 'rebuilding', 'active', 'undoing', 'error', 'deleting'],
  verify_resize: ['verify_resize', 'revert_resize', 'rebuilding', 'active', 'stopped', 'undoing', 'error', 'deleting'],
  revert_resize: [
    'revert_resize',
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
 * The states that a record may begin in: a request is `scheduling`, or `pending` where others wait already; an adopted instance
 * is on its host.
 */
export const FIRST_STATES: readonly InstanceState[] = ['scheduling', 'pending', 'active', 'stopped'];

/**
 * An instance that no scheduler has answered for in so long ends in ERROR: longer than outages, for a client still waits. While a
 * scheduler answers it ends, or waits for capacity, at once.
 */
export const MAX_SCHEDULING_MS = 86_400_000;

/** Why it ends then. */
export const NOT_SCHEDULED = {
  reason: 'not_scheduled',
  message: `no scheduler has answered for it in ${MAX_SCHEDULING_MS / 3_600_000} hours`,
} as const;

/** The states of an instance that is built and on its host, holding its claim there. */
export const BUILT_STATES: readonly InstanceState[] = ['active', 'unknown', 'stopping', 'stopped', 'starting'];

export const INSTANCE_STATES = Object.keys(TRANSITIONS) as readonly InstanceState[];

/** Whether the lifecycle lets an instance go from one state to the other. */
export function canTransition(from: InstanceState, to: InstanceState): boolean {
  return TRANSITIONS[from].includes(to);
}

/** One try to build an instance on a host, for whoever asks why it failed. */
export interface Attempt {
  readonly host: string;
  /** 1 for the first host; a late answer of an earlier attempt is known by it. */
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
    /** Its host has given it up, and what it made goes. */
    | 'shelved'
    /** It runs by the next attempt, and what this one made goes. */
    | 'moved'
    /** It runs by an attempt before, and what this one made goes. */
    | 'reverted';
  /** Why it failed; of one that is `moved` or `reverted`, the kind of the move. */
  readonly reason: string;
  readonly startedAtMs: number;
  readonly endedAtMs: number | undefined;
}

/** The record of an instance: what it wants, and what was tried. `version` rises with each write and guards the next. */
export interface Instance {
  readonly uuid: string;
  readonly requestId: string;
  readonly name: string;
  readonly projectId: string;
  readonly userId: string;
  readonly state: InstanceState;
  readonly host: string | undefined;
  /** The token of the claim that the record counts on; undefined when it counts on none. */
  readonly claimToken: number | undefined;
  readonly attempts: readonly Attempt[];
  /**
   * Why it is in `error`; when it is `stopped`, why it could not be started; when it is `pending`, what there is too little
   * of; when it was ended by other than its client's word, by what; else why it could not be moved. Code and sentence.
   */
  readonly fault: { readonly reason: string; readonly message: string } | undefined;
  /** What the client asked, as the wire carries it, so that any conductor can go on. */
  readonly requestSpec: Uint8Array;
  /** The rest of the alternates, as the wire carries them. */
  readonly alternates: Uint8Array;
  /** The sealed allocation request of its claim: what is claimed again when the store has lost it. Empty when not known. */
  readonly allocationRequest: Uint8Array;
  /** When its host said last that it runs, or is kept, there: what was seen before proves nothing. */
  readonly activeAt: HostPosition | undefined;
  /** The report of its host that did not have it, if the last one that conductors heard of did not: a doubt. */
  readonly missingIn: MissedReport | undefined;
  /** The move that it is on, until its source is gone. */
  readonly migration?: Migration | undefined;
  /** When somebody must look at it again, whoever worked on it before; undefined in resting states. */
  readonly dueAtMs: number | undefined;
  /** Of its request, when that is a gang. */
  readonly gang?: Gang | undefined;
  /** Undefined when its request said nothing of it. */
  readonly admission?: Admission | undefined;
  /** While it is `pending`. */
  readonly waiting?: Waiting | undefined;
  /** When its time limit ends it; from when it was ACTIVE for the first time. */
  readonly endsAtMs?: number | undefined;
  /**
   * While it is built on another host, or moved though it is stopped: what it was before, which it comes up as (Nova's
   * `old_vm_state`). What runs is moved without it.
   */
  readonly formerState?: InstanceState | undefined;
  /** At the top of a fleet: the cell that it was given to. Within a cell nothing says which. */
  readonly cell?: CellOfInstance | undefined;
  readonly version: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** Where the top has an instance, and how far it knows of it. */
export interface CellOfInstance {
  readonly name: string;
  /** Of a group that spreads over zones: the one that it counts in, and that the cell builds it in. */
  readonly zone?: string | undefined;
  /** Of the cell's own record, as it was heard of last; 0 before that. */
  readonly version: number;
  /** The cell's broker has the build request. Before that, the instance stays with this cell all the same. */
  readonly isHandedOver: boolean;
  /** It is to go: the cell is told until it has heard. */
  readonly isEnding: boolean;
  /** Why, when it is not its client's word: it ends in `error` with that. */
  readonly endedBy?: Instance['fault'] | undefined;
  /** The id of its request there, when that is not the record's own: it came there by a move. */
  readonly requestId?: string | undefined;
  readonly move?: CellMove | undefined;
  /** The cell that it was moved from, or that a move to it was undone in, and whether nothing of it is left there. */
  readonly left?: { readonly name: string; readonly isGone: boolean } | undefined;
}

/**
 * A cold migration to another cell: selected there, stopped here, built there, and when it is ACTIVE there ended here; `undoing` when
 * that does not come to be: ended there, and started here. What was STOPPED is stopped there before it is ended here.
 */
export interface CellMove {
  /** The id of its build request there. */
  readonly id: string;
  readonly to: string;
  /** Of a member of a group that spreads over zones: the one that it is to count in there. It counts where it is until it has arrived. */
  readonly zone?: string | undefined;
  /** It is undone, and can not be counted there any more. */
  readonly isKept?: boolean | undefined;
  /** It was STOPPED, and is to be so there. */
  readonly staysStopped?: boolean | undefined;
  readonly phase: 'selecting' | 'stopping' | 'building' | 'undoing';
  /** How it is in the cell that it is in, and, once it was heard of, where it goes to. */
  readonly source: InstanceState;
  readonly target?: InstanceState | undefined;
  /** Of the record there, as it was heard of last; 0 before that. */
  readonly version: number;
  /** Its build request may be there. */
  readonly isHandedOver: boolean;
  readonly startedAtMs: number;
  /** Why it is undone. */
  readonly fault?: Instance['fault'] | undefined;
}

/** What a request of several instances wants of them together: of `count`, so many are to become ACTIVE, or none is to run. */
export interface Gang {
  readonly minCount: number;
  readonly count: number;
}

/** A report that an instance is missing in. The next of the same epoch settles the doubt. */
export interface MissedReport {
  readonly epoch: number;
  readonly sequence: number;
}

/** The number of the attempt that is being made now; 0 before the first. */
export function attemptNumber({ attempts }: Pick<Instance, 'attempts'>): number {
  return attempts.at(-1)?.number ?? 0;
}

/** Whether it was ACTIVE on some host, whatever became of it since. */
export function hasBeenActive({ attempts }: Pick<Instance, 'attempts'>): boolean {
  return attempts.some(({ outcome }) => BEEN_ACTIVE.includes(outcome));
}

/** A member of a gang is not preempted before it is ACTIVE. */
const BEEN_ACTIVE: readonly Attempt['outcome'][] = ['active', 'evacuated', 'preempted', 'shelved', 'moved', 'reverted'];

/** How an instance is to come up that is being built, or moved: as it was before, if it was built before. */
export function powerStateToBuild({ formerState }: Pick<Instance, 'formerState'>): PowerState {
  return formerState === 'stopping' || formerState === 'stopped' ? 'shutdown' : 'running';
}

/** Whether it is on its way from a dead host to another. */
export function isBuiltElsewhere({ state, formerState }: Instance): boolean {
  const isUnshelved = formerState === 'shelved_offloaded';
  return state === 'rebuilding' || (state === 'building' && formerState !== undefined && !isUnshelved);
}

/** Whether a host works on the instance: its last attempt has no outcome yet. */
export function isAttemptOpen({ state, attempts }: Instance): boolean {
  return state === 'building' && attempts.at(-1)?.outcome === 'building';
}
