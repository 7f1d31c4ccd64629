import limitConcurrency from 'p-limit';
import type { Clock } from '#libs/domain/clock';
import type { Resources } from '#libs/domain/inventory';
import type { Log } from '#libs/runtime/log';
import type { BootProof } from './boot-watch';
import type { NodeController, Provisioning } from './node-controller';
import { type NodeHealth, watchHealth } from './node-health';
import { bootProvisioning, type NodeWorkParts, patiently } from './node-work';
import type { RememberedNode } from './remembered-node';

export interface BaremetalParts {
  readonly node: RememberedNode;
  readonly controller: NodeController;
  /** The epoch of the node's lease. */
  readonly epoch: number;
  /** True while nobody else can hold the node. */
  readonly isCertain: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
  readonly offers: 'class' | 'both' | 'machine';
  /** The resources of the machine; an instance gets all of them. */
  readonly resources: Resources;
  /** Interval of polls while a node boots or ends. */
  readonly pollMs: number;
  /** Time limit of a graceful shutdown before the power is cut. */
  readonly shutdownMs: number;
  /** True when a node boots its cleaning utilities before the next instance gets it. */
  readonly cleans: boolean;
  /** Time limit of a power switch, and of a boot. */
  readonly bootTimeoutMs: number;
  /** Time limit of a controller's absence; then the work in progress fails. */
  readonly awayMs: number;
  /** Reports from the booted system; without it the controller's word counts. */
  readonly proof?: BootProof | undefined;
  /** Delay of the first power poll while idle, and the interval; default: no polls. */
  readonly sync?: { readonly firstMs: number; readonly everyMs: number };
  /** Called with the reason when the controller fails, and with '' when it works again. */
  readonly onHealth?: (health: string, reason: string) => void;
}

/** A node under one lease: shared by all work on it. */
export interface ManagedNode extends BaremetalParts {
  /** Aborts when the driver closes. */
  readonly closing: AbortController;
  /** A power order granted in one state must not run in the next: the node may change hands in between. */
  readonly takeTurn: ReturnType<typeof limitConcurrency>;
  readonly health: NodeHealth;
  readonly work: NodeWorkParts;
  readonly provisioning: Provisioning;
  /** Claims the node at its controller; a replaced machine takes no orders. */
  readonly claim: () => Promise<void>;
  /** As `claim`, and waits for an absent controller. */
  readonly claimPatiently: (signal: AbortSignal) => Promise<void>;
}

export function managedNode(parts: BaremetalParts, onRefusal: () => void): ManagedNode {
  const { node, controller, epoch, isCertain, clock, pollMs, bootTimeoutMs, awayMs, proof, onHealth } = parts;
  const health = watchHealth({ node, clock, onHealth, onRefusal });
  const note = (doubt: string) => health.note(doubt);
  const work: NodeWorkParts = { node, controller, clock, pollMs, bootTimeoutMs, awayMs, proof, note };
  const claim = () => controller.claim(epoch, { systemId: node.record.systemId || undefined, isCertain });
  return {
    ...parts,
    closing: new AbortController(),
    takeTurn: limitConcurrency(1),
    health,
    work,
    provisioning: controller.service?.provisioning(work) ?? bootProvisioning(work, parts.cleans),
    claim,
    claimPatiently: (signal) => patiently(work, signal, claim),
  };
}
