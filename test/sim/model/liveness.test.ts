import type { RecordStep, Records } from './records';
import { endsOf } from './small/ends';
import type { Scope } from './small/model-world';
import { ONE_INSTANCE } from './small/one-instance';
import { EVENTS, RESERVATIONS } from './small/scopes';

/* Each step of README.md, "What ends", in a small scope. */

/** Events of every version may be told. */
const TOLD: Scope<Records, RecordStep> = {
  ...EVENTS,
  tries: (records) => {
    const words = (records.versions['x'] ?? []).map((one) => one.split(' '));
    const told = words.map(([version, state = '']): [string, RecordStep] => {
      return [`publish ${version} ${state}`, { kind: 'publish', uuid: 'x', version: Number(version), state }];
    });
    return new Map([...EVENTS.tries(records), ...told]);
  },
};

it('leads from every state of one instance to its end on record and on every host', () => {
  const { stateCount, stuck } = endsOf(ONE_INSTANCE, ({ records, hosts }) => {
    return records.records['x']?.state === 'deleted' && Object.values(hosts).every(({ runs }) => runs === 0);
  });
  expect(stuck).toBeUndefined();
  expect(stateCount).toBeGreaterThan(1_000);
});

it('leads from every state of an outbox to an empty one', () => {
  const { stateCount, stuck } = endsOf(TOLD, ({ outbox }) => (outbox['x'] ?? []).length === 0);
  expect(stuck).toBeUndefined();
  expect(stateCount).toBeGreaterThan(500);
});

it('leads from every state at the top to one where what has ended is not reserved', () => {
  const { stateCount, stuck } = endsOf(RESERVATIONS, ({ x }) => x?.state === 'deleted' && !x.isReserved);
  expect(stuck).toBeUndefined();
  expect(stateCount).toBeGreaterThan(100);
});

it('finds the states that are stuck when a host takes no order to destroy', () => {
  const { stuck } = endsOf(
    {
      ...ONE_INSTANCE,
      step: (world, step) =>
        step.kind === 'takes' && step.order.startsWith('destroy') ? world : ONE_INSTANCE.step(world, step),
    },
    ({ records }) => records.records['x']?.state === 'deleted',
  );
  expect(stuck).toBeDefined();
});

it('finds that what has ended stays reserved where nothing is given back', () => {
  const { stuck } = endsOf(
    {
      ...RESERVATIONS,
      step: (all, step) => (step.kind === 'unreserve' ? all : RESERVATIONS.step(all, step)),
    },
    ({ x }) => x?.state === 'deleted' && !x.isReserved,
  );
  expect(stuck).toBeDefined();
});
