/**
 * The states of an instance. `active`, `error` and `deleted` are where an instance may rest.
 *
 * ```
 *   scheduling ──▶ building ──▶ active ──▶ deleting ──▶ deleted
 *        │    ◀──────┘ │           │           ▲
 *        │  (alternate)│           │           │
 *        └──────▶ error ◀──────────┘           │
 *        └───────────┴─────────────────────────┘
 * ```
 */
export type InstanceState = 'scheduling' | 'building' | 'active' | 'error' | 'deleting' | 'deleted';

export const INSTANCE_STATES: readonly InstanceState[] = [
  'scheduling',
  'building',
  'active',
  'error',
  'deleting',
  'deleted',
];

const TRANSITIONS: Readonly<Record<InstanceState, readonly InstanceState[]>> = {
  scheduling: ['scheduling', 'building', 'error', 'deleting', 'deleted'],
  building: ['building', 'active', 'error', 'deleting'],
  active: ['error', 'deleting'],
  error: ['deleting', 'deleted'],
  deleting: ['deleting', 'deleted'],
  deleted: [],
};

/** Whether the state machine lets an instance go from one state to the other. */
export function canTransition(from: InstanceState, to: InstanceState): boolean {
  return TRANSITIONS[from].includes(to);
}

/** One try to build an instance on a host, as told to whoever asks why it failed. */
export interface Attempt {
  readonly host: string;
  /** 1 for the first host; a late answer of an earlier attempt is known by it. */
  readonly number: number;
  readonly outcome: 'building' | 'active' | 'failed' | 'refused' | 'timed_out' | 'not_claimed';
  readonly reason: string;
  readonly startedAtMs: number;
  readonly endedAtMs: number | undefined;
}

/** An instance and its story. `version` rises with each write and guards the next. */
export interface Instance {
  readonly uuid: string;
  readonly requestId: string;
  readonly name: string;
  readonly projectId: string;
  readonly userId: string;
  readonly state: InstanceState;
  readonly host: string | undefined;
  /** The token of the claim that the instance holds now; undefined when it holds none. */
  readonly claimRevision: number | undefined;
  readonly attempts: readonly Attempt[];
  /** Why it is in `error`: code and sentence. */
  readonly fault: { readonly reason: string; readonly message: string } | undefined;
  /** What the client asked, as the wire carries it, so that any conductor can go on. */
  readonly requestSpec: Uint8Array;
  /** The rest of the alternates, as the wire carries them. */
  readonly alternates: Uint8Array;
  /** When somebody must look at it again, whoever worked on it before; undefined in resting states. */
  readonly dueAtMs: number | undefined;
  readonly version: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}
