import type { Inventory, Resources } from '../../domain/inventory';
import { inventory } from '../../domain/inventory';
import { seededRandom } from '../../domain/random';
import { isStandardResourceClass, isStandardTrait } from '../../domain/standard-names';
import { MemoryPlacementStore } from '../../placement/memory/placement-store';
import { Mirror } from '../../placement/mirror/mirror';
import type { Command, PlacementStore } from '../../placement/port/placement-store';
import { silentLog } from '../../runtime/log';
import { fakeClock } from '../fake-clock';

/** A provider in a test's sketch. Parents come before their children. */
export interface ProviderSketch {
  readonly name: string;
  readonly parent?: string;
  /** A number is a total with default settings. */
  readonly has?: Readonly<Record<string, number | (Partial<Inventory> & { readonly total: number })>>;
  readonly traits?: readonly string[];
  /** Names of aggregates, from which {@link aggregateUuid} makes uuids. */
  readonly in?: readonly string[];
  readonly used?: Resources;
}

/** Providers in a memory store, with a mirror of it. */
export interface Forest {
  readonly store: PlacementStore;
  readonly view: Mirror;
  readonly uuidOf: (name: string) => string;
  readonly nameOf: (uuid: string) => string;
  /** Commits a command, visible in the view at once. @throws when it is refused. */
  commit(command: CommandBody): Promise<void>;
  close(): Promise<void>;
}

type CommandBody = Command extends infer C ? (C extends Command ? Omit<C, 'atMs'> : never) : never;

const AT_MS = 1_700_000_000_000;

/** A store with these providers, and a mirror of it. Custom names are created. */
export async function openForest(sketches: readonly ProviderSketch[]): Promise<Forest> {
  const store = new MemoryPlacementStore();
  const names = new Map(sketches.map(({ name }, i) => [name, numberedUuid(i + 1)]));
  const uuidOf = (name: string) => names.get(name) ?? name;
  const nameOf = (wanted: string) => [...names].find(([, uuid]) => uuid === wanted)?.[0] ?? wanted;
  const commit = async (command: CommandBody) => {
    const result = await store.commit({ ...command, atMs: AT_MS });
    if (result.kind !== 'committed' && result.kind !== 'unchanged') throw new Error(JSON.stringify(result));
    return result;
  };
  for (const command of [...catalogueOf(sketches), ...sketches.flatMap((sketch) => commandsOf(sketch, uuidOf))])
    await commit(command);
  const view = await Mirror.open(store, { clock: fakeClock(), random: seededRandom(1), log: silentLog });
  return {
    store,
    view,
    uuidOf,
    nameOf,
    async commit(command) {
      const result = await commit(command);
      if (result.kind === 'committed') view.apply(result.change);
    },
    close: () => view.close(),
  };
}

/** The uuid of an aggregate's name in sketches: a letter or a small number. */
export function aggregateUuid(name: string): string {
  return numberedUuid(0xa000 + (name.codePointAt(0) ?? 0));
}

function numberedUuid(number: number): string {
  return `00000000-0000-4000-8000-${number.toString(16).padStart(12, '0')}`;
}

function catalogueOf(sketches: readonly ProviderSketch[]): CommandBody[] {
  const classes = new Set(sketches.flatMap(({ has }) => Object.keys(has ?? {})));
  const traits = new Set(sketches.flatMap((sketch) => sketch.traits ?? []));
  return [
    ...[...classes].filter((name) => !isStandardResourceClass(name)).map((name) => created('resource_class', name)),
    ...[...traits].filter((name) => !isStandardTrait(name)).map((name) => created('trait', name)),
  ];
}

function created(catalogue: 'resource_class' | 'trait', name: string): CommandBody {
  return { kind: 'create_name', catalogue, name };
}

function commandsOf(sketch: ProviderSketch, uuidOf: (name: string) => string): CommandBody[] {
  const uuid = uuidOf(sketch.name);
  const parentUuid = sketch.parent === undefined ? undefined : uuidOf(sketch.parent);
  const entries = Object.entries(sketch.has ?? {}).map(([name, what]) => {
    const { total, ...rest } = typeof what === 'number' ? { total: what } : what;
    return [name, inventory(total, rest)] as const;
  });
  const commands: CommandBody[] = [{ kind: 'put_provider', uuid, name: sketch.name, parentUuid, mode: 'create' }];
  const labels = { providerUuid: uuid, generation: undefined };
  if (entries.length > 0) {
    const inventories = Object.fromEntries(entries);
    commands.push({ kind: 'write_inventories', ...labels, inventories, replace: true });
  }
  if (sketch.traits !== undefined) commands.push({ kind: 'write_traits', ...labels, traits: sketch.traits });
  if (sketch.in !== undefined)
    commands.push({ kind: 'write_aggregates', ...labels, aggregates: sketch.in.map(aggregateUuid) });
  if (sketch.used !== undefined) commands.push(claimOf(uuid, { [uuid]: sketch.used }));
  return commands;
}

/** A command that sets a consumer's allocations. */
export function claimOf(consumerUuid: string, allocations: Readonly<Record<string, Resources>>): CommandBody {
  const consumer = { uuid: consumerUuid, projectId: 'project', userId: 'user', consumerType: undefined };
  const write = { ...consumer, owner: 'api', allocations, mappings: {}, expect: { kind: 'any' } } as const;
  return { kind: 'write_allocations', consumers: [write] };
}
