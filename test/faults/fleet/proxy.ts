import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server as NetServer, type Socket } from 'node:net';
import { sleep } from '#libs/domain/clock';
import { systemClock } from '#libs/runtime/system';

/**
 * The fault of a connection.
 *
 * - `delay`         everything arrives, later
 * - `black hole`    nothing arrives, nothing closes; what was sent meanwhile arrives when it is healed
 * - `half-open`     the server loses its connections and the clients are not told; new ones work
 * - `lost answers`  what clients send arrives, what the server answers is lost
 */
export type Cut = 'delay' | 'black hole' | 'half-open' | 'lost answers';

export const CUTS: readonly Cut[] = ['delay', 'black hole', 'half-open', 'lost answers'];

/** Delay each way with `delay`. */
export const DELAY_MS = 200;
const clock = systemClock();

/** A TCP proxy to a port of this machine, by which a test cuts its clients off. */
export class Proxy {
  readonly port: number;
  readonly #server: NetServer;
  readonly #links = new Set<Link>();
  #cut: Cut | undefined;
  #targetPort: number;

  private constructor(server: NetServer, targetPort: number) {
    this.#server = server;
    this.#targetPort = targetPort;
    this.port = (server.address() as AddressInfo).port;
    server.on('connection', (client) => {
      const link = new Link(client, connect({ port: this.#targetPort, host: '127.0.0.1', allowHalfOpen: true }));
      this.#links.add(link);
      link.onClosed = () => this.#links.delete(link);
      if (this.#cut !== undefined && this.#cut !== 'half-open') link.cut(this.#cut);
    });
  }

  static async to(targetPort: number): Promise<Proxy> {
    const server = createServer({ allowHalfOpen: true, noDelay: true }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new Proxy(server, targetPort);
  }

  /** Sends new connections to another server, as a load balancer does when one is gone. */
  pointTo(targetPort: number): void {
    this.#targetPort = targetPort;
  }

  /** Cuts present connections and, except with `half-open`, new ones. */
  cut(cut: Cut): void {
    this.#cut = cut;
    for (const link of this.#links) link.cut(cut);
  }

  /** New connections work as before, and so do old ones that can: after lost answers they close. */
  heal(): void {
    this.#cut = undefined;
    for (const link of this.#links) link.heal();
  }

  /** Breaks the present connections; both sides notice. */
  drop(): void {
    for (const link of this.#links) link.destroy();
  }

  close(): void {
    this.#server.close();
    this.drop();
  }
}

/** A client's connection, with its connection to the server. */
class Link {
  onClosed: () => void = () => {};
  readonly #client: Socket;
  readonly #server: Socket;
  #cut: Cut | undefined;

  constructor(client: Socket, server: Socket) {
    this.#client = client;
    this.#server = server.setNoDelay(true);
    this.#pass(client, server, () => this.#cut === 'half-open');
    this.#pass(server, client, () => this.#cut === 'half-open' || this.#cut === 'lost answers');
  }

  cut(cut: Cut): void {
    this.#cut = cut;
    if (cut === 'black hole') for (const socket of this.#sockets()) socket.pause();
    if (cut === 'half-open') this.#server.destroy();
  }

  heal(): void {
    const cut = this.#cut;
    if (cut === 'half-open') return;
    this.#cut = undefined;
    if (cut === 'lost answers' || this.#sockets().some(({ destroyed }) => destroyed)) this.destroy();
    else if (cut === 'black hole') for (const socket of this.#sockets()) socket.resume();
  }

  destroy(): void {
    for (const socket of this.#sockets()) socket.destroy();
  }

  #sockets(): readonly Socket[] {
    return [this.#client, this.#server];
  }

  #pass(from: Socket, to: Socket, isLost: () => boolean): void {
    let last = Promise.resolve();
    let waiting = 0;
    const inOrder = (action: () => void) => {
      if (this.#cut !== 'delay' && waiting === 0) return action();
      const atMs = clock.elapsed() + (this.#cut === 'delay' ? DELAY_MS : 0);
      waiting++;
      last = last.then(async () => {
        await sleep(clock, Math.max(0, atMs - clock.elapsed()));
        waiting--;
        action();
      });
    };
    from.on('data', (chunk: Buffer) => {
      if (isLost()) return;
      inOrder(() => {
        if (!to.writable || to.write(chunk)) return;
        from.pause();
        to.once('drain', () => {
          if (this.#cut !== 'black hole') from.resume();
        });
      });
    });
    from.on('end', () => {
      if (!isLost()) inOrder(() => to.end());
    });
    from.on('error', () => {});
    from.on('close', () => {
      if (this.#client.destroyed && this.#server.destroyed) return this.onClosed();
      // The client does not notice; it closes the connection itself, sooner or later.
      const isUntold = from === this.#server && (this.#cut === 'half-open' || this.#cut === 'lost answers');
      if (this.#cut !== 'black hole' && !isUntold) inOrder(() => to.destroy());
    });
  }
}

export type Server = 'broker' | 'store';

/** A proxy between each process and each server. */
export class Proxies {
  readonly #proxies: ReadonlyMap<string, Proxy>;

  private constructor(proxies: ReadonlyMap<string, Proxy>) {
    this.#proxies = proxies;
  }

  static async start(names: readonly string[], ports: Readonly<Record<Server, number>>): Promise<Proxies> {
    const between = names.flatMap((name) => (['broker', 'store'] as const).map((server) => [name, server] as const));
    const proxies = between.map(async ([name, server]) => [key(name, server), await Proxy.to(ports[server])] as const);
    return new Proxies(new Map(await Promise.all(proxies)));
  }

  /** The proxy between a process and a server. */
  of(name: string, server: Server): Proxy {
    const proxy = this.#proxies.get(key(name, server));
    if (proxy === undefined) throw new Error(`${name} has no proxy`);
    return proxy;
  }

  close(): void {
    for (const proxy of this.#proxies.values()) proxy.close();
  }
}

function key(name: string, server: Server): string {
  return `${name} ${server}`;
}
