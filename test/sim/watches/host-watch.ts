import type { Drained } from '#libs/client/drain/drain-host';
import type { Instance } from '#libs/domain/instance';
import type { Rows } from '#libs/placement/port/placement-store';
import { agentOf } from '../settings';

/** A drain that ended, of a host that nobody has put into service since. */
interface EndedDrain {
  readonly drained: readonly Drained[];
  /** Of each instance, the last version of its record when it began. */
  readonly versions: ReadonlyMap<string, number>;
}

/** What operators did to hosts: drained them, or deleted them. */
export class HostWatch {
  /** Hosts that are out of service for good. */
  readonly toDrain = new Set<string>();
  /** The last drain of each host after which nothing comes any more that was on its way. */
  readonly #drains = new Map<string, EndedDrain>();
  /** Hosts that were deleted for good, whose agents' queues went with them. */
  readonly #gone = new Set<string>();

  drainEnded(host: string, drain: EndedDrain): void {
    this.#drains.set(host, drain);
  }

  /** The store went back in time: what was deleted may be there again. */
  reset(): void {
    this.#gone.clear();
  }

  deletedForGood(host: string): void {
    this.#gone.add(host);
  }

  /** With a host goes that it is out of service: what comes back of that name is in service, as a new host is. */
  isDeleted(host: string): void {
    this.toDrain.delete(host);
    this.#drains.delete(host);
  }

  /** An agent was started again: what was deleted of it becomes a host anew. */
  isBack(agent: string): void {
    for (const host of this.#gone) if (agentOf(host) === agent) this.#gone.delete(host);
  }

  /**
   * What is wrong at rest: a drained host keeps what the drain did not name, or what it did not try to move; or gets new
   * instances though nobody has put it into service.
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

  /** What is left at rest of hosts that were deleted for good. */
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

/** What a drain moves. */
const THERE: readonly Instance['state'][] = ['active', 'stopped', 'verify_resize'];
/** Records of what a drain has tried to move are in one of these by then. */
const MOVED: readonly string[] = ['migrating', 'resize'];
/** So says a drain of what it moved and what was back then. */
const CAME_BACK = 'it came back';
