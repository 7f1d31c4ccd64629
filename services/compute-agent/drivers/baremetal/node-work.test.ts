import { fakeClock } from '#libs/testing/fake-clock';
import type { NodeController } from './node-controller';
import { powerOff } from './node-work';

it('cuts the power again when something has switched it on meanwhile', async () => {
  const clock = fakeClock();
  const found = Array.from({ length: 8 }, (_, n) => n < 7);
  const setPower = jest.fn(async () => {});
  const status = async () => ({ isOn: found.shift() ?? false, hasBooted: false });
  const controller = { setPower, status } as Partial<NodeController> as NodeController;
  const work = {
    controller,
    clock,
    pollMs: 1_000,
    bootTimeoutMs: 60_000,
    awayMs: 0,
    note() {},
    node: undefined as never,
  };
  const cutting = powerOff(work, new AbortController().signal);
  await clock.advance(20_000);
  await cutting;
  expect(setPower.mock.calls).toEqual([['off'], ['off']]);
});
