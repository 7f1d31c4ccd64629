import type { InstanceEvent } from '#libs/contracts/instance';
import { lru } from '#libs/runtime/lru';

/** Limit of the instances whose last version is remembered. */
const MAX_REMEMBERED = 100_000;

/**
 * Recognises new events: an event may come twice, and an old one may follow newer ones, but the first copy of each
 * version comes in order (`proto/README.md`).
 */
export class NewerEvents {
  readonly #versions = lru<string, number>(MAX_REMEMBERED);

  /** True when this is the newest version of its instance so far, which is then remembered. */
  isNews(event: InstanceEvent): boolean {
    return this.#compare(event) > 0;
  }

  /** True when a newer version of the instance was seen; else this one is remembered. */
  isOutdated(event: InstanceEvent): boolean {
    return this.#compare(event) < 0;
  }

  #compare({ instanceUuid, requestId, version }: InstanceEvent): number {
    // An instance adopted after the store was lost has another request, and its versions start anew.
    const key = `${instanceUuid} ${requestId}`;
    const seen = this.#versions.get(key) ?? 0;
    if (version > seen) this.#versions.set(key, version);
    return version - seen;
  }
}
