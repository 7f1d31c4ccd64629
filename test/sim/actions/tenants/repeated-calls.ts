import { isDeepStrictEqual } from 'node:util';
import type { OperateInstanceRequest } from '#libs/contracts/operations';

/** A call of a client, as its copies repeat it. */
export type Call = OperateInstanceRequest;

/** Watches the answers to copies of calls: a client whose answer was lost sends its call again. */
export class RepeatedCalls {
  /** The call of each instance that is on record, as long as nothing else is asked of it. */
  readonly #onRecord = new Map<string, Call>();

  /** Something is asked of an instance. */
  asked(uuid: string): void {
    this.#onRecord.delete(uuid);
  }

  /** A call was answered, and nothing was asked since it was sent. */
  answered(call: Call): void {
    this.#onRecord.set(call.instanceUuid, call);
  }

  /** A call was refused. @returns what is wrong with that */
  refused(call: Call, reason: string): string | undefined {
    const { instanceUuid: uuid, operation, version } = call;
    const isCopy = isDeepStrictEqual(this.#onRecord.get(uuid), call);
    if (!isCopy || reason !== 'instance_changed') return undefined;
    return `a copy of the call to ${operation} ${uuid}, version ${version}, which is on record, was refused: ${reason}`;
  }
}
