import type { Instance, Moving } from '#libs/domain/instance';
import { bytesOf } from '#libs/domain/moves/migration';
import { groupKey } from '#libs/domain/server-group';
import type { ConductorContext } from '../../context';
import { lookAt, type ReconcileInput } from '../../observation';
import { isYetToLeave } from '../../reconcile/moves';
import { openRequest } from '../claims';

type Placed = Pick<Instance, 'uuid' | 'projectId' | 'host' | 'allocationRequest'>;

/** The affinity group of an instance, with its host; undefined when it has none. By its claim, which has the rules of a stored group. */
export function affinityGroupOf(
  c: ConductorContext,
  { projectId, host, allocationRequest }: Omit<Placed, 'uuid'>,
): string | undefined {
  const group = openRequest(c, allocationRequest)?.group;
  return group?.policy === 'affinity' ? `${host} ${groupKey(projectId, group.id)}` : undefined;
}

/** The others of an instance's affinity group that are on its host. */
export async function matesOf(c: ConductorContext, record: Placed): Promise<readonly Instance[]> {
  const group = affinityGroupOf(c, record);
  if (group === undefined || record.host === undefined) return [];
  const there = await c.instances.list({ host: record.host }, undefined, MAX_MATES);
  return there.filter((one) => one.uuid !== record.uuid && affinityGroupOf(c, one) === group);
}

/** More of a group than one host has. */
const MAX_MATES = 1_000;

/** Members of the affinity group that are yet to leave the host to which an instance goes back. */
export async function groupGoingBack(c: ConductorContext, record: Moving): Promise<readonly ReconcileInput[]> {
  const { uuid, projectId, migration } = record;
  const { host } = migration.source;
  const mates = await matesOf(c, {
    uuid,
    projectId,
    host,
    allocationRequest: bytesOf(migration.source.allocationRequest),
  });
  const observed = { kind: 'group_goes_back', host, mateUuid: uuid } as const;
  return mates.filter((mate) => isYetToLeave(mate, host)).map((mate) => lookAt(mate, observed));
}
