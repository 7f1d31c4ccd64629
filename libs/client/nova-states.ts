import type { InstanceEvent, InstanceView, ListInstancesRequest } from '../contracts/instance';
import { invalidArgument } from '../domain/errors';
import { type InstanceState, nameOfState, INSTANCE_STATES as STATES, type StateName } from '../domain/instance';
import type { Client } from './client';

export type { StateName };
export const STATE_NAMES = STATES.map(nameOfState);

/** A state as programs may write it: in either case. */
type WrittenState = StateName | InstanceState;

type Spelled<T extends { readonly state: InstanceState }> = Omit<T, 'state'> & { readonly state: StateName };
export type SpelledEvent = Spelled<InstanceEvent>;
export type SpelledInstance = Spelled<InstanceView>;

/** The state of this name, in either case. @throws BerthError `invalid_argument / unknown_state`. */
export function stateOfName(text: string): InstanceState {
  const state = STATES.find((one) => one === text.toLowerCase());
  if (state !== undefined) return state;
  throw invalidArgument(
    'unknown_state',
    `there is no state '${text}'; the states are ${STATE_NAMES.join(', ')}`,
    'state',
  );
}

/** An event or an instance with its state in Nova's spelling. */
export function spelled<T extends { readonly state: InstanceState }>(seen: T): Spelled<T> {
  return { ...seen, state: nameOfState(seen.state) };
}

type Arguments<M extends keyof Client> = Client[M] extends (...args: infer A) => unknown ? A : never;
type Query<T> = Omit<T, 'state'> & { readonly state?: WrittenState | undefined };

/** The methods of a client whose answers have states. */
interface SpelledMethods {
  buildAndWait(...args: Arguments<'buildAndWait'>): Promise<SpelledEvent[]>;
  terminateAndWait(...args: Arguments<'terminateAndWait'>): Promise<SpelledEvent>;
  operate(...args: Arguments<'operate'>): Promise<SpelledInstance>;
  operateAndWait(...args: Arguments<'operateAndWait'>): Promise<SpelledEvent>;
  wait(uuid: string, states?: readonly WrittenState[], options?: Arguments<'wait'>[2]): Promise<SpelledEvent>;
  instance(uuid: string): Promise<SpelledInstance>;
  instances(query?: Query<Partial<ListInstancesRequest>>, most?: number): Promise<SpelledInstance[]>;
  events(filter?: Query<NonNullable<Arguments<'events'>[0]>>, signal?: AbortSignal): AsyncIterable<SpelledEvent>;
}

/** `Client` with states in Nova's spelling: programs see it, Berth's own code does not. */
export type SpelledClient = Omit<Client, keyof SpelledMethods> & SpelledMethods;

export function spelling(client: Client): SpelledClient {
  const own: SpelledMethods = {
    buildAndWait: async (...args) => (await client.buildAndWait(...args)).map(spelled),
    terminateAndWait: async (...args) => spelled(await client.terminateAndWait(...args)),
    operate: async (...args) => spelled(await client.operate(...args)),
    operateAndWait: async (...args) => spelled(await client.operateAndWait(...args)),
    wait: async (uuid, states, options) => spelled(await client.wait(uuid, states?.map(stateOfName), options)),
    instance: async (uuid) => spelled(await client.instance(uuid)),
    instances: async (query = {}, most) => (await client.instances(withState(query), most)).map(spelled),
    async *events(filter = {}, signal) {
      for await (const event of client.events(withState(filter), signal)) yield spelled(event);
    },
  };
  const get = (_: object, name: string | symbol) => {
    const value: unknown = Reflect.get(own, name) ?? Reflect.get(client, name);
    return typeof value === 'function' ? value.bind(client) : value;
  };
  return new Proxy(client, { get }) as unknown as SpelledClient;
}

function withState<T extends { readonly state?: WrittenState | undefined }>(query: T) {
  return { ...query, state: query.state && stateOfName(query.state) };
}
