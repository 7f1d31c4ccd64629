import type { RequestSpec } from '#libs/domain/request-spec';
import type { Fleet } from '../fleet/fleet';
import { type Shape, shapeOf } from '../ranking/shape';
import { membersOf } from './group-members';
import type { PlacementRequest } from './placement-request';

/** A request in the scheduler's words, as of now. */
export interface Translated {
  readonly request: PlacementRequest;
  readonly shape: Shape;
}

/** `instanceUuids` are the instances that need a host: in a group, they do not count as members yet. */
export function translate(spec: RequestSpec, instanceUuids: readonly string[], fleet: Fleet): Translated {
  const members = spec.group && membersOf(fleet, spec.group, new Set(instanceUuids));
  const together = spec.group?.policy === 'affinity' ? Math.max(1, instanceUuids.length) : 1;
  return {
    shape: shapeOf(spec, together),
    request: {
      spec,
      members,
      hostOfInstance: (uuid) => fleet.hostOfConsumer(uuid),
      hostByName: (name) => fleet.byName(name),
    },
  };
}
