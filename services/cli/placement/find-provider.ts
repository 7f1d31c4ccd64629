import { BerthError } from '#libs/domain/errors';
import { isUuid } from '#libs/domain/names';
import { inFlight } from '../pool';
import type { ProviderDocument } from './documents';
import { CALLS_IN_FLIGHT, type PlacementClient } from './placement-client';

/** The provider with a UUID or a name. @throws BerthError `not_found / no_such_provider`, and what the client throws. */
export async function findProvider(client: PlacementClient, uuidOrName: string): Promise<ProviderDocument> {
  const uuid = uuidOrName.toLowerCase();
  const [found] = await client.providers([isUuid(uuid) ? ['uuid', uuid] : ['name', uuidOrName]]);
  if (found !== undefined) return found;
  throw new BerthError('not_found', 'no_such_provider', `there is no provider ${uuidOrName}`);
}

/** All providers of the trees that these are in, by UUID; one call for each given. */
export async function readTrees(
  client: PlacementClient,
  members: Iterable<string>,
): Promise<ReadonlyMap<string, ProviderDocument>> {
  const found = new Map<string, ProviderDocument>();
  await inFlight([...new Set(members)], CALLS_IN_FLIGHT, async (member) => {
    for (const provider of await client.providers([['in_tree', member]])) found.set(provider.uuid, provider);
  });
  return found;
}
