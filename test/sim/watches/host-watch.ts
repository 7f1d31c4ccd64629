import type { Drained } from '#libs/client/drain/drain-host';
import type { Instance } from '#libs/domain/instance';
import type { Rows } from '#libs/placement/port/placement-store';
import { agentOf } from '../settings';

/** A finished drain of a host that was not put into service since. */
interface EndedDrain {
  readonly drained: readonly Drained[];
  /** The version of each instance's record when the drain began. */
  readonly versions: ReadonlyMap<string, number>;
}

/** Operators' actions on hosts: drains and deletions. */
export class HostWatch {
  /** Hosts that are out of service for good. */
  readonly toDrain = new Set<string>();
  /** The last drain of each host that no message under way can undo. */
  readonly #drains = new Map<string, EndedDrain>();
  /** Hosts that were deleted for good, with their agents' queues. */
  readonly #gone = new Set<string>();

  drainEnded(host: string, drain: EndedDrain): void {
    this.#drains.set(host, drain);
  }

  /** The store went back: deleted hosts may be there again. */
  reset(): void {
    this.#gone.clear();
  }

  deletedForGood(host: string): void {
    this.#gone.add(host);
  }

  /** A deleted host is not out of service any more: a new host of that name is in service. */
  isDeleted(host: string): void {
    this.toDrain.delete(host);
    this.#drains.delete(host);
  }

  /** An agent started again: its deleted hosts become hosts anew. */
  isBack(agent: string): void {
    for (const host of this.#gone) if (agentOf(host) === agent) this.#gone.delete(host);
  }

  /**
   * Violations at rest: a drained host keeps an instance that its drain did not name or did not try to move, or it gets new instances
   * without being put into service.
   */
  wrongOfDrained(
    rows: readonly Rows[],
    instances: readonly Instance[],
    statesOf: (uuid: string) => ReadonlyMap<number, string>,
  ): string[] {
    const hosts = rows.flatMap((some) => some.hosts ?? []);
    return [...this.#drains].flatMap(([name, { drained, versions }]) => {
      const isEnabled = hosts.find((host) => host.name === name)?.enabled === true;
      if (isEnabled) return [`${name} was drained, and gets new instances`];
      return instances
        .filter(({ state, host, migration }) => {
          return THERE.includes(state) && (host === name || migration?.source.host === name);
        })
        .flatMap(({ uuid }) => {
          const stays = drained.find((one) => one.uuid === uuid)?.stays;
          if (stays === undefined) return [`${uuid} is on ${name}, and its drain does not say that it stays`];
          const since = versions.get(uuid) ?? 0;
          const wasTried = [...statesOf(uuid)].some(([version, state]) => version > since && MOVED.includes(state));
          return stays.startsWith(CAME_BACK) && !wasTried ? [`${uuid} on ${name} was not moved: ${stays}`] : [];
        });
    });
  }

  /** Rows and queues at rest of hosts that were deleted for good. */
  leftOfDeleted(rows: readonly Rows[], instances: readonly Instance[], hasQueue: (host: string) => boolean): string[] {
    const providers = rows.flatMap((some) => some.providers ?? []);
    const hosts = rows.flatMap((some) => some.hosts ?? []);
    const consumers = rows.flatMap((some) => some.consumers ?? []);
    const left: string[] = [];
    for (const host of this.#gone) {
      const tree = providers.filter(({ name }) => name.split(':')[0] === host);
      const isHeld = ({ allocations }: (typeof consumers)[number]) => tree.some(({ uuid }) => allocations[uuid]);
      left.push(
        ...hosts.filter(({ name }) => name === host).map(() => `${host} is deleted, and still a host`),
        ...tree.map(({ name }) => `${host} is deleted, and its provider ${name} is there`),
        ...consumers.filter(isHeld).map(({ uuid }) => `${uuid} holds a claim on ${host}, which is deleted`),
        ...instances
          .filter((one) => one.host === host && one.state !== 'deleted' && one.state !== 'error')
          .map(({ uuid, state }) => `${uuid} is ${state} on ${host}, which is deleted`),
      );
      if (hasQueue(host)) left.push(`${host} is deleted, and its agent's queue is there`);
    }
    return left;
  }
}

/** States of instances that a drain moves. */
const THERE: readonly Instance['state'][] = ['active', 'stopped', 'verify_resize'];
/** States that prove that a drain tried to move an instance. */
const MOVED: readonly string[] = ['migrating', 'resize'];
/** A drain's words for an instance that it moved and that came back. */
const CAME_BACK = 'it came back';
