import { isDeepStrictEqual } from 'node:util';
import { mapConcurrently } from '#libs/runtime/concurrent';
import type { Amounts, ProviderAllocations, ProviderDocument } from '../client/placement-documents';
import type { Endpoint } from './endpoint';
import { IN_FLIGHT, type ProviderState, readConsumer, readNames, readProvider, type Snapshot } from './snapshot';

/**
 * The snapshot after an earlier one, read where it may have changed: one list tells the providers with another generation, name or
 * parent, and only consumers that hold something else there are read.
 *
 * Generations do not show everything. A consumer that gives everything back by DELETE leaves the generations of OpenStack's providers as they are, so
 * the caller names providers in turn (`swept`) whose allocations are compared besides. A consumer that changes nothing but its owner is not
 * seen: a whole import is.
 *
 * @throws BerthError
 */
export async function readChanges(from: Endpoint, before: Snapshot, swept: ReadonlySet<string>): Promise<Snapshot> {
  const { resourceClasses, traits, listed } = await readNames(from);
  const heldBefore = heldByProvider(before);
  const providers = new Map<string, ProviderState>();
  const touched = new Set<string>();
  const note = (uuid: string, allocations: ProviderAllocations) => {
    const was = heldBefore.get(uuid) ?? new Map<string, Amounts>();
    for (const [consumer, { resources }] of Object.entries(allocations))
      if (!isDeepStrictEqual(was.get(consumer), resources)) touched.add(consumer);
    for (const consumer of was.keys()) if (allocations[consumer] === undefined) touched.add(consumer);
  };
  const read = await mapConcurrently(listed, IN_FLIGHT, async (document) => {
    const known = before.providers.get(document.uuid);
    if (known === undefined || !isAsKnown(document, known)) {
      const now = await readProvider(from, document);
      if (now !== undefined) note(document.uuid, now.allocations);
      return now?.provider;
    }
    if (swept.has(document.uuid)) {
      const path = `/resource_providers/${document.uuid}/allocations`;
      note(document.uuid, (await from.find<{ allocations: ProviderAllocations }>(path))?.allocations ?? {});
    }
    return known;
  });
  for (const provider of read) if (provider !== undefined) providers.set(provider.uuid, provider);
  for (const [uuid, held] of heldBefore) if (!providers.has(uuid)) for (const one of held.keys()) touched.add(one);
  const consumers = new Map(before.consumers);
  await mapConcurrently([...touched], IN_FLIGHT, async (uuid) => {
    const now = await readConsumer(from, uuid);
    if (now === undefined) consumers.delete(uuid);
    else consumers.set(uuid, now);
  });
  return { resourceClasses, traits, providers, consumers };
}

function isAsKnown(document: ProviderDocument, known: ProviderState): boolean {
  const { generation, name, parent_provider_uuid: parentUuid } = document;
  return generation === known.generation && name === known.name && parentUuid === known.parentUuid;
}

function heldByProvider({ consumers }: Snapshot): Map<string, Map<string, Amounts>> {
  const held = new Map<string, Map<string, Amounts>>();
  for (const { uuid, allocations } of consumers.values()) {
    for (const [provider, amounts] of Object.entries(allocations)) {
      const there = held.get(provider);
      if (there === undefined) held.set(provider, new Map([[uuid, amounts]]));
      else there.set(uuid, amounts);
    }
  }
  return held;
}
