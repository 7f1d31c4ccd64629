import { isDeepStrictEqual } from 'node:util';
import type { Host } from '../../domain/host';
import type { Inventories } from '../../domain/inventory';
import type { ReportHost } from '../store';
import { countUsers, createMissing } from './custom-names';
import type { Refusal, StoredProvider } from './tables';
import type { Transaction } from './transaction';

/** Makes the host and its root provider what its agent says they are. */
export async function reportHost(
  tx: Transaction,
  command: ReportHost & { atMs: number },
): Promise<Refusal | undefined> {
  const { host: name, providerUuid, agentRun, sequence, atMs } = command;
  const [host, last, provider] = await Promise.all([
    tx.get('host', name),
    tx.get('sequence', name),
    tx.get('provider', providerUuid),
  ]);
  if (last?.agentRun === agentRun && sequence <= last.sequence) return { kind: 'stale', present: last.sequence };
  const taken = await refuseTaken(tx, name, providerUuid, provider);
  if (taken) return taken;
  await createMissing(tx, 'resource_class', Object.keys(command.inventories), atMs);
  await createMissing(tx, 'trait', command.traits, atMs);
  await writeProvider(tx, command, provider);
  if (host && host.providerUuid !== providerUuid) await unlink(tx, host.providerUuid);
  const next = nextHost(command, host);
  if (!host || !isSame(host, next)) tx.put('host', name, next);
  tx.put('sequence', name, { agentRun, sequence });
  tx.write({ kind: 'beat', host: name, atMs });
  return undefined;
}

/** Whether the rows say already what the report says, so that it is but a heartbeat. */
export function isKnown(command: ReportHost & { atMs: number }, host: Host, provider: Said): boolean {
  const { inventories, traits, aggregates = provider.aggregates } = command;
  return (
    isSame(host, nextHost(command, host)) && isDeepStrictEqual({ inventories, traits, aggregates }, saidOf(provider))
  );
}

/** Neither another provider may have the host's name, nor another host the provider. */
async function refuseTaken(
  tx: Transaction,
  host: string,
  providerUuid: string,
  provider: StoredProvider | undefined,
): Promise<Refusal | undefined> {
  if (!provider) {
    return (await tx.get('name', host)) ? { kind: 'exists', subject: 'provider', key: host } : undefined;
  }
  const isFree = provider.host === undefined || provider.host === host;
  return isFree ? undefined : { kind: 'exists', subject: 'provider', key: providerUuid };
}

async function writeProvider(
  tx: Transaction,
  command: ReportHost & { atMs: number },
  provider: StoredProvider | undefined,
): Promise<void> {
  const { host, providerUuid: uuid, traits, atMs } = command;
  const inventories = await keepUsed(tx, provider, command.inventories);
  const aggregates = command.aggregates ?? provider?.aggregates ?? [];
  const said = { inventories, traits, aggregates };
  const isSaid = provider !== undefined && isDeepStrictEqual(said, saidOf(provider));
  if (isSaid && provider.host === host) return;
  countUsers(tx, 'resource_class', Object.keys(provider?.inventories ?? {}), Object.keys(inventories));
  countUsers(tx, 'trait', provider?.traits ?? [], traits);
  const base = provider ?? { uuid, name: host, parentUuid: undefined, rootUuid: uuid, createdAtMs: atMs };
  tx.put('provider', uuid, { ...base, ...said, host, updatedAtMs: atMs });
  if (provider) return tx.write({ kind: isSaid ? 'show' : 'raise', key: uuid });
  tx.put('usage', uuid, { generation: 0, used: {} });
  tx.put('name', host, { uuid });
}

/** What an agent says of its provider. */
type Said = Pick<StoredProvider, 'inventories' | 'traits' | 'aggregates'>;

function saidOf({ inventories, traits, aggregates }: Said): Said {
  return { inventories, traits, aggregates };
}

/** The host has another provider now; the one it had stays, as nobody's. */
async function unlink(tx: Transaction, providerUuid: string): Promise<void> {
  const provider = await tx.get('provider', providerUuid);
  if (!provider) return;
  tx.put('provider', providerUuid, { ...provider, host: undefined });
  tx.write({ kind: 'show', key: providerUuid });
}

/** The reported inventories, and those in use that the report leaves out. */
async function keepUsed(
  tx: Transaction,
  provider: StoredProvider | undefined,
  reported: Inventories,
): Promise<Inventories> {
  const gone = Object.entries(provider?.inventories ?? {}).filter(([resourceClass]) => !reported[resourceClass]);
  if (!provider || gone.length === 0) return reported;
  // Read only now: claims change it all the time, and each would make this report start again.
  const used = (await tx.get('usage', provider.uuid))?.used ?? {};
  return { ...reported, ...Object.fromEntries(gone.filter(([resourceClass]) => used[resourceClass] !== undefined)) };
}

function nextHost(command: ReportHost & { atMs: number }, host: Host | undefined): Host {
  const { providerUuid, cell, serviceHost, availabilityZone, capabilities, ioOps, externalInstances } = command;
  const { agentRun, sequence } = command;
  const kept = host ?? { enabled: true, disabledReason: '', failures: 0, lastFailureAtMs: 0 };
  return {
    ...kept,
    name: command.host,
    providerUuid,
    cell,
    serviceHost,
    availabilityZone,
    capabilities,
    ioOps,
    externalInstances,
    agentRun,
    sequence,
    up: true,
    updatedAtMs: command.atMs,
  };
}

function isSame(host: Host, next: Host): boolean {
  return isDeepStrictEqual(host, { ...next, sequence: host.sequence, updatedAtMs: host.updatedAtMs });
}
