import { fakeClock } from '#libs/testing/fake-clock';
import type { Live } from './live';
import { publishFleet } from './publish-fleet';

it('sends all hosts again to a browser that has caught up, also when nothing more happens', async () => {
  const clock = fakeClock();
  const sent: string[] = [];
  const sink = { isBehind: false, send: (event: string) => sent.push(event) };
  let change = (_change: string) => {};
  const onFleet = (listener: (change: string) => void) => {
    change = listener;
    return () => {};
  };
  const stop = publishFleet({ fleet: { all: {} }, onFleet, clock } as unknown as Live, sink, 300);
  change('{}');
  sink.isBehind = true;
  change('{}');
  change('{}');
  await clock.advance(300);
  expect(sent).toEqual(['fleet_all', 'fleet']);
  sink.isBehind = false;
  await clock.advance(300);
  expect(sent).toEqual(['fleet_all', 'fleet', 'fleet_all']);
  change('{}');
  expect(sent.at(-1)).toBe('fleet');
  stop();
});
