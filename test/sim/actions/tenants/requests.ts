import { castTyped } from '#libs/bus/typed-calls';
import { buildRequestCodec } from '#libs/contracts/conductor';
import type { GangMembers } from '#libs/contracts/member-kinds';
import { BUILD_REQUESTS } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { OnLoss } from '#libs/domain/instance';
import type { Resources } from '#libs/domain/inventory';
import type { Admission } from '#libs/domain/queueing/admission';
import { type Random, randomInt } from '#libs/domain/random';
import { requestSpec } from '#libs/domain/request-spec';
import type { ServerGroup } from '#libs/domain/server-group';
import { nameOf, TENANTS } from '../../settings';
import { confirmed, pick, type World } from '../common';

/** One of the tenants. */
export const tenant = (random: Random) => pick(random, TENANTS);

/** A build request that a tenant is to send. */
export interface Request {
  readonly who: string;
  readonly requestId: string;
  readonly uuidsIn: (world: World) => readonly string[];
  readonly requestSpec: Uint8Array;
  /** The minimum of a gang. */
  readonly minCount?: number;
  /** Further kinds of a gang: their uuids come after the first kind's. */
  readonly furtherMembers?: readonly GangMembers[];
  readonly admission?: Admission | undefined;
  readonly onLoss?: OnLoss;
}

/** A request for one or more small instances, in a group if one is given. */
export function requestIn(
  group: ServerGroup | undefined,
  who: string,
  random: Random,
  uuidsIn: Request['uuidsIn'],
): Request {
  const requestId = random.uuid();
  const resources = { VCPU: 1 + randomInt(random, 2), MEMORY_MB: 256 };
  const preferredResources: Resources = random.next() < 0.3 ? { VGPU: 1 } : {};
  const rebuildPolicy = random.next() < 0.4 ? 'evacuate' : 'never';
  const spec = requestSpec(resources, { projectId: who, userId: 'user', group, preferredResources, rebuildPolicy });
  return { who, requestId, uuidsIn, requestSpec: requestSpecCodec.encode(spec) };
}

/** Sends a build request as its tenant, and notes that it must end. */
export function send(
  world: World,
  { who, requestId, uuidsIn, requestSpec: encoded, minCount = 0, furtherMembers = [], admission, onLoss }: Request,
): void {
  const { fleet, checker } = world;
  const uuids = uuidsIn(world);
  if (uuids.length === 0) return;
  const publishedAtMs = fleet.member(who).process.clock.now();
  const count = furtherMembers.reduce((left, kind) => left - kind.count, uuids.length);
  const about = { requestId, requestSpec: encoded, count, name: nameOf(who), instanceUuids: uuids };
  const request = {
    ...about,
    publishedAtMs,
    minCount,
    admission,
    onLoss,
    ...(furtherMembers.length > 0 ? { furtherMembers } : {}),
  };
  const cast = () =>
    castTyped({ bus: fleet.member(who).bus, queue: BUILD_REQUESTS }, buildRequestCodec, request, { id: requestId });
  checker.requests.push({ uuids, send: cast });
  void confirmed(cast()).then((isConfirmed) => isConfirmed && checker.confirmed.set(requestId, uuids));
}
