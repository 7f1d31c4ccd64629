import { LRUCache } from 'lru-cache';
import type { InstanceEvent } from '#libs/contracts/messages';

/** Instances whose last version is remembered. */
const MAX_REMEMBERED = 100_000;

/**
 * Tells news from what is known: events may come twice, and an old one again after newer ones, but the first of each
 * version comes in order (`proto/README.md`).
 */
export class NewerEvents {
  readonly #versions = new LRUCache<string, number>({ max: MAX_REMEMBERED });

  /** Whether this is the newest version of its instance so far; remembers it. */
  isNews(event: InstanceEvent): boolean {
    return this.#compare(event) > 0;
  }

  /** Whether a newer version of the instance has been seen; remembers this one if not. */
  isOutdated(event: InstanceEvent): boolean {
    return this.#compare(event) < 0;
  }

  #compare({ instanceUuid, requestId, version }: InstanceEvent): number {
    // An instance that was adopted, because the store was lost, has another request and begins anew.
    const key = `${instanceUuid} ${requestId}`;
    const seen = this.#versions.get(key) ?? 0;
    if (version > seen) this.#versions.set(key, version);
    return version - seen;
  }
}
