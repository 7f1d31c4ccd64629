import type { Options } from 'amqplib';
import { MAX_PACKED, type PackedMessage, packCodec } from '../../contracts/pack';
import type { Random } from '../../domain/random';
import { bufferOf, propertiesOf } from './message';

/** Bytes of all bodies of a pack; what is larger travels alone. */
export const MAX_PACK_BYTES = 262_144;

/** AMQP's short strings. */
const MAX_PROPERTY_BYTES = 255;

interface Packable {
  readonly body: Uint8Array;
}

/**
 * Collects what goes one way in one turn of the event loop, and hands it on in packs at the turn's end.
 *
 * The naive way sends each call, each cast and each answer as a message. Under load a process has dozens of them in a
 * turn, to one queue, and what a message costs (three frames to write and to read, a confirm, an ack, its way through the
 * broker) is more than what most handlers do. Here they share all that, as claims share a run of the store's script. Packs
 * keep themselves together: what came as a pack is done in a turn or two, so that its answers are a pack, which wakes up
 * its callers in one turn. What it costs: what travels together arrives, and is lost, together; and one alone leaves only
 * at the end of its turn, which is when its frame would leave anyway (`writeTogether`).
 */
export class Packs<T extends Packable> {
  readonly #send: (way: string, pack: readonly T[]) => void;
  #open = new Map<string, T[]>();

  /** @param send  called with one to 32 items that go the same way */
  constructor(send: (way: string, pack: readonly T[]) => void) {
    this.#send = send;
  }

  /** What waits for the end of the turn. */
  get size(): number {
    let size = 0;
    for (const items of this.#open.values()) size += items.length;
    return size;
  }

  add(way: string, item: T): void {
    if (this.#open.size === 0) process.nextTick(() => this.flush());
    const items = this.#open.get(way);
    if (items === undefined) this.#open.set(way, [item]);
    else items.push(item);
  }

  /** Sends what waits for the end of the turn now. */
  flush(): void {
    const open = this.#open;
    if (open.size === 0) return;
    this.#open = new Map();
    for (const [way, items] of open) for (const pack of packsOf(items)) this.#send(way, pack);
  }
}

/** Cuts a list, in its order, at the limits of a pack. */
export function* packsOf<T extends Packable>(items: readonly T[]): Iterable<readonly T[]> {
  let pack: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const isFull = pack.length === MAX_PACKED || bytes + item.body.length > MAX_PACK_BYTES;
    if (isFull && pack.length > 0) {
      yield pack;
      pack = [];
      bytes = 0;
    }
    pack.push(item);
    bytes += item.body.length;
  }
  if (pack.length > 0) yield pack;
}

/** Whether AMQP could carry it alone: what it could not is refused alone, too, and takes no others with it. */
export function fitsInPack({ type, messageId, correlationId, sender }: PackedMessage): boolean {
  return type !== packCodec.type && fits(type) && fits(messageId) && fits(correlationId) && fits(sender);
}

function fits(property: string): boolean {
  return Buffer.byteLength(property) <= MAX_PROPERTY_BYTES;
}

/** One message for all of a pack; of one alone, the message that anybody would send. The properties of its kind are missing. */
export function sealed(
  messages: readonly PackedMessage[],
  random: Random,
): { readonly content: Buffer; readonly options: Options.Publish } {
  const [first] = messages;
  if (first !== undefined && messages.length === 1) {
    return { content: bufferOf(first.body), options: propertiesOf(first) };
  }
  return { content: bufferOf(packCodec.encode(messages)), options: { type: packCodec.type, messageId: random.uuid() } };
}
