import { type Identity, speaksForProject } from '#libs/contracts/identity';
import type { InstanceView, ListInstancesRequest, ListInstancesResponse } from '#libs/contracts/instance';
import { instanceView } from '#libs/contracts/instance-view';
import { ownFilter } from '#libs/contracts/own-instances';
import type { Instance } from '#libs/domain/instance';
import type { Conductor } from '../conductor';
import { weighQueue } from '../pending/keep-queue';
import { PLACES_AGE_MS } from '../pending/pending-queue';

/**
 * Instances that match, of those that are the sender's: a page by uuid, or one by its uuid.
 *
 * @throws BerthError `permission_denied / wrong_project`.
 */
export async function listInstances(
  c: Conductor,
  request: ListInstancesRequest,
  sender: Identity,
): Promise<ListInstancesResponse> {
  const { instanceUuid, marker, limit } = request;
  if (instanceUuid !== '') {
    const found = await c.instances.get([instanceUuid]);
    const own = found.filter((instance) => speaksForProject(sender, instance.projectId));
    return { instances: await shownTo(c, sender, await withPlaces(c, own)) };
  }
  const listed = await c.instances.list(ownFilter(request, sender), marker || undefined, limit);
  return { instances: await shownTo(c, sender, await withPlaces(c, listed)) };
}

/** Tenants see their own instances only among those about to be preempted. */
export async function shownTo(c: Conductor, sender: Identity, views: readonly InstanceView[]): Promise<InstanceView[]> {
  const uuids = sender.kind === 'service' ? [] : views.flatMap(({ waiting }) => waiting?.victims ?? []);
  if (uuids.length === 0) return [...views];
  const others = await c.instances.get([...new Set(uuids)]);
  const own = new Set(others.filter(({ projectId }) => speaksForProject(sender, projectId)).map(({ uuid }) => uuid));
  return views.map((view) => {
    if (view.waiting === undefined) return view;
    const victims = view.waiting.victims.filter((uuid) => own.has(uuid));
    return { ...view, waiting: { ...view.waiting, victims } };
  });
}

/** With the place in the queue of those who wait, and when it may be their turn. */
async function withPlaces(c: Conductor, instances: readonly Instance[]): Promise<InstanceView[]> {
  if (instances.every(({ state }) => state !== 'pending')) return instances.map(instanceView);
  await c.pending.refresh(PLACES_AGE_MS);
  await weighQueue(c);
  let { places, expectedAtMs, standings, halfLifeMs } = await c.pending.places();
  const isUnknown = ({ state, requestId }: Instance) => state === 'pending' && !places.has(requestId);
  if (instances.some(isUnknown)) {
    await c.pending.refresh();
    ({ places, expectedAtMs, standings, halfLifeMs } = await c.pending.places());
  }
  return instances.map((instance) => {
    const view = instanceView(instance);
    if (view.waiting === undefined) return view;
    const { requestId } = instance;
    const place = places.get(requestId) ?? 0;
    const found = standings.get(requestId);
    const standing = found && { ...found, halfLifeMs };
    const expected = expectedAtMs.get(requestId) ?? 0;
    return { ...view, waiting: { ...view.waiting, place, expectedAtMs: expected, ...(standing && { standing }) } };
  });
}
