import { buildInstanceCodec } from '#libs/contracts/compute';
import { internedSpecs } from '#libs/contracts/interned-specs';
import type { BuildInstance } from '#libs/contracts/messages';
import { resolveSpec } from '#libs/domain/extra-specs/resolve';
import { addResources, type Resources } from '#libs/domain/inventory';
import type { RequestSpec } from '#libs/domain/request-spec';
import type { HostCapacity, InstanceToBuild } from '../drivers/driver';
import type { TrackedInstance } from './ledger';
import { claimedByName } from './own-providers';

/** A BuildInstance as a host takes it: with its request spec decoded and checked. */
export interface BuildOrder extends Omit<BuildInstance, 'requestSpec'> {
  readonly requestSpec: RequestSpec;
  /**
   * All that was claimed for the instance. Where the conductor does not say, all that it requires: the unnumbered request
   * group and the granular ones, as its extra specs have them.
   */
  readonly resources: Resources;
  /** As it came, for those who go on with it later. */
  readonly body?: Uint8Array;
}

/** @throws BerthError `invalid_argument` as the codecs of BuildInstance and RequestSpec. */
export function decodeBuildOrder(body: Uint8Array): BuildOrder {
  const build = buildInstanceCodec.decode(body);
  const { requestSpec, resources: required } = demandOf(build.requestSpec);
  const claimed = Object.values(build.allocations);
  const resources = claimed.length > 0 ? claimed.reduce(addResources) : required;
  return { ...build, requestSpec, resources, body };
}

const demandOf = internedSpecs((requestSpec) => {
  const { requestGroups, resources } = resolveSpec(requestSpec, 'request_spec');
  return {
    requestSpec,
    resources: requestGroups.reduce((sum, group) => addResources(sum, group.resources), resources),
  };
});

/** The instance as the ledger and the journal keep it. */
export function trackedInstance(order: BuildOrder, state: TrackedInstance['state']): TrackedInstance {
  const { instanceUuid: uuid, requestId, name, projectId, userId, resources, allocations, attempt, claimToken } = order;
  const allocationRequest = Buffer.from(order.allocationRequest).toString('base64');
  const groupId = order.requestSpec.group?.id ?? '';
  return {
    uuid,
    requestId,
    name,
    projectId,
    userId,
    groupId,
    resources,
    allocations,
    attempt,
    claimToken,
    allocationRequest,
    state,
  };
}

type Built = Pick<BuildOrder, 'instanceUuid' | 'name' | 'projectId' | 'resources' | 'requestSpec' | 'powerState'>;

/** What is journalled of a build that another run may go on with. */
export function carriedBuild(order: BuildOrder): TrackedInstance {
  const orderBody = Buffer.from(order.body ?? '').toString('base64');
  return { ...trackedInstance(order, 'building'), orderBody };
}

/**
 * The order of an instance that was being built, to go on with: its time runs on by the conductor's clock. Undefined for one that
 * was not, and for one of which that was not journalled.
 */
export function buildToCarryOn({ state, orderBody = '' }: TrackedInstance): BuildOrder | undefined {
  if (state !== 'building' || orderBody === '') return undefined;
  return { ...decodeBuildOrder(Buffer.from(orderBody, 'base64')), timeLeftMs: 0 };
}

/** The instance as the driver of a host is given it. @throws BerthError as `claimedByName`. */
export function instanceToBuild(
  order: Built & Pick<BuildOrder, 'allocations' | 'mappings'>,
  rootUuid: string,
  capacity: HostCapacity,
): InstanceToBuild {
  const { instanceUuid: uuid, name, projectId, resources, requestSpec, powerState } = order;
  return { uuid, name, projectId, resources, requestSpec, powerState, ...claimedByName(rootUuid, capacity, order) };
}

/** What becomes of it once it is built. */
export function builtState({ powerState }: BuildOrder): 'running' | 'stopped' {
  return powerState === 'shutdown' ? 'stopped' : 'running';
}
