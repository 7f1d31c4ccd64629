import { fakeClock } from '#libs/testing/fake-clock';
import { aNodeRecord } from '#libs/testing/node-record';
import { watchBoot } from './boot-watch';
import { RememberedNode } from './remembered-node';

const OFF = { isOn: false, hasBooted: false };
const BOOT_TIMEOUT_MS = 10 * 60_000;

it('arms the boot again of a machine that stays off after its order, and gives up by the time for boots', async () => {
  const clock = fakeClock();
  const node = new RememberedNode(
    aNodeRecord({}),
    async () => {},
    () => clock.now(),
  );
  const watch = watchBoot({ node, clock, bootTimeoutMs: BOOT_TIMEOUT_MS }, 'Pxe', false);
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
