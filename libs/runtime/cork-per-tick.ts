import type { Writable } from 'node:stream';
import { afterCallback } from './batch-per-tick';

/**
 * From now on, what one callback of the event loop writes to a socket leaves in one system call.
 *
 * Both clients that Berth uses write each command or frame by itself, which is one system call and one packet for each,
 * and wakes the other side each time: under load a third of a process's time, and much of the broker's and the store's.
 * The first write of a callback corks the socket, and after all that the callback sends (`afterCallback`) it is uncorked.
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
