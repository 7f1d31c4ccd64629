import { fakeClock } from '#libs/testing/fake-clock';
import { aNodeRecord } from '#libs/testing/node-record';
import { watchBoot } from './boot-watch';
import { RememberedNode } from './remembered-node';

const OFF = { isOn: false, hasBooted: false };
const BOOT_TIMEOUT_MS = 10 * 60_000;

function watched(clock = fakeClock()) {
  const node = new RememberedNode(
    aNodeRecord({}),
    async () => {},
    () => clock.now(),
  );
  return watchBoot({ node, clock, bootTimeoutMs: BOOT_TIMEOUT_MS }, 'Pxe', false);
}

it('arms the boot again of a machine that stays off after its order, and gives up by the time for boots', async () => {
  const clock = fakeClock();
  const watch = watched(clock);
  expect(watch.judge(OFF)).toEqual({ kind: 'off' });
  watch.switchedOn();
  const kinds = Array.from({ length: 13 }, () => watch.judge(OFF).kind);
  expect(kinds.lastIndexOf('wait')).toBe(11);
  // It may have lost its power, and used up its one-time boot: its disk would be booted.
  expect(kinds.at(-1)).toBe('off');
  watch.switchedOn();
  await clock.advance(BOOT_TIMEOUT_MS);
  expect(() => watch.judge(OFF)).toThrow(/does not switch on/);
});

it.each([5, 20, 40])(
  'gives out a machine that is shown on %i looks after it was, booted from what it was told to',
  (late) => {
    const watch = watched();
    let [pending, booted, wasOnAt] = ['', '', Number.POSITIVE_INFINITY];
    for (let look = 1; look < 400; look++) {
      const isOn = look >= wasOnAt + late;
      const verdict = watch.judge({ isOn, hasBooted: look >= wasOnAt + late + 3, pendingBoot: pending });
      if (verdict.kind === 'booted') break;
      if (verdict.kind === 'wait') continue;
      if (verdict.kind === 'unseen') wasOnAt = Number.POSITIVE_INFINITY;
      pending = 'Pxe';
      if (wasOnAt === Number.POSITIVE_INFINITY) [wasOnAt, booted, pending] = [look, pending, ''];
      watch.switchedOn();
    }
    expect([booted, pending]).toEqual(['Pxe', '']);
  },
);

it('gives out no machine whose disk boots each time, however often it was armed again', () => {
  const watch = watched();
  watch.judge(OFF);
  watch.switchedOn();
  for (let look = 0; look < 13; look++) watch.judge(OFF);
  watch.switchedOn();
  const disk = { isOn: true, hasBooted: true, pendingBoot: 'Pxe', progress: 'OSRunning' };
  const kinds = Array.from({ length: 12 }, () => watch.judge(disk).kind);
  expect(kinds.at(-1)).toBe('unseen');
  watch.switchedOn();
  expect(() => Array.from({ length: 12 }, () => watch.judge(disk))).toThrow(/something else has booted/);
});
