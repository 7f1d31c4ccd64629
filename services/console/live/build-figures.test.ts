import type { InstanceEvent } from '#libs/contracts/instance';
import { BerthError } from '#libs/domain/errors';
import type { Attempt } from '#libs/domain/instance';
import { type FakeClock, fakeClock } from '#libs/testing/fake-clock';
import { BuildFigures } from './build-figures';

const UUID = 'c0000000-0000-4000-8000-000000000001';

let clock: FakeClock;
let figures: BuildFigures;
beforeEach(() => {
  clock = fakeClock();
  figures = new BuildFigures(clock);
});

function take(fields: Partial<InstanceEvent>): void {
  const base = {
    instanceUuid: UUID,
    requestId: UUID,
    projectId: 'p',
    state: 'active',
    host: '',
    atMs: clock.now(),
  } as const;
  figures.take({ ...base, version: 1, fault: undefined, attempts: [], name: 'web', ...fields });
}

function attempt(fields: Partial<Attempt>): Attempt {
  return { host: 'h1', number: 1, outcome: 'building', reason: '', startedAtMs: 0, endedAtMs: undefined, ...fields };
}

const failed = attempt({ outcome: 'failed', reason: 'no_disk', endedAtMs: 1 });

it('counts what was asked and what came of it, with the time that it took', async () => {
  take({ state: 'scheduling' });
  await clock.advance(1_500);
  take({ state: 'building', attempts: [attempt({})] });
  await clock.advance(500);
  take({ state: 'active', host: 'h2', attempts: [failed, attempt({ host: 'h2', number: 2, outcome: 'active' })] });
  const { requested, active, error, retried, timeToActive } = figures.rates();
  const sum = (counts: readonly number[]) => counts.reduce((all, count) => all + count, 0);
  expect([requested, active, error, retried].map(sum)).toEqual([1, 1, 0, 1]);
  expect(timeToActive).toMatchObject({ count: 1, p50Ms: 2_000, p99Ms: 2_000 });
  expect(figures.recent()).toMatchObject([{ uuid: UUID, state: 'active', host: 'h2', tookMs: 2_000, attempts: 2 }]);
});

it('tells why builds ended in ERROR and why attempts failed, on their hosts', () => {
  take({ state: 'scheduling' });
  take({ state: 'building', attempts: [failed, attempt({ host: 'h2', number: 2 })] });
  const fault = new BerthError('failed_precondition', 'hosts_exhausted', 'none left');
  const second = attempt({ host: 'h2', number: 2, outcome: 'failed', reason: 'no_disk', endedAtMs: 2 });
  take({ state: 'error', fault, attempts: [failed, second] });
  expect(figures.rates()).toMatchObject({
    faults: [{ name: 'hosts_exhausted', count: 1 }],
    failedAttempts: [{ name: 'no_disk', count: 2 }],
  });
  expect(figures.attemptsOn('h1')).toMatchObject([{ number: 1, outcome: 'failed', reason: 'no_disk' }]);
  expect(figures.attemptsOn('h2')).toMatchObject([{ number: 2, outcome: 'failed' }]);
});

it('does not count an instance that becomes ACTIVE again, such as after a move', () => {
  take({ state: 'scheduling' });
  take({ state: 'active', host: 'h1' });
  take({ state: 'migrating', host: 'h1' });
  expect(figures.isMovingFrom('h1')).toBe(true);
  take({ state: 'active', host: 'h2' });
  expect(figures.isMovingFrom('h1')).toBe(false);
  expect(figures.recent()).toHaveLength(1);
});

it('forgets what is older than ten minutes', async () => {
  take({ state: 'scheduling' });
  take({ state: 'active' });
  await clock.advance(601_000);
  const { active, timeToActive } = figures.rates();
  expect(active.every((count) => count === 0)).toBe(true);
  expect(timeToActive.count).toBe(0);
});
