import type { InstanceEvent, InstanceView } from '../contracts/instance';
import type { Client } from './client';
import { STATE_NAMES, spelled, spelling, stateOfName } from './nova-states';

const view = { uuid: 'u', state: 'verify_resize' } as InstanceView;
const event = { instanceUuid: 'u', state: 'active' } as InstanceEvent;

/** A client that has one instance and one event, and notes what it is asked. */
function clientNoting(asked: unknown[]): Client {
  return {
    instances: async (...args: unknown[]) => {
      asked.push(args);
      return [view];
    },
    async *events(filter: unknown) {
      asked.push(filter);
      yield event;
    },
    wait: async (...args: unknown[]) => {
      asked.push(args);
      return event;
    },
    hosts: async () => ['host-1'],
    groups: { list: async () => [] },
  } as unknown as Client;
}

it('gives programs states in upper case, and takes them in either', async () => {
  const asked: unknown[] = [];
  const client = spelling(clientNoting(asked));
  expect(await client.instances({ state: 'VERIFY_RESIZE', host: 'h' }, 3)).toMatchObject([{ state: 'VERIFY_RESIZE' }]);
  expect(await client.wait('u', ['ACTIVE', 'error'])).toMatchObject({ instanceUuid: 'u', state: 'ACTIVE' });
  for await (const one of client.events({ state: 'ACTIVE' })) expect(one.state).toBe('ACTIVE');
  expect(asked).toEqual([
    [{ state: 'verify_resize', host: 'h' }, 3],
    ['u', ['active', 'error'], undefined],
    { state: 'active' },
  ]);
});

it('has all that has no states as it is', async () => {
  const client = spelling(clientNoting([]));
  expect(await client.hosts()).toEqual(['host-1']);
  expect(await client.groups.list()).toEqual([]);
});

it('knows every state by its name, and no other', () => {
  expect(STATE_NAMES).toContain('SHELVED_OFFLOADED');
  expect(STATE_NAMES.map((name) => spelled({ state: stateOfName(name) }).state)).toEqual(STATE_NAMES);
  expect(() => stateOfName('ACTIV')).toThrow("there is no state 'ACTIV'; the states are SCHEDULING, ");
});
