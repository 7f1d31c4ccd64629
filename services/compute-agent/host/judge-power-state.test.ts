import type { SetPowerState } from '#libs/contracts/power';
import { judgePowerState } from './judge-power-state';
import type { TrackedInstance } from './tracked-instance';

const tracked = { state: 'running', attempt: 1, claimToken: 7, poweredAt: undefined } as TrackedInstance;
const order = {
  attempt: 1,
  claimToken: 7,
  powerState: 'shutdown',
  restsOnEpoch: 4,
  restsOnPosition: 2,
} as SetPowerState;

it('does an order that rests on what this run has said', () => {
  expect(judgePowerState(order, tracked, 4)).toBe('stop');
});

it('does no order that rests on what an earlier run has said: its disk may have been set back since', () => {
  expect(judgePowerState(order, tracked, 5)).toBe('report');
});

it('starts nothing by an order that rests on no word of its host and was given for an earlier run', () => {
  const stopped = { ...tracked, state: 'stopped' } as TrackedInstance;
  const start = { ...order, powerState: 'running', restsOnEpoch: 0, restsOnPosition: 0, epoch: 4 } as SetPowerState;
  expect(judgePowerState(start, stopped, 5)).toBe('report');
  expect(judgePowerState(start, stopped, 4)).toBe('start');
});
