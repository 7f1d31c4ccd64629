import type { Driver } from '../drivers/driver';

/** Hears of a host's instances that stop by themselves. */
export interface Exits {
  /** Sets the one listener. */
  onExit(listener: (uuid: string, why: string) => void): void;
  /**
   * Does what makes an instance run and puts that on record. An exit meanwhile is held back: whoever heard of it would find
   * an instance that is not on record as running, and take no notice. It is heard afterwards, unless the instance runs, for
   * then it was that of an earlier run of it.
   */
  holdBack<T>(uuid: string, start: () => Promise<T>): Promise<T>;
}

/** @param retry  repeats an action until it succeeds, or resolves to false */
export function createExits(driver: Driver, retry: (action: () => Promise<void>) => Promise<boolean>): Exits {
  /** By instance: why it stopped, if it did. */
  const starting = new Map<string, string | undefined>();
  let listener: (uuid: string, why: string) => void = () => {};
  driver.onExit((uuid, why) => {
    if (starting.has(uuid)) starting.set(uuid, why);
    else listener(uuid, why);
  });

  const hearUnlessRunning = (uuid: string, why: string) =>
    retry(async () => {
      const isRunning = (await driver.list()).some(({ id }) => id === uuid);
      if (!isRunning) listener(uuid, why);
    });

  return {
    onExit(next) {
      listener = next;
    },
    async holdBack(uuid, start) {
      starting.set(uuid, undefined);
      try {
        return await start();
      } finally {
        const why = starting.get(uuid);
        starting.delete(uuid);
        if (why !== undefined) void hearUnlessRunning(uuid, why);
      }
    },
  };
}
