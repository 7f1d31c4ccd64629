import type { RequestSpec } from '#libs/domain/request-spec';
import type { HostState } from '../fleet/host-state';
import type { GroupMembers } from './group-members';

/** A request as filters of the personal kind see it: the spec, with the instances and hosts that it names looked up. */
export interface PlacementRequest {
  readonly spec: RequestSpec;
  /** Where the other members of the request's group are, those just picked included; undefined without a group. */
  readonly members: GroupMembers | undefined;
  readonly hostOfInstance: (uuid: string) => HostState | undefined;
  readonly hostByName: (name: string) => HostState | undefined;
}
