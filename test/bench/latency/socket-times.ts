import { Socket } from 'node:net';

/** Milliseconds of CLOCK_MONOTONIC, which all processes of one machine share. */
export function sharedNow(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

interface Patched {
  push: (...args: unknown[]) => boolean;
  _writeGeneric: (...args: unknown[]) => unknown;
}

/** Notes when this process's sockets are read and written: what a message waits for in a busy process shows between the two. */
export class SocketTimes {
  /** When a socket was last read: a handler that runs now was woken by it. */
  lastReadMs = 0;
  #onNextWrite: ((atMs: number) => void)[] = [];

  /** Watches all sockets of this process from now on. */
  watch(): void {
    const prototype = Socket.prototype as unknown as Patched;
    const { push, _writeGeneric: write } = prototype;
    const noteRead = () => {
      this.lastReadMs = sharedNow();
    };
    const noteWrite = () => this.#wrote();
    prototype.push = function (this: unknown, ...args) {
      noteRead();
      return push.apply(this, args);
    };
    // oxlint-disable-next-line no-underscore-dangle -- Node's name
    prototype._writeGeneric = function (this: unknown, ...args) {
      noteWrite();
      return write.apply(this, args);
    };
  }

  /** Calls back at the next write. */
  onNextWrite(note: (atMs: number) => void): void {
    this.#onNextWrite.push(note);
  }

  #wrote(): void {
    if (this.#onNextWrite.length === 0) return;
    const [notes, atMs] = [this.#onNextWrite, sharedNow()];
    this.#onNextWrite = [];
    for (const note of notes) note(atMs);
  }
}
