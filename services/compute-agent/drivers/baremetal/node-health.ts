import type { Clock } from '#libs/domain/clock';
import type { BerthError } from '#libs/domain/errors';
import type { NodeStatus } from './node-controller';
import type { RememberedNode } from './remembered-node';

export interface NodeHealth {
  /** True when the controller refuses for a reason that does not pass by itself: an account, another machine. */
  readonly isRefused: boolean;
  /** What work in progress waits for, or what of it is in doubt; '' for nothing. */
  note(doubt: string): void;
  /** The controller has answered. */
  heard(status: NodeStatus): void;
  failed(error: BerthError): void;
}

export interface NodeHealthParts {
  readonly node: RememberedNode;
  readonly clock: Clock;
  readonly onHealth: ((health: string, reason: string) => void) | undefined;
  readonly onRefusal: () => void;
}

/** When a node was heard last is written so often; more would cost the store a write for each look. */
const CONTACT_MS = 5 * 60_000;
/** Characters of it, as they are kept. */
const MOST_HEALTH = 500;

/** Keeps what operators see of a node's controller: why it does not serve, when it answered last, which machine it is. */
export function watchHealth({ node, clock, onHealth, onRefusal }: NodeHealthParts): NodeHealth {
  let isRefused = false;
  let shown = node.record.health;
  let reported = '';

  function show(health: string, contactedAtMs = node.record.contactedAtMs, systemId = node.record.systemId): void {
    const text = health.slice(0, MOST_HEALTH);
    const isDue = contactedAtMs - node.record.contactedAtMs >= CONTACT_MS;
    if (text === shown && systemId === node.record.systemId && !isDue) return;
    shown = text;
    // It is written with the next change when it can't be now.
    node.note({ health: text, contactedAtMs, systemId }).catch(() => {});
  }

  function report(health: string, reason: string): void {
    if (health === reported) return;
    reported = health;
    onHealth?.(health, reason);
  }

  function refuse(next: boolean): void {
    if (next === isRefused) return;
    isRefused = next;
    onRefusal();
  }

  return {
    get isRefused() {
      return isRefused;
    },
    note: (doubt) => show(doubt),
    heard({ systemId = '', weakness = '' }) {
      show(weakness, clock.now(), node.record.systemId || systemId);
      report('', '');
      refuse(false);
    },
    failed({ code, reason, message }) {
      show(message);
      report(message, reason);
      refuse(code === 'failed_precondition');
    },
  };
}
