import { fakeClock } from '#libs/testing/fake-clock';
import type { NodeController } from './node-controller';
import { powerOff } from './node-work';

it('cuts the power again when something has switched it on meanwhile', async () => {
  const clock = fakeClock();
  const found = [true, true, false];
  const setPower = jest.fn(async () => {});
  const status = async () => ({ isOn: found.shift() ?? false, hasBooted: false });
  const controller = { setPower, status } as Partial<NodeController> as NodeController;
  const cutting = powerOff({ controller, clock, pollMs: 1_000 }, new AbortController().signal);
  await clock.advance(5_000);
  await cutting;
  expect(setPower.mock.calls).toEqual([['off'], ['off'], ['off']]);
});
