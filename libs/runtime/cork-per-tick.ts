import type { Writable } from 'node:stream';
import { afterCallback } from './batch-per-tick';

/**
 * Sends all writes of one event loop callback to a socket in one system call.
 *
 * The clients of RabbitMQ and Redis write each command or frame by itself: one system call and one packet for each, and
 * one wake-up of the peer. Under load that takes a third of a process's time, and much of the broker's and the store's.
 * The first write of a callback corks the socket; it is uncorked after all sends of the callback (`afterCallback`).
 */
export function corkPerTick(socket: Writable): void {
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
  let isCorked = false;
  const uncork = () => {
    isCorked = false;
    socket.uncork();
  };
  socket.write = (...args: unknown[]) => {
    if (!isCorked) {
      isCorked = true;
      socket.cork();
      afterCallback(uncork);
    }
    return write(...args);
  };
}
