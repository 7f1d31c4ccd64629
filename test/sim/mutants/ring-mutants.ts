import * as nodeState from '#libs/domain/nodes/node-state';
import * as holders from '#libs/placement/memory/holders';
import { MemoryPools } from '#libs/placement/memory/pools';
import * as shares from '#libs/ring/shares';
import * as carrying from '../../../services/compute-agent/carried-hosts';
import * as driving from '../../../services/compute-agent/drivers/baremetal/baremetal-driver';
import * as booting from '../../../services/compute-agent/drivers/baremetal/boot-watch';
import * as nodeWork from '../../../services/compute-agent/drivers/baremetal/node-work';
import * as fencing from '../../../services/compute-agent/drivers/baremetal/redfish/fenced-session';
import {
  mustSucceed,
  type RedfishRequest,
} from '../../../services/compute-agent/drivers/baremetal/redfish/redfish-http';
import type { RedfishService } from '../../../services/compute-agent/drivers/baremetal/redfish/redfish-service';
import type { RememberedNode } from '../../../services/compute-agent/drivers/baremetal/remembered-node';
import { HostLease } from '../../../services/compute-agent/holding/host-lease';
import * as early from '../../../services/compute-agent/pool/claim-early';
import * as comparing from '../../../services/compute-agent/pool/keep-compared';
import * as others from '../../../services/compute-agent/pool/notice-others';
import * as opening from '../../../services/compute-agent/pool/open-node';
import * as rights from '../../../services/scheduler/nodes/pool-rights';
import { inWorld, type Mutant, mutant, mutants } from './mutant';

/** An unfenced session: any client that opens one may order for as long as it lives. */
class UnfencedSession {
  readonly isMarkKept = true;
  #epoch = 0;

  constructor(
    private readonly node: string,
    _system: string,
    private readonly service: RedfishService,
  ) {}

  async claim(epoch: number): Promise<void> {
    this.#epoch = epoch;
  }

  async ask(link: string, request: RedfishRequest = {}) {
    return mustSucceed(await this.send(link, request), link);
  }

  async send(link: string, request: RedfishRequest = {}) {
    const credential = await this.service.session(`berth ${this.node} ${this.#epoch}`);
    const answer = await this.service.send(link, request, credential);
    if (answer.status === 401) this.service.ended(credential);
    return answer;
  }

  async close(): Promise<void> {}
}

const unfenced = mutant('', '', fencing, 'FencedSession', () => UnfencedSession as never);
/** Without the comparison, too, which repairs most orders that pass the fence. */
const anyWrite = mutants(
  '',
  '',
  mutant('', '', comparing, 'keepCompared', () => async () => {}),
  mutant('', '', rights, 'requireHolder', () => async () => {}),
  mutant('', '', MemoryPools.prototype, 'write', (original) => {
    return function write(this: MemoryPools, change) {
      const [holder] = this.heldBy([change.host]);
      return original.call(this, { ...change, epoch: holder?.epoch ?? change.epoch, updatedAtMs: Infinity });
    };
  }),
);

/** Mutants of the rules that give each node exactly one manager. */
export const RING_MUTANTS: readonly Mutant[] = [
  inWorld('ring', { ...unfenced, name: 'controllers-take-any-order', without: 'the fence at the controller' }),
  inWorld(
    'ring',
    { ...anyWrite, name: 'any-agent-writes-nodes', without: 'the fence at the store' },
    'slow down',
    'stands still beyond its lease',
    'agent leaves',
  ),
  inWorld(
    'ring',
    mutants(
      'claimed-late',
      'claiming a node as soon as it is held',
      mutant('', '', early, 'claimEarly', () => () => async () => {}),
      // A read of the power claims the node, too.
      mutant(
        '',
        '',
        driving,
        'openBaremetalDriver',
        (original) => (parts) => original({ ...parts, sync: { firstMs: 1e9, everyMs: 1e9 } }),
      ),
    ),
  ),
  inWorld(
    'ring',
    mutant('members-for-ever', 'the lease of a membership', MemoryPools.prototype, 'join', (original) => {
      return function join(this: MemoryPools, wanted) {
        return original.call(this, { ...wanted, leaseMs: 1e9 });
      };
    }),
    'agent leaves',
  ),
  inWorld(
    'ring',
    mutant('nodes-held-for-ever', 'the lease of a node', holders, 'acquireHosts', (original) => (present, wanted) => {
      return original(present, { ...wanted, leaseMs: 1e9 });
    }),
  ),
  inWorld(
    'ring',
    mutant('ring-not-followed', 'giving up what the ring names others for', shares, 'keysToGiveUp', () => () => []),
  ),
  inWorld(
    'ring',
    mutant('step-forgotten', 'remembering a step before it is done', nodeWork, 'bootOnce', (original) => {
      return (work, device, signal) => {
        const node = {
          get record() {
            return { ...work.node.record, step: '' };
          },
          change: (fields: Parameters<RememberedNode['change']>[0]) => work.node.change(fields),
          note: (facts: Parameters<RememberedNode['note']>[0]) => work.node.note(facts),
          written: () => work.node.written(),
        } as RememberedNode;
        return original({ ...work, node }, device, signal);
      };
    }),
    'agent leaves',
    'stands still beyond its lease',
  ),
  inWorld(
    'ring',
    mutant('power-is-proof', 'proof of a boot', booting, 'watchBoot', () => () => {
      return { judge: ({ isOn }) => ({ kind: isOn ? 'booted' : 'off' }), switchedOn() {}, end() {} };
    }),
  ),
  inWorld(
    'ring',
    mutant('busy-nodes-are-offered', 'reserving a node that is worked on', nodeState, 'isOffered', () => () => true),
  ),
  inWorld(
    'ring',
    mutant(
      'late-writes-count',
      'the order of what is written of a node',
      MemoryPools.prototype,
      'write',
      (original) => {
        return function write(this: MemoryPools, change) {
          return original.call(this, { ...change, updatedAtMs: Infinity });
        };
      },
    ),
    'slow down',
  ),
  inWorld(
    'ring',
    mutant('wiped-store-untold', 'telling a wiped store of a node', opening, 'openNode', (original) => {
      return (parts, lease, granted) =>
        original(parts, lease, { ...granted, stored: granted.stored ?? granted.own?.node.record });
    }),
    'store is wiped',
    'build',
  ),
  inWorld(
    'ring',
    mutant(
      'forgotten-keeps-epoch',
      'a later epoch after a manager who is forgotten',
      others,
      'noticeOthers',
      () => (controller) => controller,
    ),
    'manager is forgotten',
    'store goes back',
  ),
  inWorld(
    'ring',
    mutants(
      'orders-for-others-go-round',
      'leaving orders for nodes to who manages them now',
      mutant('', '', carrying, 'carriedHosts', (original) => (hosts, onLost, names, isOthers) => {
        return original(hosts, onLost, names, isOthers && (() => false));
      }),
      mutant('', '', HostLease.prototype, 'refuse', () => () => {}),
    ),
    'agent leaves',
    'stands still beyond its lease',
    'terminate',
  ),
];
