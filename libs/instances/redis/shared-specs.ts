import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Instance } from '../../domain/instance';
import { fromRecord, REFERS, specWordOf, toRecord } from './record';

/** A spec of up to so many bytes stands in each record: it is read with it, and takes less than what refers to it saves. */
const MAX_INLINE_BYTES = 1_024;
/** Bytes of specs that a process remembers, by their digest. */
const MAX_REMEMBERED_BYTES = 33_554_432;

/**
 * Large request specs: stored once for each kind of a request's instances, however many there are; their records say which it is. In process they
 * are the same bytes for all, so that whoever reads records sees no difference.
 *
 * A record says `=` and the spec's digest in place of the spec. Which record may say so is known by the bytes themselves, as
 * they were read or written here: what is made anew, as by a resize, stands in its own record.
 */
export class SharedSpecs {
  readonly #known = new LRUCache<string, Uint8Array>({
    maxSize: MAX_REMEMBERED_BYTES,
    sizeCalculation: (bytes) => Math.max(1, bytes.length),
  });
  readonly #words = new WeakMap<Uint8Array, { readonly requestId: string; readonly word: string }>();

  /** @param read  texts of stored specs by request id, null for those that are not there */
  constructor(private readonly read: (requestIds: readonly string[]) => Promise<(string | null)[]>) {}

  /** The specs that a new request stores beside its records, one a kind of instances: those that several share. */
  sharedBy(instances: readonly Instance[]): readonly Uint8Array[] {
    const counts = new Map<Uint8Array, number>();
    for (const { requestSpec } of instances) counts.set(requestSpec, (counts.get(requestSpec) ?? 0) + 1);
    return [...counts].filter(([spec, count]) => count > 1 && spec.length > MAX_INLINE_BYTES).map(([spec]) => spec);
  }

  /** From now on, records of the request refer to these bytes. */
  share(requestId: string, requestSpec: Uint8Array): void {
    const word = wordFor(requestSpec);
    this.#words.set(requestSpec, { requestId, word });
    this.#known.set(keyOf(requestId, word), requestSpec);
  }

  /** @param shared  of a request that is about to be stored, with these beside it */
  toRecord(instance: Instance, shared: readonly Uint8Array[] = []): string {
    if (shared.includes(instance.requestSpec)) return toRecord(instance, wordFor(instance.requestSpec));
    const known = this.#words.get(instance.requestSpec);
    return known?.requestId === instance.requestId ? toRecord(instance, known.word) : toRecord(instance);
  }

  /** Instances of records, one for each. One whose request was forgotten meanwhile had ended: it comes without its spec. */
  async fromRecords(records: readonly string[]): Promise<Instance[]> {
    const instances = records.map(fromRecord);
    const referring = instances.flatMap((instance, n) => {
      const word = specWordOf(records[n] as string);
      return word.startsWith(REFERS) ? [{ instance, word }] : [];
    });
    if (referring.length === 0) return instances;
    const specs = await this.#specsOf(referring);
    const words = new Map(referring.map(({ instance, word }) => [instance, word]));
    return instances.map((instance) => {
      const word = words.get(instance);
      const requestSpec = word === undefined ? undefined : specs.get(keyOf(instance.requestId, word));
      return requestSpec === undefined ? instance : { ...instance, requestSpec };
    });
  }

  async #specsOf(referring: readonly { instance: Instance; word: string }[]): Promise<Map<string, Uint8Array>> {
    const specs = new Map<string, Uint8Array>();
    const unknown = new Set<string>();
    for (const { instance, word } of referring) {
      const key = keyOf(instance.requestId, word);
      const known = this.#known.get(key);
      if (known === undefined) unknown.add(instance.requestId);
      else specs.set(key, known);
    }
    const requestIds = [...unknown];
    const texts = requestIds.length === 0 ? [] : await this.read(requestIds);
    for (const [n, text] of texts.entries()) {
      const requestId = requestIds[n] as string;
      if (text === null) continue;
      for (const requestSpec of specsOf(text)) {
        this.share(requestId, requestSpec);
        specs.set(keyOf(requestId, wordFor(requestSpec)), requestSpec);
      }
    }
    return specs;
  }
}

/** Specs as they are stored for a request: in base64, with spaces between. */
export function textOf(specs: readonly Uint8Array[]): string {
  return specs.map((spec) => Buffer.from(spec).toString('base64')).join(' ');
}

function specsOf(text: string): Uint8Array[] {
  return text.split(' ').map((one) => new Uint8Array(Buffer.from(one, 'base64')));
}

/** The word of a record that refers to these bytes. */
function wordFor(requestSpec: Uint8Array): string {
  return REFERS + createHash('sha256').update(requestSpec).digest('base64url').slice(0, 22);
}

/** The same bytes of two requests are two: each goes with its own. */
function keyOf(requestId: string, word: string): string {
  return `${requestId}${word}`;
}
