import type { Principal } from '#libs/auth/auth';
import type { Bus, Subscription } from '#libs/bus/port';
import type { OperatorAction } from '#libs/contracts/operator-action';
import { operatorActionCodec } from '#libs/contracts/operator-action';
import { operatorTopic } from '#libs/contracts/queues';
import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { Random } from '#libs/domain/random';
import type { Log } from '#libs/runtime/log';
import type { Action } from '../api/stream';
import { problemOf } from '../http/problem';

interface OperatorActionsParts {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** The description of an action in its event. */
export interface Told {
  /** `host_disable`, `instance_terminate`. */
  readonly action: string;
  readonly target: string;
  readonly details?: Readonly<Record<string, string>>;
}

const KEPT = 500;

/**
 * Operators' actions by consoles: each is executed, and then published as an event with the user, even when refused.
 * All consoles show the latest; each logs its own.
 */
export class OperatorActions {
  #recent: Action[] = [];
  #subscription: Subscription | undefined;
  readonly #listeners = new Set<() => void>();

  private constructor(private readonly parts: OperatorActionsParts) {}

  static async open(parts: OperatorActionsParts): Promise<OperatorActions> {
    const actions = new OperatorActions(parts);
    actions.#subscription = await parts.bus.subscribe('operator.#', (_topic, message) => {
      if (message.type === operatorActionCodec.type) actions.#keep(operatorActionCodec.decode(message.body));
    });
    return actions;
  }

  /** Executes an action and publishes its event. @throws errors of `work`. */
  async carryOut<T>(principal: Principal, deed: Told, work: () => Promise<T>): Promise<T> {
    try {
      const result = await work();
      this.#tell(principal, deed, undefined);
      return result;
    } catch (thrown) {
      this.#tell(principal, deed, BerthError.from(thrown));
      throw thrown;
    }
  }

  /** Newest first. */
  recent(): readonly Action[] {
    return this.#recent;
  }

  /** Calls back after each action. Returns the unsubscription. */
  onAction(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    await this.#subscription?.cancel();
  }

  #tell({ userId, projectId = '' }: Principal, deed: Told, error: BerthError | undefined): void {
    const { bus, clock, random, log } = this.parts;
    const { action, target, details = {} } = deed;
    const told = { id: random.uuid(), action, target, userId, projectId, atMs: clock.now(), error, details };
    const fields = { event: 'operator_action', user_id: userId, project_id: projectId, action, target, ...details };
    if (error === undefined) log.info(fields, 'operator acted');
    else log.info({ ...fields, reason: error.reason }, 'operator was refused');
    const message = { type: operatorActionCodec.type, body: operatorActionCodec.encode(told) };
    bus.publish(operatorTopic(action, userId), message).catch((thrown: unknown) => {
      log.warn({ event: 'action_not_told', action, target, error: BerthError.from(thrown) }, 'action not published');
      this.#keep(told);
    });
  }

  #keep({ error, ...action }: OperatorAction): void {
    const kept = { ...action, error: error && problemOf(error) };
    this.#recent = [kept, ...this.#recent.filter(({ id }) => id !== action.id)].slice(0, KEPT);
    for (const listener of this.#listeners) listener();
  }
}
