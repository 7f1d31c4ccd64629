import type { Writable } from 'node:stream';

/**
 * From now on, what is written to a socket in one turn of the event loop leaves in one system call.
 *
 * Both clients that Berth uses write each command or frame by itself, which is one system call and one packet for each,
 * and wakes up the other side each time: under load that is a third of a process's time, and much of the broker's and the
 * store's. The socket is corked by the first write of a turn and uncorked at the turn's end; a write that comes alone
 * leaves as soon as before, but for the few microseconds to the end of the turn.
 */
export function writeTogether(socket: Writable): void {
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
      process.nextTick(uncork);
    }
    return write(...args);
  };
}
