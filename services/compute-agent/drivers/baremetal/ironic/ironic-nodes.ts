import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { AskIronic } from './ironic-api';
import { type IronicNode, NODE_FIELDS, readNode } from './ironic-node';

const PAGE = 1_000;
const MAX_PAGES = 200;

interface Listing {
  readonly begunMs: number;
  readonly nodes: ReadonlyMap<string, IronicNode>;
}

/**
 * The nodes of an Ironic, listed for all that ask: one listing at a time, whatever the number of nodes that are polled.
 * Ironic tells nobody of changes, except on its own message bus.
 */
export class IronicNodes {
  #last: Listing | undefined;
  #listing: Promise<Listing> | undefined;

  constructor(
    readonly ask: AskIronic,
    private readonly clock: Clock,
    /** A listing is shared for this long. */
    private readonly sharedMs: number,
  ) {}

  /** Lists the nodes now. @throws BerthError of `AskIronic`; `resource_exhausted / too_many_nodes` */
  async list(): Promise<ReadonlyMap<string, IronicNode>> {
    return (await this.#listNow()).nodes;
  }

  /**
   * A node as a listing shows it that began after `sinceMs` (of `elapsed`), and not long ago.
   *
   * @throws BerthError as `list`; `failed_precondition / controller_refused`: Ironic has no such node
   */
  async glance(uuid: string, sinceMs: number): Promise<IronicNode> {
    let listing = this.#last;
    const youngMs = Math.max(sinceMs, this.clock.elapsed() - this.sharedMs);
    if (listing === undefined || listing.begunMs < youngMs) listing = await this.#listNow();
    // The one under way may have begun before.
    if (listing.begunMs < sinceMs) listing = await this.#listNow();
    const node = listing.nodes.get(uuid);
    if (node) return node;
    throw new BerthError('failed_precondition', 'controller_refused', `Ironic lists no node ${uuid}`);
  }

  /** Reads one node now. @throws BerthError of `AskIronic` */
  async read(uuid: string): Promise<IronicNode> {
    const node = readNode(await this.ask({ path: `/v1/nodes/${uuid}?fields=${NODE_FIELDS}` }));
    if (node.uuid === uuid) return node;
    throw new BerthError('failed_precondition', 'system_changed', `Ironic shows node ${node.uuid} for ${uuid}`);
  }

  #listNow(): Promise<Listing> {
    this.#listing ??= this.#read().finally(() => {
      this.#listing = undefined;
    });
    return this.#listing;
  }

  async #read(): Promise<Listing> {
    const begunMs = this.clock.elapsed();
    const nodes = new Map<string, IronicNode>();
    let marker = '';
    for (let page = 0; page < MAX_PAGES; page++) {
      const path = `/v1/nodes?fields=${NODE_FIELDS}&limit=${PAGE}${marker}`;
      const { nodes: rows, next } = ((await this.ask({ path })) ?? {}) as { nodes?: unknown; next?: unknown };
      const read = (Array.isArray(rows) ? rows : []).map(readNode);
      for (const node of read) nodes.set(node.uuid, node);
      const last = read.at(-1);
      if (typeof next !== 'string' || last === undefined) {
        this.#last = { begunMs, nodes };
        return this.#last;
      }
      marker = `&marker=${last.uuid}`;
    }
    const message = `Ironic has more than ${MAX_PAGES * PAGE} nodes`;
    throw new BerthError('resource_exhausted', 'too_many_nodes', message);
  }
}
