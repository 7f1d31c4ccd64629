import { groupKey } from '#libs/domain/server-group';
import type { PlacementView } from '#libs/placement/port/placement-view';
import type { NovaFacts } from '../facts/nova-facts';
import type { LocateInstances } from '../filters/filter';
import type { NovaRequest } from '../request/nova-request';
import { guardedGroupId } from '../request/server-group';

/** Roots of hosts where members of the request's group got claims, other than the one that is placed. */
export function claimedRoots(
  { group, projectId }: NovaRequest,
  view: PlacementView,
  except: string | undefined,
): ReadonlySet<string> {
  if (group === undefined) return new Set();
  const members = view.groupMembers(groupKey(projectId, guardedGroupId(group)));
  return new Set([...members].flatMap((uuid) => (uuid === except ? [] : (view.consumer(uuid)?.groupHost ?? []))));
}

/**
 * Locates instances: on the hosts that Nova names, and on those where they hold allocations, which is known sooner. A moving
 * instance is on both sides.
 */
export function locateInstances(
  view: PlacementView,
  facts: NovaFacts,
  placedOn: ReadonlyMap<string, string>,
): LocateInstances {
  return (uuids) => {
    const wanted = [...uuids];
    const byRoot = new Map<string, Set<string>>();
    const note = (root: string | undefined, uuid: string) => {
      if (root === undefined) return;
      const here = byRoot.get(root);
      if (here === undefined) byRoot.set(root, new Set([uuid]));
      else here.add(uuid);
    };
    for (const uuid of wanted) {
      note(placedOn.get(uuid), uuid);
      for (const provider of Object.keys(view.consumer(uuid)?.allocations ?? {}))
        note(view.provider(provider)?.rootUuid, uuid);
    }
    return ({ node }) => {
      const here = new Set(byRoot.get(node.uuid));
      const known = facts.instancesOn(node.host);
      if (known.size > 0) for (const uuid of wanted) if (known.has(uuid)) here.add(uuid);
      return here;
    };
  };
}
