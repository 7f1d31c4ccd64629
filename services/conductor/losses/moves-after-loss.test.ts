import type { Instance } from '#libs/domain/instance';
import type { Migration } from '#libs/domain/moves/migration';
import { anInstance } from '#libs/testing/instances/instance';
import { isLaterWhereItBelongs } from '../evidence';
import { isFromBefore } from '../lost-writes';
import type { RunningAt } from '../observation';
import { ConductorWorld } from '../testing/conductor-world';
import { isHeldUp } from './hearing';

const LOST = { upToMs: 1_000 };
const world = new ConductorWorld();
const uuid = world.random.uuid();

function movedBy(claimToken: number | undefined): Instance {
  const end = { attempt: 1, allocationRequest: '', requestSpec: '' };
  const migration: Migration = {
    uuid,
    kind: 'resize',
    phase: 'arrived',
    source: { ...end, host: 'h1', claimToken: 1, activeAt: undefined },
    destination: { ...end, host: 'h2', attempt: 2 },
    targetHost: '',
    claimToken,
    handover: '',
    confirmAfterMs: 0,
    confirmAtMs: undefined,
  };
  return anInstance({ uuid, state: 'verify_resize', host: 'h2', migration, updatedAtMs: 2_000 });
}

it('is from before a loss by the claims of its move, whatever was written of it since', () => {
  expect(isFromBefore(movedBy(999_999), LOST)).toBe(true);
  expect(isFromBefore(movedBy(1_000_000), LOST)).toBe(false);
});

it('is from before a loss by its last write, until its move has claims', () => {
  expect(isFromBefore(movedBy(undefined), LOST)).toBe(false);
  expect(isFromBefore({ ...movedBy(undefined), updatedAtMs: 1_000 }, LOST)).toBe(true);
});

it('goes back to its source, where the store may have forgotten that it went, and is not confirmed', () => {
  const seenAtSource = { why: '', isOfItsHost: false, isOfItsSource: true };
  const nothing = { kind: 'nothing' } as const;
  expect(isHeldUp(seenAtSource, nothing, { kind: 'record_reverting', fault: undefined })).toBe(false);
  expect(isHeldUp(seenAtSource, nothing, { kind: 'record_confirming' })).toBe(true);
  const seenElsewhere = { ...seenAtSource, isOfItsSource: false };
  expect(isHeldUp(seenElsewhere, nothing, { kind: 'record_reverting', fault: undefined })).toBe(true);
});

it.each([
  ['the same claim, as after a revert in place', 3, 5, true],
  ['a later claim', 3, 6, true],
  ['an earlier claim', 3, 4, false],
  ['the attempt on record', 2, 6, false],
])('is where it belongs by a later attempt: %s', (_what, attempt, claimToken, isLater) => {
  const attempts = [{ host: 'h1', number: 2, outcome: 'active', reason: '', startedAtMs: 0, endedAtMs: 0 }] as const;
  const record = anInstance({ uuid, state: 'verify_resize', host: 'h1', claimToken: 5, attempts });
  const instance = world.runningInstance(uuid, 'h1', { attempt, claimToken });
  expect(isLaterWhereItBelongs(record, { host: 'h1', instance } as RunningAt)).toBe(isLater);
});
