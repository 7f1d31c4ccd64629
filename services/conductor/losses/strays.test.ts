import { hostDiscrepancyCodec } from '#libs/contracts/compute';
import type { Attempt } from '#libs/domain/instance';
import type { Doubt } from '#libs/instances/doubts';
import { anInstance } from '#libs/testing/instances/instance';
import { ConductorWorld } from '../testing/conductor-world';
import { followedHosts, straysOf } from './strays';

const world = new ConductorWorld();
const uuid = world.random.uuid();

/** A stray as a report shows it; 0 is an attempt that its agent does not say. */
function stray(attempt: number): Doubt {
  const present = [world.runningInstance(uuid, 'h2', { attempt })];
  const evidence = hostDiscrepancyCodec.encode(world.discrepancy('h2', { present }));
  return { instanceUuid: uuid, host: 'h2', finding: 'stray', message: '', evidence, sinceMs: 0, seenAtMs: 0 };
}

function isFollowed(outcome: Attempt['outcome'], ...strays: readonly Doubt[]): boolean {
  const attempt = { host: 'h1', number: 2, outcome, reason: '', startedAtMs: 0, endedAtMs: undefined };
  return followedHosts(anInstance({ uuid, attempts: [attempt] }), straysOf(strays)).length > 0;
}

it('follows a stray by no earlier attempt than the one that ran last', () => {
  expect([1, 2, 3].map((attempt) => isFollowed('active', stray(attempt)))).toEqual([false, true, true]);
  expect(isFollowed('active', stray(3), stray(1))).toBe(true);
});

it('follows any stray of what did not run, and one whose attempt nobody says', () => {
  expect(isFollowed('building', stray(1))).toBe(true);
  expect(isFollowed('active', stray(0))).toBe(true);
  expect(isFollowed('active', { ...stray(1), evidence: new Uint8Array() })).toBe(true);
});

it('follows nothing where there is no stray', () => {
  expect(isFollowed('building')).toBe(false);
  expect(isFollowed('building', { ...stray(3), finding: 'missing' })).toBe(false);
});
