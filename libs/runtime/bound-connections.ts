import { isIPv6, type Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { FairTurns } from './fair-turns';

export interface ConnectionLimits {
  /** Connections at once. */
  readonly connections: number;
  /** Requests of one connection at once: HTTP lets a client send the next before it has read an answer. */
  readonly requestsEach: number;
  /** Time without a byte either way, while a request is at work or its answer is not read. */
  readonly silentMs: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = { connections: 4_096, requestsEach: 16, silentMs: 120_000 };

/** A connection, from before its TLS handshake. */
interface Connection {
  readonly socket: Socket;
  readonly address: Address;
  requests: number;
  /** Rises with each connection that comes to rest. */
  restsSince: number;
}

/** Connections of one address, those without a request by how long they rest. */
interface Address {
  readonly name: string;
  readonly resting: Set<Connection>;
  readonly busy: Set<Connection>;
}

/**
 * Bounds what strangers make a server hold. Without it a few connections that send hundreds of requests for a public document,
 * and read no answer, fill the memory. A connection with too many requests is closed. One too many closes another, of the address that has
 * the most: the one that has been without a request longest, or else, if the newcomer's address has fewer by two, the oldest. So
 * connections are shared among addresses, and those of one address, such as a proxy's, displace each other only. Requests are begun
 * in turns of addresses, by what trusted proxies say, and of connections.
 *
 * Call it on the root instance before any other hook.
 */
export function boundConnections(app: FastifyInstance, limits: ConnectionLimits = CONNECTION_LIMITS): void {
  const open = new OpenConnections(limits.connections);
  const turns = new FairTurns();
  const { server } = app;
  server.timeout = limits.silentMs;
  server.on('connection', (socket: Socket) => open.admit(socket));
  // A server without TLS has no such event.
  server.on('secureConnection', (socket: Socket) => open.secured(socket));
  app.addHook('onRequest', (request, reply, done) => {
    const connection = open.of(request.raw.socket);
    if (connection === undefined) return done();
    if (connection.requests === limits.requestsEach) {
      reply.hijack();
      open.close(connection);
      return;
    }
    open.begin(connection);
    reply.raw.once('close', () => open.end(connection));
    turns.take(shareOf(request.ip), connection, () => {
      if (connection.socket.destroyed) reply.hijack();
      else done();
    });
  });
}

class OpenConnections {
  #count = 0;
  #rests = 0;
  readonly #addresses = new Map<string, Address>();
  readonly #bySocket = new WeakMap<Socket, Connection>();
  /** By address and port of the peer: a socket with TLS does not name the one below it. */
  readonly #byPeer = new Map<string, Connection>();

  constructor(private readonly most: number) {}

  admit(socket: Socket): void {
    const name = shareOf(socket.remoteAddress ?? '');
    if (this.#count >= this.most && !this.#displace(this.#addresses.get(name))) {
      socket.destroy();
      return;
    }
    const address = this.#addresses.get(name) ?? { name, resting: new Set(), busy: new Set() };
    const connection = { socket, address, requests: 0, restsSince: ++this.#rests };
    const peer = peerOf(socket);
    this.#count++;
    this.#addresses.set(name, address);
    this.#bySocket.set(socket, connection);
    this.#byPeer.set(peer, connection);
    address.resting.add(connection);
    socket.once('close', () => {
      if (this.#byPeer.get(peer) === connection) this.#byPeer.delete(peer);
      this.#forget(connection);
    });
  }

  secured(socket: Socket): void {
    const connection = this.#byPeer.get(peerOf(socket));
    if (connection) this.#bySocket.set(socket, connection);
  }

  of(socket: Socket): Connection | undefined {
    return this.#bySocket.get(socket);
  }

  begin(connection: Connection): void {
    connection.requests++;
    connection.address.resting.delete(connection);
    connection.address.busy.add(connection);
  }

  end(connection: Connection): void {
    connection.requests--;
    const { busy, resting } = connection.address;
    if (connection.requests > 0 || !busy.delete(connection)) return;
    connection.restsSince = ++this.#rests;
    resting.add(connection);
  }

  close(connection: Connection): void {
    this.#forget(connection);
    connection.socket.destroy();
  }

  /** Closes a connection in favour of one of an address; false where none has to give way. */
  #displace(own: Address | undefined): boolean {
    const has = own === undefined ? 0 : sizeOf(own);
    let most = 0;
    for (const one of this.#addresses.values()) most = Math.max(most, sizeOf(one));
    let rested: Connection | undefined;
    let oldest: Connection | undefined;
    for (const one of own && has === most ? [own] : this.#addresses.values()) {
      if (sizeOf(one) < most) continue;
      const [resting] = one.resting;
      if (resting && resting.restsSince < (rested?.restsSince ?? Infinity)) rested = resting;
      const [busy] = one.busy;
      oldest ??= busy;
    }
    const victim = rested ?? (most >= has + 2 ? oldest : undefined);
    if (victim) this.close(victim);
    return victim !== undefined;
  }

  #forget(connection: Connection): void {
    const { address } = connection;
    if (!address.resting.delete(connection) && !address.busy.delete(connection)) return;
    this.#count--;
    if (sizeOf(address) === 0) this.#addresses.delete(address.name);
  }
}

function sizeOf({ resting, busy }: Address): number {
  return resting.size + busy.size;
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** The address whose connections count together: of IPv6 a /64, which is one sender's. */
function shareOf(address: string): string {
  if (!isIPv6(address)) return address;
  if (address.startsWith('::ffff:')) return address.slice('::ffff:'.length);
  const [front = [], back = []] = address.split('::').map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array<string>(Math.max(0, 8 - front.length - back.length)).fill('0');
  return [...front, ...zeros, ...back].slice(0, 4).join(':');
}
