import { randomUUID } from 'node:crypto';
import type { BuildOutcome } from '#libs/contracts/messages';
import { type Attempt, INSTANCE_STATES, type Instance, type InstanceState } from '#libs/domain/instance';
import type { ClaimedHost, Holds, Observation } from '../observation';

/** What is varied to go through all cases of `reconcile`, each with the words that the table says it by. */
export interface Case {
  readonly state: InstanceState | 'no record';
  readonly attempt: (typeof ATTEMPTS)[number];
  readonly hasHost: boolean;
  readonly claim: string;
  readonly observation: string;
  readonly isOverdue: boolean;
  readonly record: Instance | undefined;
  readonly holds: Holds;
  readonly observed: Observation;
}

export const NOW_MS = 1_000_000;
const HOST = 'h1';
const ELSEWHERE = 'h2';
const TOKEN = 7;
const ATTEMPTS = ['none', 'open', 'concluded'] as const;

const CLAIMS: Readonly<Record<string, Holds>> = {
  'not read': { kind: 'unread' },
  none: { kind: 'none' },
  "the record's": { kind: 'claim', claimToken: TOKEN },
  another: { kind: 'claim', claimToken: TOKEN + 1 },
};

const TARGET: ClaimedHost = {
  host: ELSEWHERE,
  serviceHost: ELSEWHERE,
  claimToken: TOKEN + 1,
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
};

/** The observations, each with the words for it. */
export const OBSERVATIONS: readonly (readonly [words: string, observed: Observation])[] = [
  ['nothing', { kind: 'nothing' }],
  ['accepted', { kind: 'accepted' }],
  ['interrupted', { kind: 'interrupted' }],
  ['terminate requested', { kind: 'terminate_requested' }],
  ['a host is claimed', { kind: 'claimed', target: TARGET }],
  ['no host', { kind: 'no_host', fault: { reason: 'no_valid_host', message: '' }, passedOver: [] }],
  ['order refused', { kind: 'order_refused', reason: 'queue_full' }],
  ['attempt superseded', { kind: 'superseded', host: HOST, attempt: 1 }],
  ...(['active', 'failed', 'refused', 'lost', 'destroyed'] as const).flatMap(reports),
  ['runs on its host without a claim', { kind: 'running', host: HOST, providerUuid: randomUUID(), instance }],
  ['runs on another host', { kind: 'running', host: ELSEWHERE, providerUuid: randomUUID(), instance }],
  ['missing on its host', { kind: 'missing', host: HOST, hasOrdersWaiting: false }],
  ['missing on its host, where orders wait', { kind: 'missing', host: HOST, hasOrdersWaiting: true }],
  ['missing on another host', { kind: 'missing', host: ELSEWHERE, hasOrdersWaiting: false }],
  ['its host is gone', { kind: 'host_gone' }],
  ['audited', { kind: 'audited' }],
];

function reports(outcome: BuildOutcome): [string, Observation][] {
  const report = { kind: 'reported', outcome, why: 'why', isRepeated: false } as const;
  return [
    [outcome, { ...report, host: HOST, attempt: 1 }],
    [`${outcome} (repeated)`, { ...report, host: HOST, attempt: 1, isRepeated: true }],
    [`late ${outcome}`, { ...report, host: HOST, attempt: 9 }],
    [`late ${outcome}`, { ...report, host: ELSEWHERE, attempt: 1 }],
  ];
}

/** Every case: record state × attempt × host × deadline × claim × observation. */
export function* reconcileCases(): Generator<Case> {
  for (const state of ['no record', ...INSTANCE_STATES] as const) {
    for (const attempt of state === 'no record' ? (['none'] as const) : ATTEMPTS) {
      for (const hasHost of [true, false]) {
        for (const isOverdue of [false, true]) {
          const record = state === 'no record' ? undefined : aRecord(state, attempt, hasHost, isOverdue);
          for (const [claim, holds] of Object.entries(CLAIMS)) {
            for (const [observation, observed] of OBSERVATIONS) {
              yield { state, attempt, hasHost, claim, observation, isOverdue, record, holds, observed };
            }
          }
        }
      }
    }
  }
}

const DEADLINES: readonly InstanceState[] = ['scheduling', 'building', 'deleting'];

function aRecord(state: InstanceState, attempt: Case['attempt'], hasHost: boolean, isOverdue: boolean): Instance {
  const outcome = attempt === 'open' ? 'building' : 'failed';
  const one: Attempt = { host: HOST, number: 1, outcome, reason: '', startedAtMs: 0, endedAtMs: undefined };
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
    attempts: attempt === 'none' ? [] : [one],
    fault: undefined,
    requestSpec: new Uint8Array(),
    alternates: new Uint8Array(),
    dueAtMs: DEADLINES.includes(state) ? dueAtMs : undefined,
    version: 3,
    createdAtMs: 0,
    updatedAtMs: 0,
  };
}
