import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BUILT_STATES, canTransition, FIRST_STATES, type Instance, type InstanceState } from '#libs/domain/instance';
import { reconcile } from './reconcile';
import { isChanging } from './reconcile/power';
import type { Step } from './step';
import { caseTable } from './testing/case-table';
import { type Case, NOW_MS, reconcileCases } from './testing/reconcile-cases';

const cases = [...reconcileCases()];
const decided = new Map<Case, Step>();

/** Each test asks it of all cases. */
function stepOf(one: Case): Step {
  const step = decided.get(one) ?? reconcile(one.record, one.holds, one.observed, NOW_MS);
  decided.set(one, step);
  return step;
}

const MOVES = ['resize', 'migrating', 'verify_resize', 'revert_resize'];

const isBuilt = (state: string) => (BUILT_STATES as readonly string[]).includes(state);

/** Built, and its host has said so. */
const isHeard = ({ state, phase }: Case) => isBuilt(state) && phase !== 'went_back';

/** The state that a step writes. */
const WRITES: Partial<Record<Step['kind'], InstanceState | 'same'>> = {
  dispatch_build: 'building',
  conclude_attempt: 'building',
  record_active: 'active',
  record_error: 'error',
  record_unknown: 'unknown',
  record_stopped: 'stopped',
  record_rebuilding: 'rebuilding',
  record_not_rebuilt: 'unknown',
  record_position: 'same',
  record_missing: 'same',
  record_deleting: 'deleting',
  record_undoing: 'undoing',
  claim_again: 'same',
  correct_token: 'same',
  record_not_moved: 'active',
  record_handing_over: 'same',
  dispatch_arrival: 'same',
  record_confirming: 'active',
  record_reverting: 'revert_resize',
  ask_source: 'same',
  record_returning: 'same',
  record_source_missing: 'same',
  give_back: 'same',
  record_returned: 'active',
};

it('has the table of all its cases in the README: npm run reconcile-table', () => {
  expect(readFileSync(join(__dirname, 'README.md'), 'utf8')).toContain(`\n${caseTable()}\n`);
});

it('adopts only what may become as its host has it', () => {
  for (const one of cases) {
    if (stepOf(one).kind !== 'adopt' || !one.record || isChanging(one.record.state)) continue;
    const from = one.record.state;
    expect([from, canTransition(from, 'active'), canTransition(from, 'stopped')]).toEqual([from, true, true]);
  }
});

it('writes only what the lifecycle allows', () => {
  const writes = cases.flatMap((one) => {
    const step = stepOf(one).kind;
    const written = step === 'close_record' ? (one.state === 'undoing' ? 'error' : 'deleted') : WRITES[step];
    return written === undefined ? [] : [{ from: one.state, to: written === 'same' ? one.state : written }];
  });
  const isAllowed = ({ from, to }: (typeof writes)[number]) =>
    from !== 'no record' && to !== 'no record' && canTransition(from, to);
  expect(writes.filter((one) => !isAllowed(one))).toEqual([]);
  expect(FIRST_STATES).toContain('active');
});

it('makes an instance ACTIVE only on the word of its host, or when its host is there for a while and did not lack it twice', () => {
  const activating = cases.filter((one) => stepOf(one).kind === 'record_active');
  const why = ({ state, attempt, observed, isMissing }: Case) => {
    if (observed.kind === 'audited') return `${state}: host ${observed.hostIs}${isMissing ? ', missing once' : ''}`;
    const where = 'host' in observed ? observed.host : '';
    const what = observed.kind === 'reported' ? observed.outcome : observed.kind;
    return state === 'building' ? `building, ${attempt}: ${what} on ${where}` : `${state}: ${what} on ${where}`;
  };
  expect(new Set(activating.map(why))).toEqual(
    new Set([
      'building, open: active on h1',
      'building, open: running on h1',
      'unknown: active on h1',
      'unknown: running on h1',
      'unknown: power_reported on h1',
      'stopped: running on h1',
      'stopped: power_reported on h1',
      'starting: running on h1',
      'starting: power_reported on h1',
      'unknown: host up',
      'unknown: host up, missing once',
    ]),
  );
});

it('orders no host a second time by the claim of an attempt that is concluded', () => {
  const between = cases.filter(({ state, attempt }) => state === 'building' && attempt === 'concluded');
  const again = between.filter(({ record, observed }) => {
    return observed.kind === 'claimed' && observed.target.claimToken === record?.claimToken;
  });
  expect(new Set(again.map((one) => stepOf(one).kind))).toEqual(new Set(['claim_next_host']));
});

it('destroys nothing but what was terminated or shelved, attempts that the record gave up, and what an operator disowns', () => {
  const destroying = cases.filter((one) => stepOf(one).kind === 'destroy');
  // `undoing`: with the failure of its gang on record.
  const isEnded = ({ state }: Case) => ['undoing', 'preempting', 'shelving', 'deleting', 'deleted'].includes(state);
  // No host is asked to build without an attempt in the record.
  const isDisowned = ({ observed }: Case) => observed.kind === 'disowned';
  // A move that leaves its destination has been there: no attempt is open.
  const isMade = ({ attempt, phase }: Case) => attempt !== 'none' && !(phase === 'leaving' && attempt === 'open');
  const others = destroying.filter((one) => !isEnded(one) && !isDisowned(one) && isMade(one));
  for (const one of others) {
    const step = stepOf(one);
    const attempts = one.record?.attempts ?? [];
    const attempt =
      step.kind === 'destroy' && attempts.find(({ host, number }) => host === step.host && number === step.attempt);
    expect(attempt && ['failed', 'refused', 'timed_out', 'moved', 'reverted'].includes(attempt.outcome)).toBe(true);
  }
  expect(others.length).toBeGreaterThan(0);
});

it('destroys nothing that an operator disowns where its record has it', () => {
  const disowned = cases.filter(({ observed, hasHost }) => {
    return observed.kind === 'disowned' && observed.host === 'h1' && hasHost;
  });
  const kept = new Set(disowned.filter((one) => stepOf(one).kind !== 'destroy').map(({ state }) => state));
  expect([...kept]).toEqual(['building', ...BUILT_STATES, 'rebuilding', 'shelving', ...MOVES]);
});

it('evacuates from no other host than the one that was fenced for it', () => {
  const evacuated = cases.filter(({ observed, record }) => observed.kind === 'evacuate_requested' && record);
  const steps = (host: string) =>
    evacuated.map(({ record, holds }) => reconcile(record, holds, { kind: 'evacuate_requested', host }, NOW_MS).kind);
  expect(steps('h1')).toContain('record_rebuilding');
  expect(steps('h9')).not.toContain('record_rebuilding');
});

it('does not take what goes on in place for arrived, or for stopped, before it runs', () => {
  const inPlace = ({ record }: Case) => {
    const { host, migration } = record ?? {};
    if (!record || !host || !migration) return undefined;
    return { ...record, migration: { ...migration, source: { ...migration.source, host } } } as Instance;
  };
  const isOnItsWay = ({ state, phase, attempt, hasHost }: Case) =>
    hasHost &&
    attempt === 'open' &&
    ((state === 'resize' && phase === 'arriving') || (state === 'revert_resize' && phase === 'returning'));
  const steps = (observation: RegExp) => {
    const seen = cases.filter((one) => isOnItsWay(one) && observation.test(one.observation));
    return new Set(
      seen.map((one) => {
        const step = reconcile(inPlace(one), one.holds, one.observed, NOW_MS).kind;
        return `${one.state}${one.isOverdue ? ', overdue' : ''}: ${step}`;
      }),
    );
  };
  expect(steps(/^runs on its host with a claim$/)).toEqual(
    new Set([
      'resize: record_arrived',
      'resize, overdue: record_arrived',
      'revert_resize: record_returned',
      'revert_resize, overdue: record_returned',
    ]),
  );
  expect(steps(/^is stopped on its host, with a claim$/)).toEqual(
    new Set([
      'resize: wait',
      'resize, overdue: record_reverting',
      'revert_resize: wait',
      'revert_resize, overdue: order_arrival',
    ]),
  );
});

it('takes nothing that was seen before an instance was active for the present', () => {
  const isOld = (one: Case) => isHeard(one) && one.hasHost && /before it was active|older epoch/.test(one.observation);
  const steps = new Set(cases.filter(isOld).map((one) => JSON.stringify(stepOf(one))));
  expect([...steps]).toEqual([JSON.stringify({ kind: 'none', because: 'older observation' })]);
});

it('does with what a host shows of a move the same before and after a deadline, unless its host is to do it', () => {
  const isOrdered = ({ phase, attempt }: Case) => phase === 'arriving' || (phase === 'returning' && attempt === 'open');
  const shown = cases.filter((one) => MOVES.includes(one.state) && one.observed.kind === 'running' && !isOrdered(one));
  const stepsWhere = (isOverdue: boolean) =>
    shown.filter((one) => one.isOverdue === isOverdue).map((one) => JSON.stringify(stepOf(one)));
  expect(stepsWhere(true)).toEqual(stepsWhere(false));
});

it('has what it keeps of an earlier attempt go on on a host that was dead when it went back there', () => {
  const words = 'is stopped on its host, by an earlier attempt';
  const back = cases.filter(
    ({ phase, attempt, hasHost }) => phase === 'went_back' && attempt === 'concluded' && hasHost,
  );
  const steps = new Set(back.filter((one) => one.observation === words).map((one) => JSON.stringify(stepOf(one))));
  expect([...steps]).toEqual([JSON.stringify({ kind: 'order_return' })]);
});

it('has an instance lost only by its host, in a report after one that did not have it either', () => {
  const losing = cases.filter((one) => {
    const step = stepOf(one);
    return step.kind === 'record_error' && isHeard(one);
  });
  const how = new Set(
    losing.map(({ observation, isMissing }) => (isMissing ? observation : `${observation}, no doubt before`)),
  );
  const byItself = ['lost', 'lost (repeated)', 'lost of an earlier claim'].flatMap((one) => [
    one,
    `${one}, no doubt before`,
  ]);
  expect(how).toEqual(new Set([...byItself, 'missing in the very next report']));
});

it('destroys an active instance on its own host for nothing but a terminate', () => {
  const onOwnHost = cases.filter((one) => {
    const step = stepOf(one);
    return one.state === 'active' && one.attempt === 'concluded' && step.kind === 'destroy' && step.host === 'h1';
  });
  expect(new Set(onOwnHost.map(({ observation, hasHost }) => hasHost && observation))).not.toContain('active');
  expect(onOwnHost.filter(({ observation, hasHost }) => hasHost && !observation.startsWith('late'))).toEqual([]);
});

it('releases a claim only of a record that is at its end, on no host, deleting, or not there, or one before its last', () => {
  const isNowhere = ['no record', 'pending', 'undoing', 'preempting', 'shelved_offloaded', 'unshelving'];
  const ended = new Set([...isNowhere, 'error', 'deleting', 'deleted']);
  const isEarlier = ({ observation }: Case) => observation.startsWith('an earlier claim');
  const releasing = cases.filter((one) => stepOf(one).kind === 'release' && !isEarlier(one));
  expect(releasing.filter(({ state }) => !ended.has(state))).toEqual([]);
});

it('acts on every record that is not at rest once its deadline has passed, and on no other', () => {
  const overdue = cases.filter(
    ({ observation, isOverdue, phase }) => observation === 'nothing' && isOverdue && phase !== 'confirming',
  );
  const acts = new Set(overdue.filter((one) => !['none', 'wait'].includes(stepOf(one).kind)).map(({ state }) => state));
  const rests = new Set(overdue.filter((one) => stepOf(one).kind === 'none').map(({ state }) => state));
  const built = ['building', 'stopping', 'starting', 'rebuilding'];
  const inWork = [...built, 'shelving', 'unshelving', ...MOVES, 'preempting', 'undoing', 'error', 'deleting'];
  expect([...acts]).toEqual(['scheduling', 'pending', ...inWork]);
  expect([...rests]).toEqual(['no record', 'active', 'unknown', 'stopped', 'shelved_offloaded', 'error', 'deleted']);
});

it('takes nothing for stopped that its source may be starting, to which it goes back', () => {
  const returning = cases.filter(({ phase, attempt }) => phase === 'returning' && attempt === 'open');
  const seenStopped = returning.filter(({ observation }) => observation.startsWith('is stopped on its host'));
  expect(seenStopped.length).toBeGreaterThan(0);
  expect(seenStopped.filter((one) => stepOf(one).kind === 'record_returned')).toEqual([]);
});

it('takes its source at its word by what claim it goes on there, unless that is an earlier one', () => {
  const back = cases.find(({ phase, attempt }) => phase === 'returning' && attempt === 'open');
  const record = back?.record;
  if (!record?.migration) throw new Error('no such case');
  const { host = '', claimToken = 0, migration } = record;
  const moving = { ...record, migration: { ...migration, source: { ...migration.source, host } } };
  const attempt = record.attempts.at(-1)?.number ?? 0;
  const about = { host, attempt, at: { epoch: 9, position: 9 }, keptClaimToken: 0, why: '', isRepeated: false };
  const stepOn = (outcome: 'active' | 'lost', token: number) =>
    reconcile(moving, { kind: 'unread' }, { kind: 'reported', ...about, outcome, claimToken: token }, NOW_MS).kind;
  expect([stepOn('active', claimToken + 5), stepOn('active', claimToken - 1), stepOn('lost', claimToken + 5)]).toEqual([
    'record_returned',
    'none',
    'none',
  ]);
});

it('moves by no claim that is older than its own: the scheduler has not heard that an earlier move was undone', () => {
  const selected = cases.filter(
    ({ record, observed }) => record?.migration?.phase === 'selecting' && observed.kind === 'claimed',
  );
  expect(selected.length).toBeGreaterThan(0);
  for (const { record, holds, observed } of selected) {
    if (record === undefined || observed.kind !== 'claimed') continue;
    const stepBy = (claimToken: number) => reconcile({ ...record, claimToken }, holds, observed, NOW_MS).kind;
    const { claimToken } = observed.target;
    expect([stepBy(claimToken - 1), stepBy(claimToken)]).toEqual(['record_handing_over', 'wait']);
  }
});

it('builds by no claim that is older than its own', () => {
  // One that is SCHEDULING had none yet.
  const late = cases.filter(({ record, observed, state }) => {
    const isClaimed = observed.kind === 'claimed' && state !== 'scheduling';
    return isClaimed && observed.target.claimToken <= (record?.claimToken ?? 0);
  });
  // A store that went back forgets a move whose claim is on its destination: that claim is the record's own, away from the dead host.
  const isOwnElsewhere = ({ record, observed, state }: (typeof late)[number]) => {
    const { claimToken, host } = observed.kind === 'claimed' ? observed.target : {};
    return state === 'rebuilding' && claimToken === record?.claimToken && host !== record?.host;
  };
  expect(new Set(late.map(({ state }) => state))).toContain('rebuilding');
  expect(late.filter((one) => stepOf(one).kind === 'dispatch_build' && !isOwnElsewhere(one))).toEqual([]);
  const elsewhere = late.filter(isOwnElsewhere);
  expect(new Set(elsewhere.map((one) => stepOf(one).kind))).toEqual(new Set(['dispatch_build']));
});

it('takes what was stopped before its move back as stopped, and whatever ran as running if its source could start it', () => {
  const returning = cases.filter(({ phase, attempt }) => phase === 'returning' && attempt === 'open');
  const back = returning.flatMap((one) => {
    const step = stepOf(one);
    return step.kind === 'record_returned' ? [{ one, step }] : [];
  });
  const isRight = ({ one, step }: (typeof back)[number]) =>
    step.isStopped === (step.why !== undefined || one.former === 'stopped');
  expect(back.filter((each) => !isRight(each))).toEqual([]);
  expect(new Set(back.map(({ one, step }) => `${one.former} ${step.isStopped}`)).size).toBe(3);
});

it('moves what is stopped by every move but a live one', () => {
  const asked = cases.filter(({ state, phase, hasHost }) => state === 'stopped' && phase === '' && hasHost);
  const stepsOf = (wanted: string) =>
    new Set(asked.filter(({ observation }) => observation === wanted).map((one) => stepOf(one).kind));
  expect(stepsOf('move requested')).toEqual(new Set(['record_move']));
  expect(stepsOf('its move is claimed')).toEqual(new Set(['record_move_claimed']));
  expect(stepsOf('live migration requested')).toEqual(new Set(['none']));
});
