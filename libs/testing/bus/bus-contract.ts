import { describeCalls } from './bus-contract-calls';
import { describeCasts } from './bus-contract-casts';
import { describeConcurrentCalls } from './bus-contract-concurrent-calls';
import { describeConcurrentCasts } from './bus-contract-concurrent-casts';
import { describeEvents } from './bus-contract-events';
import { describeLife } from './bus-contract-life';
import { describeSettlements } from './bus-contract-settlements';
import { BusWorld, type OpenBus } from './bus-world';

/** The contract suite of Bus. `openBus` opens one more bus on the same broker, with settings over the defaults. */
export function describeBus(name: string, openBus: OpenBus): void {
  describe(`${name} bus`, () => {
    let world: BusWorld;
    beforeEach(() => {
      world = new BusWorld(openBus);
    });
    afterEach(() => world.close());

    describe('calls', () => describeCalls(() => world));
    describe('calls of one tick to a batching queue', () => describeConcurrentCalls(() => world));
    describe('casts', () => describeCasts(() => world));
    describe('casts of one tick to a batching queue', () => describeConcurrentCasts(() => world));
    describe('settlements', () => describeSettlements(() => world));
    describe('events', () => describeEvents(() => world));
    describe('life', () => describeLife(() => world));
  });
}
