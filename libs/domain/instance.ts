import type { HostPosition } from './host-position';

/**
 * The states of an instance. It may rest in `active`, `error` and `deleted`; it is `unknown` while the host on which it was
 * active is silent.
 */
export type InstanceState = 'scheduling' | 'building' | 'active' | 'unknown' | 'error' | 'deleting' | 'deleted';

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
 */
const TRANSITIONS: Readonly<Record<InstanceState, readonly InstanceState[]>> = {
  scheduling: ['building', 'active', 'error', 'deleting'],
  building: ['building', 'active', 'error', 'deleting'],
  active: ['active', 'unknown', 'error', 'deleting'],
  unknown: ['unknown', 'active', 'error', 'deleting'],
  error: ['deleting'],
  deleting: ['deleted'],
  deleted: [],
};

/** The states that a record may begin in: a request is `scheduling`, an adopted instance runs already. */
export const FIRST_STATES: readonly InstanceState[] = ['scheduling', 'active'];

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
  readonly outcome: 'building' | 'active' | 'failed' | 'refused' | 'timed_out' | 'not_claimed';
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
  /** Why it is in `error`: code and sentence. */
  readonly fault: { readonly reason: string; readonly message: string } | undefined;
  /** What the client asked, as the wire carries it, so that any conductor can go on. */
  readonly requestSpec: Uint8Array;
  /** The rest of the alternates, as the wire carries them. */
  readonly alternates: Uint8Array;
  /** The sealed allocation request of its claim: what is claimed again when the store has lost it. Empty when not known. */
  readonly allocationRequest: Uint8Array;
  /** When its host said last that it runs there: what was seen before proves nothing. */
  readonly activeAt: HostPosition | undefined;
  /** The report of its host that did not have it, if the last one that conductors heard of did not: a doubt. */
  readonly missingIn: MissedReport | undefined;
  /** When somebody must look at it again, whoever worked on it before; undefined in resting states. */
  readonly dueAtMs: number | undefined;
  readonly version: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** A report that an instance is missing in. The next of the same epoch settles the doubt. */
export interface MissedReport {
  readonly epoch: number;
  readonly sequence: number;
}

/** The number of the attempt that is being made now; 0 before the first. */
export function attemptNumber({ attempts }: Instance): number {
  return attempts.at(-1)?.number ?? 0;
}

/** Whether a host works on the instance: its last attempt has no outcome yet. */
export function isAttemptOpen({ state, attempts }: Instance): boolean {
  return state === 'building' && attempts.at(-1)?.outcome === 'building';
}
