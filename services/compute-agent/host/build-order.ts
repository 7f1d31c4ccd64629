import { buildInstanceCodec } from '#libs/contracts/compute';
import { internedSpecs } from '#libs/contracts/interned-specs';
import { resolveSpec } from '#libs/domain/extra-specs/resolve';
import { addResources } from '#libs/domain/inventory';
import type { HostCapacity, InstanceToBuild } from '../drivers/driver';
import { claimedByName } from './own-providers';
import type { BuildOrder, TrackedInstance } from './tracked-instance';

/** @throws BerthError `invalid_argument` like the codecs of BuildInstance and RequestSpec. */
export function decodeBuildOrder(body: Uint8Array): BuildOrder {
  const build = buildInstanceCodec.decode(body);
  const { requestSpec, resources: required } = demandOf(build.requestSpec);
  const claimed = Object.values(build.allocations);
  const resources = claimed.length > 0 ? claimed.reduce(addResources) : required;
  return { ...build, requestSpec, resources, orderedDeadlineAtMs: build.deadlineAtMs, body };
}

const demandOf = internedSpecs((requestSpec) => {
  const { requestGroups, resources } = resolveSpec(requestSpec, 'request_spec');
  return {
    requestSpec,
    resources: requestGroups.reduce((sum, group) => addResources(sum, group.resources), resources),
  };
});

/** The instance in the form of ledger and journal. */
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
    deadlineAtMs: order.orderedDeadlineAtMs,
    state,
  };
}

type Built = Pick<BuildOrder, 'instanceUuid' | 'name' | 'projectId' | 'resources' | 'requestSpec' | 'powerState'>;

/** The journal entry of a build that another run may continue. */
export function carriedBuild(order: BuildOrder): TrackedInstance {
  const orderBody = Buffer.from(order.body ?? '').toString('base64');
  return { ...trackedInstance(order, 'building'), orderBody };
}

/**
 * The order to continue an interrupted build; its time limit keeps running by the conductor's clock. Undefined for
 * other instances, and for a build journalled without its order.
 */
export function buildToCarryOn({ state, orderBody = '' }: TrackedInstance): BuildOrder | undefined {
  if (state !== 'building' || orderBody === '') return undefined;
  return { ...decodeBuildOrder(Buffer.from(orderBody, 'base64')), timeLeftMs: 0 };
}

/** The instance in the form for the host's driver. @throws BerthError like `claimedByName`. */
export function instanceToBuild(
  order: Built & Pick<BuildOrder, 'allocations' | 'mappings'>,
  rootUuid: string,
  capacity: HostCapacity,
): InstanceToBuild {
  const { instanceUuid: uuid, name, projectId, resources, requestSpec, powerState } = order;
  return { uuid, name, projectId, resources, requestSpec, powerState, ...claimedByName(rootUuid, capacity, order) };
}

/** Its state after the build. */
export function builtState({ powerState }: BuildOrder): 'running' | 'stopped' {
  return powerState === 'shutdown' ? 'stopped' : 'running';
}
