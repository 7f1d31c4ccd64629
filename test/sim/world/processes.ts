import type { Message } from '#libs/simulation/simulated-bus';
import { Processes as AnyProcesses } from '#services/rehearsal/world/processes';
import { describeMessage } from '../describe';

export type { Member, Servers } from '#services/rehearsal/world/processes';

/** When each run begins: whole, so that histories are easy to read. */
export const START_MS = 1_700_000_000_000;

/** The processes of a world that is checked: all that they do is on its history, in words. */
export abstract class Processes extends AnyProcesses {
  constructor(seed: number) {
    super(seed, START_MS);
  }

  protected override describe(message: Message): string {
    return describeMessage(message);
  }
}
