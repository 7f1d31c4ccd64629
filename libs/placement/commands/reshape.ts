import type { Consumer } from '../../domain/consumer';
import type { Inventories } from '../../domain/inventory';
import type { ConsumerWrite, Reshape } from '../port/placement-store';
import { checkedWrites } from './allocation-command';
import {
  type AllocationPlan,
  type AllocationState,
  countersOfMember,
  countersOfWrite,
  decideAllocations,
  planWrites,
} from './allocations';
import { isCustom, refuseUnknown } from './catalogue';
import { putInventories, refuseGeneration } from './provider-attributes';
import { projectKey, type Stored, type TableName, type Tables } from './tables';
import type { Decided, Timed, Transaction } from './transaction';

const NO_PLAN: AllocationPlan = {
  kind: 'plan',
  consumers: new Map(),
  usages: new Map(),
  counts: new Map(),
  projects: new Map(),
};

/** Inventories and allocations in one step. Whether a removed class is in use is checked on the result. */
export async function reshape(tx: Transaction, command: Timed<Reshape>): Decided {
  const { atMs } = command;
  const consumers = checkedWrites(command.consumers);
  const next = new Map<string, Inventories>();
  for (const { providerUuid, generation, inventories } of command.inventories) {
    if (!(await tx.get('provider', providerUuid))) return { kind: 'not_found', subject: 'provider', key: providerUuid };
    const refusal =
      (await refuseGeneration(tx, providerUuid, generation)) ??
      (await refuseUnknown(tx, 'resource_class', Object.keys(inventories)));
    if (refusal) return refusal;
    next.set(providerUuid, inventories);
  }
  const state = await readState(tx, consumers, next);
  const decided = decideAllocations(state, consumers, { atMs, force: false, withinQuota: false });
  if (decided.kind !== 'plan' && decided.kind !== 'unchanged') return decided;
  const plan = decided.kind === 'plan' ? decided : undefined;
  const usages = new Map(plan?.usages);
  for (const [uuid, inventories] of next) {
    const [provider, usage] = [state.providers.get(uuid), usages.get(uuid) ?? state.usage(uuid)?.row];
    const inUse = Object.keys(usage?.used ?? {}).find((resourceClass) => !inventories[resourceClass]);
    if (inUse !== undefined) return { kind: 'in_use', subject: 'inventory', key: inUse, by: 'allocations' };
    if (!provider || !usage) continue;
    putInventories(tx, provider, inventories, atMs);
    usages.set(uuid, { ...usage, generation: usage.generation + stepsTo(inventories) });
  }
  if (!plan && next.size === 0) return { kind: 'unchanged' };
  tx.write(...planWrites({ ...(plan ?? NO_PLAN), usages }, state));
  return undefined;
}

/**
 * Placement writes inventories twice, with the allocations between, and raises the generation each time; clients and their
 * tests rely on it. The first time it removes none, and so skips a provider that is to have none.
 */
function stepsTo(inventories: Inventories): number {
  return Object.keys(inventories).length === 0 ? 1 : 2;
}

interface ReshapeState extends AllocationState {
  readonly providers: ReadonlyMap<string, Tables['provider']>;
}

/** Everything that the decision may read, read (and so guarded) beforehand. */
async function readState(
  tx: Transaction,
  writes: readonly ConsumerWrite[],
  next: ReadonlyMap<string, Inventories>,
): Promise<ReshapeState> {
  const consumers = await readAll(tx, 'consumer', unique(writes.map((write) => write.uuid)));
  const held = [...consumers.values()].flatMap(({ row }) => Object.keys(row.allocations));
  const taken = writes.flatMap((write) => Object.keys(write.allocations));
  const uuids = unique([...next.keys(), ...held, ...taken]);
  const providers = await readAll(tx, 'provider', uuids);
  const usages = await readAll(tx, 'usage', uuids);
  const classes = unique(writes.flatMap((write) => Object.values(write.allocations).flatMap(Object.keys)));
  const known = await readAll(tx, 'resource_class', classes.filter(isCustom));
  const counts = new Map<string, number>();
  const olds = [...consumers.values()].map(({ row }) => row);
  for (const name of groupCounters(writes, olds)) counts.set(name, await tx.count(name));
  const projects = await readAll(
    tx,
    'project_usage',
    unique([...writes, ...olds].map(({ projectId }) => projectKey(projectId))),
  );
  return {
    providers: new Map([...providers].map(([uuid, { row }]) => [uuid, row])),
    consumer: (uuid) => consumers.get(uuid)?.row,
    usage: (uuid) => usages.get(uuid),
    inventories(uuid) {
      const present = providers.get(uuid)?.row.inventories;
      // A removed class is still there for the allocations; then it is found in use.
      return present && { ...present, ...next.get(uuid) };
    },
    count: (name) => counts.get(name) ?? 0,
    hasClass: (name) => known.has(name),
    // It moves what is held.
    nominated: () => undefined,
    // It is bound by no quota.
    quota: () => undefined,
    cohort: () => [],
    projectUsage: (key) => projects.get(key)?.row,
  };
}

async function readAll<T extends TableName>(
  tx: Transaction,
  table: T,
  keys: readonly string[],
): Promise<Map<string, Stored<Tables[T]>>> {
  const rows = await tx.getStored(table, keys);
  const found = new Map<string, Stored<Tables[T]>>();
  for (const [i, key] of keys.entries()) {
    const stored = rows[i];
    if (stored) found.set(key, stored);
  }
  return found;
}

function groupCounters(writes: readonly ConsumerWrite[], olds: readonly Consumer[]): string[] {
  return unique([...writes.flatMap(countersOfWrite), ...olds.flatMap(countersOfMember)]);
}

function unique(keys: readonly string[]): string[] {
  return [...new Set(keys)];
}
