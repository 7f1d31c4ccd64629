import type { Move } from '#libs/contracts/selection';
import type { Consumer } from '#libs/domain/consumer';
import { ZONE_KEY } from '#libs/domain/grouping/aggregate';
import type { Resources } from '#libs/domain/inventory';
import type { RequestSpec } from '#libs/domain/request-spec';
import type { PlacementView } from '#libs/placement/port/placement-view';
import { devicesHeld } from '../devices/held-devices';
import type { Fleet } from '../fleet/fleet';
import type { FleetSnapshot } from '../fleet/fleet-snapshot';
import type { HostState } from '../fleet/host-state';
import type { SelectRequest } from './complete-request';
import { claimChanged, stageOf } from './move-claim';
import type { HostForInstance } from './pick-hosts';

/** A claim that an instance holds already: the answer to this request, given again. */
export interface HeldClaim extends HostForInstance {
  readonly claimToken: number;
}

/** Which instances of a request hold claims, and which need one. */
export interface ClaimsHeld {
  readonly held: ReadonlyMap<string, HeldClaim>;
  readonly unclaimed: readonly string[];
}

/**
 * A request may come again: its answer was lost, its conductor died, another one got it too. Instances that hold what the
 * spec asks keep it, wherever they are by now; the others get a claim. Claims that do not fit the spec, or are on no host
 * of the fleet or on one that the spec ignores, are replaced by the claim that is made; what another owner holds is no claim, and the store refuses to
 * replace it.
 *
 * An instance that moves holds a claim from the beginning; it keeps that claim only if this move made it.
 *
 * @throws BerthError `failed_precondition / claim_changed` when what is to be moved holds another claim than its move knows.
 */
export function claimsHeld(
  { instanceUuids, spec, move }: Pick<SelectRequest, 'instanceUuids' | 'spec' | 'move'>,
  fleet: Fleet,
  snapshot: FleetSnapshot,
): ClaimsHeld {
  const held = new Map<string, HeldClaim>();
  const unclaimed: string[] = [];
  for (const uuid of instanceUuids) {
    const consumer = fleet.view.consumer(uuid);
    const host = consumer && snapshot.at(fleet.indexOfAllocations(consumer.allocations));
    const isWanted = (one: Consumer) =>
      one.owner === 'conductor' &&
      host?.host.name === move?.sourceHost &&
      host !== undefined &&
      mayStay(host, one, spec, fleet.view);
    const isMade = move !== undefined && isMoved(move, uuid, fleet, isWanted);
    if (consumer?.owner === 'conductor' && host && (move ? isMade : mayStay(host, consumer, spec, fleet.view))) {
      const { allocations, mappings, claimToken } = consumer;
      held.set(uuid, { host, candidate: { rootUuid: host.root.uuid, allocations, mappings }, claimToken });
    } else {
      unclaimed.push(uuid);
    }
  }
  return { held, unclaimed };
}

/** @throws BerthError as `claimChanged`. */
function isMoved(move: Move, uuid: string, { view }: Fleet, isWanted: (held: Consumer) => boolean): boolean {
  const stage = stageOf(move, uuid, view, isWanted);
  if (stage === 'changed') throw claimChanged(uuid);
  return stage === 'claimed';
}

/** An instance that is to leave its host names it as one to ignore; one that counts in another zone than its group wants it in has to go there. */
function mayStay({ host }: HostState, consumer: Consumer, spec: RequestSpec, view: DeviceView): boolean {
  return !spec.ignoreHosts.includes(host.name) && isInItsZone(consumer, spec) && holdsWhatIsAsked(consumer, spec, view);
}

/** The top of a fleet says which zone a member of a group that spreads over zones goes to, and may say another when it asks again. */
function isInItsZone({ groupDomain }: Consumer, { group, availabilityZone }: RequestSpec): boolean {
  if (availabilityZone === undefined || group?.spread?.by !== ZONE_KEY) return true;
  return groupDomain?.by !== ZONE_KEY || groupDomain.domain === availabilityZone;
}

type DeviceView = Pick<PlacementView, 'provider'>;

/** True if the claim holds all required resources and each preferred class wholly or not at all: what the host had then. */
function holdsWhatIsAsked(consumer: Consumer, spec: RequestSpec, view: DeviceView): boolean {
  const ofDevices = devicesHeld(consumer, spec, view);
  if (ofDevices === undefined) return false;
  const required = sum([spec.resources, ...spec.requestGroups.map((group) => group.resources), ofDevices]);
  const has = sum(Object.values(consumer.allocations));
  const isAsked = (name: string) => {
    const more = (has.get(name) ?? 0) - (required.get(name) ?? 0);
    return more === 0 || more === spec.preferredResources[name];
  };
  return (
    consumer.projectId === spec.projectId &&
    consumer.groupId === spec.group?.id &&
    [...required.keys(), ...has.keys()].every(isAsked)
  );
}

function sum(parts: readonly Resources[]): ReadonlyMap<string, number> {
  const total = new Map<string, number>();
  for (const part of parts) for (const name in part) total.set(name, (total.get(name) ?? 0) + (part[name] as number));
  return total;
}
