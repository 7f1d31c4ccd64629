import type { Clock } from '#libs/domain/clock';
import type { BerthError } from '#libs/domain/errors';
import type { NodeStatus } from './node-controller';
import type { RememberedNode } from './remembered-node';

export interface NodeHealth {
  /** True when the controller refuses for a lasting reason: the account, or another machine. */
  readonly isRefused: boolean;
  /** Notes the condition that work waits for, or a doubt about it; '' for none. */
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

/** Interval at which the time of the last answer is written; more would cost the store a write per poll. */
const CONTACT_MS = 5 * 60_000;
/** Limit of the stored characters. */
const MOST_HEALTH = 500;

/** Keeps the controller's health for operators: why it does not answer, when it answered last, which machine it has. */
export function watchHealth({ node, clock, onHealth, onRefusal }: NodeHealthParts): NodeHealth {
  let isRefused = false;
  let shown = node.record.health;
  let reported = '';

  function show(health: string, contactedAtMs = node.record.contactedAtMs, systemId = node.record.systemId): void {
    const text = health.slice(0, MOST_HEALTH);
    const isDue = contactedAtMs - node.record.contactedAtMs >= CONTACT_MS;
    if (text === shown && systemId === node.record.systemId && !isDue) return;
    shown = text;
    // If the write fails, the next change includes it.
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
