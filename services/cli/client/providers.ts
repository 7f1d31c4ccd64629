import { BerthError } from '#libs/domain/errors';
import { isUuid } from '#libs/domain/names';
import { mapConcurrently } from '#libs/runtime/concurrent';
import { CALLS_IN_FLIGHT, type PlacementClient } from './placement-client';
import type { Amounts, InventoryDocuments, ProviderDocument } from './placement-documents';

/** A provider with its inventories and usages. */
export interface StockedProvider extends ProviderDocument {
  readonly inventories: InventoryDocuments;
  readonly usages: Amounts;
}

/** The provider with this UUID or name. @throws BerthError `not_found / no_such_provider`, and errors of the client. */
export async function findProvider(client: PlacementClient, uuidOrName: string): Promise<ProviderDocument> {
  const uuid = uuidOrName.toLowerCase();
  const [found] = await client.providers([isUuid(uuid) ? ['uuid', uuid] : ['name', uuidOrName]]);
  if (found !== undefined) return found;
  throw new BerthError('not_found', 'no_such_provider', `there is no provider ${uuidOrName}`);
}

/** All providers of the trees of these members, by UUID; one call per member. */
export async function readTrees(
  client: PlacementClient,
  members: Iterable<string>,
): Promise<ReadonlyMap<string, ProviderDocument>> {
  const trees = await mapConcurrently([...new Set(members)], CALLS_IN_FLIGHT, (member) =>
    client.providers([['in_tree', member]]),
  );
  return new Map(trees.flat().map((provider) => [provider.uuid, provider]));
}

/** A provider with its inventories and usages: two calls, because the API takes one uuid. */
export async function readStock(client: PlacementClient, provider: ProviderDocument): Promise<StockedProvider> {
  const { uuid } = provider;
  const [inventories, usages] = await Promise.all([client.inventories(uuid), client.usages(uuid)]);
  return { ...provider, inventories, usages };
}

/** Reads the stock of several providers. */
export function readStocks(
  client: PlacementClient,
  providers: readonly ProviderDocument[],
): Promise<StockedProvider[]> {
  return mapConcurrently(providers, CALLS_IN_FLIGHT, (provider) => readStock(client, provider));
}

/** The entries of a document by provider, each with the name of its provider. */
export function withNames(
  byProvider: Readonly<Record<string, object>>,
  providers: ReadonlyMap<string, ProviderDocument>,
): object {
  const named = ([uuid, entry]: [string, object]) => [uuid, { name: providers.get(uuid)?.name, ...entry }];
  return Object.fromEntries(Object.entries(byProvider).map(named)) as object;
}
