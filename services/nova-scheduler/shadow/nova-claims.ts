import { sleep } from '#libs/domain/clock';
import type { Mirror } from '#libs/placement/mirror/mirror';
import type { SelectCallDeps } from '../calls/select-destinations';

/** A claim of the scheduler that answers. */
export interface NovaClaim {
  readonly rootUuid: string;
  readonly atMs: number;
}

/**
 * Watches, from a call on, for claims of instances: for each the first tree in which it holds something that it did not hold at the call.
 */
export class NovaClaims {
  readonly #held: ReadonlyMap<string, ReadonlySet<string>>;

  constructor(
    private readonly instanceUuids: readonly string[],
    private readonly deps: Pick<SelectCallDeps, 'mirror' | 'clock' | 'config'>,
  ) {
    this.#held = new Map(instanceUuids.map((uuid) => [uuid, rootsOf(deps.mirror, uuid)]));
  }

  /** Roots of the trees in which an instance held something at the call. */
  heldAtCall(instanceUuid: string): ReadonlySet<string> {
    return this.#held.get(instanceUuid) ?? new Set();
  }

  /** Resolves once each instance has a claim, or the time to wait is over: one time for all of them. */
  async seen(closing: AbortSignal): Promise<ReadonlyMap<string, NovaClaim>> {
    const { mirror, clock, config } = this.deps;
    const claims = new Map<string, NovaClaim>();
    const missing = new Set(this.instanceUuids);
    const done = new AbortController();
    const look = () => {
      for (const uuid of missing) {
        const held = this.heldAtCall(uuid);
        const rootUuid = [...rootsOf(mirror, uuid)].find((root) => !held.has(root));
        if (rootUuid === undefined) continue;
        claims.set(uuid, { rootUuid, atMs: clock.elapsed() });
        missing.delete(uuid);
      }
      if (missing.size === 0) done.abort();
    };
    const stop = mirror.onChange(look);
    look();
    await sleep(clock, config.shadowWaitMs, AbortSignal.any([done.signal, closing]));
    stop();
    return claims;
  }
}

function rootsOf(mirror: Mirror, consumerUuid: string): ReadonlySet<string> {
  const providers = Object.keys(mirror.consumer(consumerUuid)?.allocations ?? {});
  return new Set(providers.flatMap((uuid) => mirror.provider(uuid)?.rootUuid ?? []));
}
