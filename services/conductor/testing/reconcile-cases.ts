import { randomUUID } from 'node:crypto';
import type { BuildOutcome } from '#libs/contracts/compute';
import {
  type Attempt,
  BUILT_STATES,
  INSTANCE_STATES,
  type Instance,
  type InstanceState,
  type PowerState,
} from '#libs/domain/instance';
import { type Migration, type MigrationPhase, migrationUuidOf } from '#libs/domain/moves/migration';
import type { ClaimedHost, Holds, Observation, Voucher } from '../observation';

/** Dimensions of the cases of `reconcile`, each with its words in the table. */
export interface Case {
  readonly state: InstanceState | 'no record';
  readonly attempt: (typeof ATTEMPTS)[number];
  readonly hasHost: boolean;
  readonly claim: string;
  readonly observation: string;
  readonly isOverdue: boolean;
  /** True if the last report of its host that conductors heard lacked it. */
  readonly isMissing: boolean;
  /** In ERROR: whether its failure is not settled with its gang yet. */
  readonly owesGang: boolean;
  /** Its state before it was built elsewhere, or again; '' when it was not. */
  readonly former: InstanceState | '';
  /** Phase of its move; '' when it is on none. */
  readonly phase: Stage;
  readonly record: Instance | undefined;
  readonly holds: Holds;
  readonly observed: Observation;
}

/**
 * A phase of a move; leaving, and its source is to answer first; or its move is over, and the host that it went back to was dead and has
 * said nothing since.
 */
type Stage = MigrationPhase | 'asking_source' | 'went_back' | '';

export const NOW_MS = 1_000_000;
const HOST = 'h1';
const ELSEWHERE = 'h2';
const TOKEN = 7;
/** The attempt on the record's host; the one before it, elsewhere, was given up. */
const PRESENT = 2;
const GIVEN_UP = 1;
/** When the host of an active record said that it runs there, before that, and after. */
const EPOCH = 5;
const ACTIVE_AT = { epoch: EPOCH, position: 10 };
const BEFORE = { epoch: EPOCH, position: 9 };
const OLD_EPOCH = { epoch: EPOCH - 1, position: 99 };
const AFTER = { epoch: EPOCH, position: 11 };
const MISSING_IN = { epoch: EPOCH, sequence: 3 };
const ATTEMPTS = ['none', 'open', 'concluded'] as const;

const CLAIMS: Readonly<Record<string, Holds>> = {
  'not read': { kind: 'unread' },
  none: { kind: 'none' },
  "the record's": { kind: 'claim', claimToken: TOKEN, isOnHost: true },
  'another there': { kind: 'claim', claimToken: TOKEN + 1, isOnHost: true },
  'one elsewhere': { kind: 'claim', claimToken: TOKEN + 2, isOnHost: false },
};

const TARGET: ClaimedHost = {
  host: ELSEWHERE,
  serviceHost: ELSEWHERE,
  claimToken: TOKEN + 1,
  allocationRequest: new Uint8Array(),
  epoch: EPOCH,
  alternates: [],
  passedOver: [],
};

const instance = {
  instanceUuid: randomUUID(),
  projectId: 'project-1',
  userId: 'user-1',
  resources: { VCPU: 1 },
  name: 'web',
  groupId: '',
  requestId: randomUUID(),
  running: true,
  attempt: PRESENT,
  claimToken: TOKEN,
  allocationRequest: new Uint8Array(),
};

const VOUCHER: Voucher = { projectId: instance.projectId, userId: instance.userId, resources: instance.resources };

const RUNNING = {
  kind: 'running',
  host: HOST,
  providerUuid: randomUUID(),
  at: AFTER,
  isClaimed: false,
  isByForgottenClaim: false,
  instance,
  voucher: undefined,
  wasStray: false,
} as const;
const MISSING = { kind: 'missing', host: HOST, at: AFTER, sequence: 9, hasOrdersWaiting: false } as const;

const NO_HOST = {
  kind: 'no_host',
  fault: { reason: 'no_valid_host', message: '' },
  passedOver: [],
  waitsFor: ['capacity_vcpu'],
} as const;
const MIGRATION_UUID = migrationUuidOf(instance.instanceUuid);
const WANTED = { kind: 'migrate', requestSpec: new Uint8Array(), targetHost: '', confirmAfterMs: 0 } as const;

/** The observations, each with the words for it. */
export const OBSERVATIONS: readonly (readonly [words: string, observed: Observation])[] = [
  ['nothing', { kind: 'nothing' }],
  ['accepted', { kind: 'accepted' }],
  ['interrupted', { kind: 'interrupted' }],
  ['terminate requested', { kind: 'terminate_requested' }],
  ['stop requested', { kind: 'power_requested', powerState: 'shutdown' }],
  ['start requested', { kind: 'power_requested', powerState: 'running' }],
  ['evacuate requested', { kind: 'evacuate_requested', host: HOST }],
  ['its gang has failed', { kind: 'gang_failed', fault: { reason: 'gang_failed', message: '' } }],
  [
    'its host is dead, and its gang ends',
    { kind: 'given_up', host: HOST, fault: { reason: 'instance_lost', message: '' } },
  ],
  ['it is its turn', { kind: 'capacity_changed', revision: 1 }],
  ['preempted', { kind: 'preempted', instanceUuid: randomUUID(), projectId: 'project-1', priority: 1 }],
  [
    'preempted by one of its own priority',
    { kind: 'preempted', instanceUuid: randomUUID(), projectId: 'project-1', priority: 0 },
  ],
  [
    'taken back by one of its own priority',
    { kind: 'preempted', instanceUuid: randomUUID(), projectId: 'project-1', priority: 0, reclaims: true },
  ],
  ['shelve requested', { kind: 'shelve_requested' }],
  ['unshelve requested', { kind: 'unshelve_requested' }],
  ['move requested', { kind: 'move_requested', wanted: WANTED }],
  ['live migration requested', { kind: 'move_requested', wanted: { ...WANTED, kind: 'live_migrate' } }],
  ['its move is claimed', { kind: 'move_claimed', wanted: WANTED, target: TARGET }],
  ['confirm requested', { kind: 'confirm_requested' }],
  ['revert requested', { kind: 'revert_requested' }],
  ['its group goes back', { kind: 'group_goes_back', host: HOST, mateUuid: randomUUID() }],
  ['handed over', { ...powerReportOf('shutdown'), migrationUuid: MIGRATION_UUID }],
  ['not handed over yet', { ...powerReportOf('running'), migrationUuid: MIGRATION_UUID }],
  [
    'can not be handed over',
    { ...powerReportOf('running'), migrationUuid: MIGRATION_UUID, fault: { reason: 'moves_unsupported', message: '' } },
  ],
  [
    'can not be handed over, and is stopped',
    {
      ...powerReportOf('shutdown'),
      migrationUuid: MIGRATION_UUID,
      fault: { reason: 'moves_unsupported', message: '' },
    },
  ],
  ...(['running', 'shutdown'] as const).flatMap(powerReports),
  ['can not be started', { ...powerReportOf('shutdown'), fault: { reason: 'not_started', message: '' } }],
  ['a host is claimed', { kind: 'claimed', target: TARGET }],
  ['its last claim is found again', { kind: 'claimed', target: { ...TARGET, claimToken: TOKEN } }],
  ['an earlier claim than its last is found', { kind: 'claimed', target: { ...TARGET, claimToken: TOKEN - 1 } }],
  ['no host', NO_HOST],
  ['no host, and others could make room', { ...NO_HOST, preemption: { host: ELSEWHERE, victims: [randomUUID()] } }],
  ['no host, and no capacity would help', { ...NO_HOST, waitsFor: [] }],
  ['its alternates have expired', { kind: 'alternates_expired' }],
  ['order refused', { kind: 'order_refused', reason: 'queue_full' }],
  ['attempt superseded', { kind: 'superseded', host: HOST, attempt: PRESENT }],
  ...(['active', 'failed', 'refused', 'lost', 'destroyed'] as const).flatMap(reports),
  ['refused, as the order was of an earlier epoch', { ...reportOf('refused'), isOutdated: true }],
  ['destroyed, but there by a later claim', { ...reportOf('destroyed'), keptClaimToken: TOKEN + 1 }],
  ['lost before it was active', { ...reportOf('lost'), at: BEFORE }],
  ['runs on its host without a claim', RUNNING],
  ['runs on its host without a claim, vouched for', { ...RUNNING, voucher: VOUCHER }],
  ['runs on its host, vouched for, and was a stray there', { ...RUNNING, voucher: VOUCHER, wasStray: true }],
  ['runs on its host with a claim', { ...RUNNING, isClaimed: true }],
  ['runs on its host by a claim that is forgotten', { ...RUNNING, isClaimed: true, isByForgottenClaim: true }],
  ['is stopped on its host, without a claim', { ...RUNNING, instance: { ...instance, powerState: 'shutdown' } }],
  [
    'is stopped on its host, with a claim',
    { ...RUNNING, isClaimed: true, instance: { ...instance, powerState: 'shutdown' } },
  ],
  [
    'is stopped on its host, by an earlier attempt',
    { ...RUNNING, isClaimed: true, instance: { ...instance, attempt: GIVEN_UP, powerState: 'shutdown' } },
  ],
  ['is on its host by a later attempt', { ...RUNNING, instance: { ...instance, attempt: 9, claimToken: TOKEN + 1 } }],
  ['ran on its host before it was active', { ...RUNNING, at: BEFORE }],
  ['runs on another host', { ...RUNNING, host: ELSEWHERE }],
  ['runs where it was given up', { ...RUNNING, host: ELSEWHERE, instance: { ...instance, attempt: GIVEN_UP } }],
  ['missing on its host', MISSING],
  ['missing on its host, where orders wait', { ...MISSING, hasOrdersWaiting: true }],
  ['missing in the very next report', { ...MISSING, sequence: MISSING_IN.sequence + 1 }],
  ['missing in the same report', { ...MISSING, sequence: MISSING_IN.sequence }],
  ['missing before it was active', { ...MISSING, at: BEFORE, sequence: MISSING_IN.sequence + 1 }],
  ['missing in an older epoch', { ...MISSING, at: OLD_EPOCH, sequence: MISSING_IN.sequence + 1 }],
  ['missing on another host', { ...MISSING, host: ELSEWHERE }],
  ['an operator disowns it on its host', { kind: 'disowned', host: HOST, attempt: PRESENT, claimToken: TOKEN }],
  ['an operator disowns it elsewhere', { kind: 'disowned', host: ELSEWHERE, attempt: PRESENT, claimToken: TOKEN }],
  ['its host is gone', { kind: 'host_gone' }],
  ['its host is silent', { kind: 'host_down' }],
  ['its host is dead and fenced', { kind: 'host_fenced' }],
  ['audited', { kind: 'audited', hostIs: 'unsettled' }],
  ['audited, its host is silent', { kind: 'audited', hostIs: 'down' }],
  ['audited, its host is there', { kind: 'audited', hostIs: 'up' }],
];

function reports(outcome: BuildOutcome): [string, Observation][] {
  const report = reportOf(outcome);
  return [
    [outcome, report],
    [`${outcome} (repeated)`, { ...report, isRepeated: true }],
    [`late ${outcome}`, { ...report, attempt: 9 }],
    [`late ${outcome}`, { ...report, host: ELSEWHERE }],
    [`${outcome} where it was given up`, { ...report, host: ELSEWHERE, attempt: GIVEN_UP }],
    [`${outcome} of an earlier claim`, { ...report, claimToken: TOKEN - 1 }],
  ];
}

function powerReports(powerState: PowerState): [string, Observation][] {
  const report = powerReportOf(powerState);
  return [
    [`its host says: ${powerState}`, report],
    [`late: ${powerState}`, { ...report, at: BEFORE }],
    [`${powerState}, in answer to the last order`, { ...report, at: BEFORE, restsOn: ACTIVE_AT }],
    [`${powerState} elsewhere`, { ...report, host: ELSEWHERE }],
  ];
}

function powerReportOf(powerState: PowerState) {
  const what = { kind: 'power_reported', powerState, fault: undefined } as const;
  const none = { migrationUuid: '', handover: new Uint8Array() };
  return { ...what, ...none, host: HOST, attempt: PRESENT, at: AFTER, restsOn: BEFORE };
}

function reportOf(outcome: BuildOutcome) {
  const what = { kind: 'reported', outcome, keptClaimToken: 0, why: 'why', isRepeated: false } as const;
  return { ...what, host: HOST, attempt: PRESENT, claimToken: TOKEN, at: AFTER };
}

/** Every case: record state × attempt × host × deadline × doubt × debt × claim × observation. */
export function* reconcileCases(): Generator<Case> {
  for (const state of ['no record', ...INSTANCE_STATES] as const) {
    for (const attempt of state === 'no record' ? (['none'] as const) : ATTEMPTS) {
      for (const hasHost of [true, false]) {
        for (const isOverdue of [false, true]) {
          for (const isMissing of isBuilt(state) ? [false, true] : [false]) {
            for (const owesGang of state === 'error' ? [false, true] : [false]) {
              for (const [phase, former] of VARIANTS[state] ?? PLAIN) {
                const varied = { attempt, hasHost, isOverdue, isMissing, owesGang, phase, former };
                const record = state === 'no record' ? undefined : aRecord(state, varied);
                for (const [claim, holds] of Object.entries(CLAIMS)) {
                  for (const [observation, observed] of OBSERVATIONS) {
                    yield { state, ...varied, claim, observation, record, holds, observed };
                  }
                }
              }
            }
          }
        }
      }
    }
  }
}

type Variant = readonly [phase: Stage, former: InstanceState | ''];

const PLAIN: readonly Variant[] = [['', '']];
const ON_THE_WAY: readonly Variant[] = [
  ['selecting', ''],
  ['claimed', ''],
  ['handing_over', ''],
  ['arriving', ''],
];
const VARIANTS: Readonly<Record<string, readonly Variant[]>> = {
  building: [
    ['', ''],
    ['', 'stopped'],
    ['', 'shelved_offloaded'],
  ],
  active: [
    ['', ''],
    ['confirming', ''],
  ],
  unknown: [
    ['', ''],
    ['went_back', ''],
  ],
  stopping: [
    ['', ''],
    ['confirming', ''],
  ],
  stopped: [
    ['', ''],
    ['confirming', ''],
  ],
  resize: ON_THE_WAY,
  migrating: ON_THE_WAY,
  verify_resize: [
    ['arrived', ''],
    ['arrived', 'stopped'],
  ],
  revert_resize: [
    ['asking_source', ''],
    ['leaving', ''],
    ['returning', ''],
    ['returning', 'stopped'],
  ],
};

const DEADLINES: readonly InstanceState[] = [
  'scheduling',
  'building',
  'stopping',
  'starting',
  'rebuilding',
  'undoing',
  'pending',
  'preempting',
  'shelving',
  'unshelving',
  'resize',
  'migrating',
  'verify_resize',
  'revert_resize',
  'deleting',
];

function isBuilt(state: InstanceState | 'no record'): boolean {
  return state !== 'no record' && BUILT_STATES.includes(state);
}

type Varied = Pick<Case, 'attempt' | 'hasHost' | 'isOverdue' | 'isMissing' | 'owesGang' | 'phase' | 'former'>;

function aRecord(
  state: InstanceState,
  { attempt, hasHost, isOverdue, isMissing, owesGang, phase, former }: Varied,
): Instance {
  const isOnHost = isBuilt(state) || state === 'rebuilding' || state === 'shelving' || phase !== '';
  const concluded = phase === 'leaving' ? 'reverted' : isOnHost ? 'active' : 'failed';
  const times = { reason: '', startedAtMs: 0, endedAtMs: undefined };
  const attempts: Attempt[] = [
    { host: phase === 'went_back' ? HOST : ELSEWHERE, number: GIVEN_UP, outcome: outcomeBefore(phase), ...times },
    { host: HOST, number: PRESENT, outcome: attempt === 'open' ? 'building' : concluded, ...times },
  ];
  const dueAtMs = isOverdue ? NOW_MS - 1 : NOW_MS + 1;
  return {
    uuid: instance.instanceUuid,
    requestId: instance.requestId,
    name: 'web',
    projectId: 'project-1',
    userId: 'user-1',
    state,
    host: hasHost ? HOST : undefined,
    claimToken: TOKEN,
    attempts: attempt === 'none' ? [] : attempts,
    fault: undefined,
    requestSpec: new Uint8Array(),
    alternates: new Uint8Array(),
    allocationRequest: Uint8Array.of(1),
    activeAt: isOnHost && phase !== 'went_back' ? ACTIVE_AT : undefined,
    missingIn: isMissing ? MISSING_IN : undefined,
    formerState: former === '' ? undefined : former,
    ...(isOver(phase) ? {} : { migration: aMigration(phase) }),
    waiting: state === 'pending' ? { sinceMs: 0, untilMs: dueAtMs, waitsFor: [] } : undefined,
    dueAtMs: DEADLINES.includes(state) || owesGang || !isOver(phase) ? dueAtMs : undefined,
    ...(owesGang ? { gang: { minCount: 2, count: 2 } } : {}),
    version: 3,
    createdAtMs: 0,
    updatedAtMs: 0,
  } as Instance;
}

function isOver(stage: Stage): stage is 'went_back' | '' {
  return stage === '' || stage === 'went_back';
}

/** In which its host is where it was before, and on no move. */
const AT_SOURCE: readonly Stage[] = ['', 'selecting', 'claimed', 'handing_over'];

/** Until it has left, its source is its host; from then on that is where the attempt before was. */
function aMigration(stage: Exclude<Stage, 'went_back' | ''>): Migration {
  const isAtSource = AT_SOURCE.includes(stage);
  const spec = { allocationRequest: '', requestSpec: '' };
  const here = { host: HOST, attempt: PRESENT, ...spec };
  const before = { host: ELSEWHERE, attempt: GIVEN_UP, ...spec };
  return {
    uuid: MIGRATION_UUID,
    kind: 'migrate',
    ...(stage === 'asking_source' ? { phase: 'leaving', awaitsSource: true } : { phase: stage }),
    source: { ...(isAtSource ? here : before), claimToken: TOKEN, activeAt: ACTIVE_AT },
    destination: isAtSource ? { ...before, attempt: 0 } : here,
    targetHost: '',
    claimToken: stage === 'selecting' ? undefined : TOKEN,
    handover: '',
    confirmAfterMs: 0,
    confirmAtMs: undefined,
  };
}

function outcomeBefore(phase: Stage): Attempt['outcome'] {
  if (AT_SOURCE.includes(phase)) return 'timed_out';
  return phase === 'confirming' ? 'moved' : 'active';
}
