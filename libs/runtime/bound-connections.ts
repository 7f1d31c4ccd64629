import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import type { FastifyInstance } from 'fastify';

export interface ConnectionLimits {
  /** Connections at once. */
  readonly connections: number;
  /** Requests of one connection at once: HTTP lets a client send the next before it has read an answer. */
  readonly requestsEach: number;
  /** Time without a byte either way, while a request is at work or its answer is not read. */
  readonly silentMs: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = { connections: 4_096, requestsEach: 16, silentMs: 120_000 };

/**
 * Bounds what strangers make a server hold. Without it a few connections that send hundreds of requests for a public document,
 * and read no answer, fill the memory. A connection with too many requests is closed; one too many closes the connection
 * that has been without a request longest, so those who only hold connections displace each other.
 *
 * Call it on the root instance before any other hook.
 */
export function boundConnections(app: FastifyInstance, limits: ConnectionLimits = CONNECTION_LIMITS): void {
  const open = new Set<Socket>();
  const resting = new Set<Socket>();
  const requestsOf = new WeakMap<Socket, number>();
  const { server } = app;
  server.timeout = limits.silentMs;
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    if (open.size >= limits.connections) {
      const [longest = socket] = resting;
      close(longest);
      if (longest === socket) return;
    }
    open.add(socket);
    resting.add(socket);
    socket.once('close', () => forget(socket));
  });
  app.addHook('onRequest', (request, reply, done) => {
    const { socket } = request.raw;
    const count = (requestsOf.get(socket) ?? 0) + 1;
    if (count > limits.requestsEach) {
      reply.hijack();
      close(socket);
      return;
    }
    requestsOf.set(socket, count);
    resting.delete(socket);
    reply.raw.once('close', () => {
      const left = (requestsOf.get(socket) ?? 1) - 1;
      requestsOf.set(socket, left);
      if (left === 0 && open.has(socket)) resting.add(socket);
    });
    done();
  });

  function close(socket: Socket): void {
    forget(socket);
    socket.destroy();
  }

  function forget(socket: Socket): void {
    open.delete(socket);
    resting.delete(socket);
  }
}
