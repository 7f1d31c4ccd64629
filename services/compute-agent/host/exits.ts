import type { Driver } from '../drivers/driver';

/** Reports exits of a host's instances. */
export interface Exits {
  /** Sets the only listener. */
  onExit(listener: (uuid: string, why: string) => void): void;
  /**
   * Runs an action that starts or stops an instance and records its new state. An exit meanwhile is held back: a
   * listener would judge it by the former state. It is delivered afterwards, unless the instance runs: then it belonged
   * to an earlier run of the instance.
   */
  holdBack<T>(uuid: string, action: () => Promise<T>): Promise<T>;
}

/** @param retry  repeats an action until it succeeds, or resolves to false */
export function createExits(driver: Driver, retry: (action: () => Promise<void>) => Promise<boolean>): Exits {
  /** By instance: the cause of its exit, if it exited. */
  const held = new Map<string, string | undefined>();
  let listener: (uuid: string, why: string) => void = () => {};
  driver.onExit((uuid, why) => {
    if (held.has(uuid)) held.set(uuid, why);
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
    async holdBack(uuid, action) {
      held.set(uuid, undefined);
      try {
        return await action();
      } finally {
        const why = held.get(uuid);
        held.delete(uuid);
        if (why !== undefined) void hearUnlessRunning(uuid, why);
      }
    },
  };
}
