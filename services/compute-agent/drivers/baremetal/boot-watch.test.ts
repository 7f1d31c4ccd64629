import { fakeClock } from '#libs/testing/fake-clock';
import { aNodeRecord } from '#libs/testing/node-record';
import { MAX_SWITCH_ON_MS, watchBoot } from './boot-watch';
import { RememberedNode } from './remembered-node';

const OFF = { isOn: false, hasBooted: false };
const BOOT_TIMEOUT_MS = 10 * 60_000;

it('orders the power of a slow machine again, its boot device once its time is over, and gives up by the time for boots', async () => {
  const clock = fakeClock();
  const node = new RememberedNode(
    aNodeRecord({}),
    async () => {},
    () => clock.now(),
  );
  const watch = watchBoot({ node, clock, bootTimeoutMs: BOOT_TIMEOUT_MS }, 'Pxe', false);
  expect(watch.judge(OFF)).toEqual({ kind: 'off' });
  watch.switchedOn();
  const kinds = Array.from({ length: 36 }, () => watch.judge(OFF).kind);
  expect(kinds.filter((kind) => kind === 'still_off')).toHaveLength(3);
  expect(new Set(kinds)).toEqual(new Set(['wait', 'still_off']));
  await clock.advance(MAX_SWITCH_ON_MS);
  expect(watch.judge(OFF)).toEqual({ kind: 'off' });
  watch.switchedOn();
  await clock.advance(BOOT_TIMEOUT_MS);
  expect(() => watch.judge(OFF)).toThrow(/does not switch on/);
});
