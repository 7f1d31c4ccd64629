import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { InstanceToBuild } from '../../driver';
import type { Provisioning, WorkTerms } from '../node-controller';
import { patiently, throwIfAborted } from '../node-work';
import { type IronicNode, readNode } from './ironic-node';

/** Refusals of orders, in a row, that count as a node that moved on since it was read. */
const MOST_REFUSALS = 5;
/** Provision states in which Ironic accepts `deleted`. */
const DELETABLE: readonly string[] = [
  'active',
  'wait call-back',
  'deploy failed',
  'error',
  'rescue',
  'rescue wait',
  'rescue failed',
  'unrescue failed',
];
/** Provision states that Ironic leaves by itself. */
const DEPLOYING: readonly string[] = ['deploying', 'wait call-back', 'deploy hold'];
const CLEANING: readonly string[] = ['deleting', 'cleaning', 'clean wait', 'clean hold'];
const RESCUING: readonly string[] = ['rescuing', 'unrescuing'];

/** A node at Ironic, under the lease of its last claim. */
export interface FencedNode {
  readonly uuid: string;
  /** Reads it now. */
  read(): Promise<IronicNode>;
  /** Sends an order, while the lease is certain. @param path  below the node: `/states/power` */
  order(method: 'PUT' | 'PATCH' | 'DELETE', path: string, body?: unknown): Promise<unknown>;
}

/** Orders what leads on from what Ironic shows. Resolves to false when nothing is left to do. */
type Step = (shown: IronicNode) => Promise<boolean>;

interface ProvisioningParts {
  readonly node: FencedNode;
  readonly terms: WorkTerms;
  /** Fields of `instance_info` of all instances. */
  readonly instanceInfo: Readonly<Record<string, unknown>>;
}

/**
 * Deploys and cleans through Ironic, look by look: the node's next manager continues by what Ironic shows.
 *
 * The naive way is to read a node and then to order its provision state. An agent that is paused between the two
 * undeploys, when it wakes up, the instance that another manager has put there meanwhile: the order names the node and
 * not the instance. So `instance_uuid` marks the owner; Ironic sets it only where none is. An instance that runs is
 * `protected`: Ironic refuses to undeploy it. The patch that lifts the protection replaces `instance_info/berth_<uuid>`
 * also; Ironic applies a patch as a whole, or not at all where that field is missing, and empties `instance_info` as it
 * undeploys. Costs: two more requests for each instance, and an operator must lift the protection to undeploy at Ironic.
 * A late order for the power is not guarded: Ironic has no means for that.
 */
export function ironicProvisioning(parts: ProvisioningParts): Provisioning {
  return {
    deploy: (instance, signal) => follow(parts, deployStep(parts, instance), signal),
    undeploy: (uuid, signal) => follow(parts, undeployStep(parts, uuid), signal),
    clean: (signal) => follow(parts, cleanStep, signal),
  };
}

/** Looks and takes the next step until none is left. @throws BerthError of a step; `failed_precondition / provisioning_stuck` after the time limit */
async function follow({ node, terms }: ProvisioningParts, step: Step, signal: AbortSignal): Promise<void> {
  const { clock, pollMs, bootTimeoutMs, note } = terms;
  const untilMs = clock.elapsed() + bootTimeoutMs;
  for (let refusals = 0; ; ) {
    throwIfAborted(signal);
    const shown = await patiently(terms, signal, () => node.read());
    try {
      if (!(await step(shown))) return note('');
      refusals = 0;
      note('');
    } catch (thrown) {
      const { code, reason, message } = BerthError.from(thrown);
      // The node may have moved on since the look: the next one tells.
      const mayPass = code === 'unavailable' || (reason === 'controller_refused' && ++refusals <= MOST_REFUSALS);
      if (!mayPass) throw thrown;
      note(message);
    }
    if (clock.elapsed() >= untilMs) {
      const seconds = Math.round(bootTimeoutMs / 1_000);
      throw new BerthError('failed_precondition', 'provisioning_stuck', stateOf(shown, `not done after ${seconds} s`));
    }
    await sleep(clock, pollMs, signal);
  }
}

function deployStep({ node, instanceInfo }: ProvisioningParts, instance: InstanceToBuild): Step {
  const { uuid } = instance;
  let isOwn = false;
  return async (shown) => {
    const { provisionState: state, instanceUuid: present } = shown;
    if (present !== uuid && (present !== '' || isOwn)) throw taken(shown);
    isOwn = present === uuid;
    if (isOwn && DEPLOYING.includes(state)) return true;
    if (isOwn && state === 'active') {
      if (!shown.isProtected) await protect(node, uuid);
      return false;
    }
    if (state !== 'available' || shown.isInMaintenance)
      throw new BerthError('failed_precondition', 'deploy_failed', stateOf(shown, shown.maintenanceReason));
    if (!isOwn) {
      const owned = readNode(await node.order('PATCH', '', [...ownership(instance), ...added(instanceInfo)]));
      if (owned.instanceUuid !== uuid) throw taken(owned);
      isOwn = true;
    }
    await node.order('PUT', '/states/provision', { target: 'active' });
    return true;
  };
}

function undeployStep({ node }: ProvisioningParts, uuid: string): Step {
  return async ({ instanceUuid, provisionState: state, isProtected }) => {
    if (instanceUuid !== uuid) return false;
    if (isProtected)
      await node.order('PATCH', '', guarded(uuid, [{ op: 'replace', path: '/protected', value: false }]));
    if (DELETABLE.includes(state)) await node.order('PUT', '/states/provision', { target: 'deleted' });
    else if (![...DEPLOYING, ...CLEANING, ...RESCUING].includes(state)) {
      const released = [
        { op: 'remove', path: '/instance_uuid' },
        { op: 'add', path: '/instance_info', value: {} },
      ];
      await node.order('PATCH', '', guarded(uuid, released));
    }
    return true;
  };
}

const cleanStep: Step = async (shown) => {
  if (shown.instanceUuid !== '') throw taken(shown);
  if (CLEANING.includes(shown.provisionState)) return true;
  if (shown.provisionState === 'available' && !shown.isInMaintenance) return false;
  throw new BerthError('failed_precondition', 'cleaning_failed', stateOf(shown, shown.maintenanceReason));
};

function ownership({ uuid, name }: InstanceToBuild): unknown[] {
  const info = { [markOf(uuid)]: true, ...(name === '' ? {} : { display_name: name }) };
  return [{ op: 'add', path: '/instance_uuid', value: uuid }, ...added(info)];
}

function added(info: Readonly<Record<string, unknown>>): unknown[] {
  return Object.entries(info).map(([name, value]) => ({ op: 'add', path: `/instance_info/${name}`, value }));
}

async function protect(node: FencedNode, uuid: string): Promise<void> {
  const protection = [
    { op: 'replace', path: '/protected', value: true },
    { op: 'add', path: '/protected_reason', value: `instance ${uuid} of Berth` },
  ];
  await node.order('PATCH', '', guarded(uuid, protection));
}

/** A patch that applies only while the instance is on the node: a field to be replaced must be there (RFC 6902). */
function guarded(uuid: string, operations: readonly unknown[]): unknown[] {
  return [{ op: 'replace', path: `/instance_info/${markOf(uuid)}`, value: true }, ...operations];
}

function markOf(uuid: string): string {
  return `berth_${uuid}`;
}

function taken({ uuid, instanceUuid }: IronicNode): BerthError {
  const shown = instanceUuid === '' ? 'lost its instance' : `has instance ${instanceUuid}`;
  return new BerthError('failed_precondition', 'node_taken', `node ${uuid} ${shown} at Ironic, by others`);
}

/** @param why  '' for none */
function stateOf({ uuid, provisionState, lastError }: IronicNode, why: string): string {
  const shown = [why, lastError].filter((text) => text !== '').join('; ');
  return `node ${uuid} is '${provisionState}' at Ironic${shown && `: ${shown}`}`;
}
