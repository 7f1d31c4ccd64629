import { capacityOf } from '#libs/domain/inventory';
import type { Provider } from '#libs/domain/provider';
import type { PlacementView } from '#libs/placement/port/placement-view';
import { type Microversion, SINCE } from './http/microversion';

/** The summaries of all providers of a tree, with all their classes, in the form since microversion 1.29: JSON text. */
export function fullSummaries(view: PlacementView, rootUuid: string): string {
  return view
    .tree(rootUuid)
    .map((provider) => providerSummary(view, provider, undefined, SINCE.nestedCandidates))
    .join();
}

/**
 * A provider in an answer's `provider_summaries`, as JSON text: `"uuid":{...}`.
 *
 * @param shown  the classes in it; all when undefined
 */
export function providerSummary(
  view: PlacementView,
  { uuid, inventories, traits, parentUuid, rootUuid }: Provider,
  shown: ReadonlySet<string> | undefined,
  version: Microversion,
): string {
  const used = view.usage(uuid);
  const resources: string[] = [];
  for (const name in inventories) {
    const inventory = inventories[name];
    if (inventory === undefined || shown?.has(name) === false) continue;
    resources.push(`"${name}":{"capacity":${capacityOf(inventory)},"used":${used[name] ?? 0}}`);
  }
  const described = version >= SINCE.traitsInSummaries ? `,"traits":${namesText(traits)}` : '';
  const parent = parentUuid === undefined ? 'null' : `"${parentUuid}"`;
  const placed =
    version >= SINCE.nestedCandidates ? `,"parent_provider_uuid":${parent},"root_provider_uuid":"${rootUuid}"` : '';
  return `"${uuid}":{"resources":{${resources.join()}}${described}${placed}}`;
}

/** A JSON list of names that have no characters to escape. */
export function namesText(names: readonly string[] = []): string {
  return names.length === 0 ? '[]' : `["${names.join('","')}"]`;
}
