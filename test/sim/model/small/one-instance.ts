import { NO_RECORDS, type RecordStep, type Records, stepRecords, type Version } from '../records';
import { isBroken, type Maps, withEntry } from '../step';
import type { Scope } from './model-world';

const UUID = 'x';
const HOSTS = ['h1', 'h2'];
const MOST_ATTEMPTS = 2;

/** A host: the attempt that it runs, if any, the last that it has destroyed, and all that it has ever said. */
interface SmallHost {
  readonly runs: number;
  readonly destroyed: number;
  readonly said: readonly string[];
}

interface OneInstance {
  readonly records: Records;
  readonly hosts: Maps<SmallHost>;
}

type InstanceStep =
  | { readonly kind: 'record'; readonly step: RecordStep }
  /** A host takes an order that was sent, for the first time or again. */
  | { readonly kind: 'takes'; readonly host: string; readonly order: string };

/**
 * One instance and two hosts. Conductors give up an attempt whenever they like, build the next, and write ACTIVE on a host's word, of
 * whenever it was; a client ends it. Orders and words come in any order, late, twice or never.
 */
export const ONE_INSTANCE: Scope<OneInstance, InstanceStep> = {
  begin: {
    records: NO_RECORDS,
    hosts: Object.fromEntries(HOSTS.map((host) => [host, { runs: 0, destroyed: 0, said: [] }])),
  },
  tries: (world) => {
    const steps = [
      ...conductorSteps(world).map((step): InstanceStep => ({ kind: 'record', step })),
      ...deliveries(world),
    ];
    return new Map(steps.map((step) => [JSON.stringify(step), step]));
  },
  step: (world, step) => {
    if (step.kind === 'takes') return takes(world, step.host, step.order);
    const records = stepRecords(world.records, step.step);
    // Events are a scope of their own.
    return isBroken(records) ? records : { ...world, records: { ...records, outbox: {}, versions: {} } };
  },
  wrong: (_, after) => wrongWith(after),
};

function conductorSteps({ records, hosts }: OneInstance): RecordStep[] {
  const record = records.records[UUID];
  if (!record) return [{ kind: 'create', next: first }];
  const { version, state, attempt, host, begun } = record;
  const write = (change: Partial<Version>): RecordStep => {
    return { kind: 'update', next: { ...record, version: version + 1, ...change } };
  };
  const steps: RecordStep[] = [];
  const isOpen = state === 'scheduling' || state === 'building';
  for (const next of isOpen && attempt < MOST_ATTEMPTS ? HOSTS : []) {
    const begins = [...begun, `${attempt + 1} on ${next}`];
    steps.push(write({ state: 'building', host: next, attempt: attempt + 1, begun: begins }));
  }
  const words = (host && hosts[host]?.said) || [];
  if (state === 'building' && words.includes(`built ${attempt}`)) steps.push(write({ state: 'active' }));
  if (state === 'building' || state === 'active') steps.push(write({ state: 'deleting' }));
  if (state === 'deleting' && words.includes(`gone ${attempt}`)) steps.push(write({ state: 'deleted' }));
  for (const to of HOSTS) {
    for (let n = 1; n <= MOST_ATTEMPTS; n++) {
      // Destroys given-up copies, and instances to be deleted.
      const isOver = n < attempt || (state === 'deleting' && n === attempt);
      if (!begun.includes(`${n} on ${to}`)) continue;
      steps.push({ kind: 'build', uuid: UUID, host: to, attempt: n });
      if (isOver) steps.push({ kind: 'destroy', uuid: UUID, host: to, attempt: n });
    }
  }
  return steps;
}

const first: Version = {
  uuid: UUID,
  version: 1,
  state: 'scheduling',
  host: undefined,
  attempt: 0,
  begun: [],
  token: undefined,
};

function deliveries({ records }: OneInstance): InstanceStep[] {
  return (records.ordered[UUID] ?? []).map((order) => ({ kind: 'takes', host: order.split(' ')[3] as string, order }));
}

/** A host builds nothing that it has destroyed, and destroys no later attempt than it is told. */
function takes(world: OneInstance, name: string, order: string): OneInstance {
  const host = world.hosts[name] as SmallHost;
  const [kind, number] = order.split(' ');
  const attempt = Number(number);
  const say = (one: SmallHost, word: string) => ({ ...one, said: [...new Set([...one.said, word])].toSorted() });
  const next =
    kind === 'build'
      ? attempt > Math.max(host.runs, host.destroyed)
        ? say({ ...host, runs: attempt }, `built ${attempt}`)
        : host
      : host.runs > attempt
        ? host
        : say({ ...host, runs: 0, destroyed: Math.max(host.destroyed, attempt) }, `gone ${attempt}`);
  return { ...world, hosts: withEntry(world.hosts, name, next) };
}

function wrongWith({ records, hosts }: OneInstance): string | undefined {
  const record = records.records[UUID];
  if (!record) return undefined;
  const { state, host = '', attempt } = record;
  const runs = hosts[host]?.runs ?? 0;
  if (state === 'active' && runs !== attempt) return `it is ACTIVE on ${host}, which runs attempt ${runs}`;
  if (state === 'deleted' && runs === attempt) return `it is DELETED, and runs on ${host}`;
  const later = HOSTS.find((name) => (hosts[name]?.runs ?? 0) > attempt);
  if (later !== undefined) return `${later} runs an attempt that no record has`;
  return undefined;
}
