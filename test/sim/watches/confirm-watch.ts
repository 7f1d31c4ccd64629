import type { Instance } from '#libs/domain/instance';

/** States in which a scheduler selects a first host. */
const SELECTING: readonly string[] = ['scheduling', 'pending'];

/** A scheduler's question to a host, whether it has the room for an instance. */
export interface Question {
  readonly id: string;
  readonly host: string;
  readonly instance: string;
}

/** Hosts' answers to the questions about claims. */
export class ConfirmWatch {
  /** Told of each question when it is opened. */
  readonly onQuestion = new Set<(question: Question) => void>();
  /** Open questions, by id. */
  readonly #asked = new Map<string, Question>();
  readonly #confirmed = new Set<string>();

  /**
   * Takes a write at the store: a question, or an answer.
   *
   * @param forged  what stands in answers that another host's agent gave
   * @returns the violation, if any
   */
  onWrite(what: string, result: unknown, forged: string): string | undefined {
    const [, asked = '', instance = '', id = ''] = /^asks (\S+) of (\S+), (\S+)$/.exec(what) ?? [];
    if (id !== '') this.#ask({ id, host: asked, instance });
    const [, host = '', question = '', answer = ''] = /^(\S+) answers (\S+): (.*)$/.exec(what) ?? [];
    const about = this.#asked.get(question);
    if (result !== true || question === '') return undefined;
    const { reason, message } = JSON.parse(answer) as { reason: string; message: string };
    if (message === forged) return `another's agent answered for ${host} what ${about?.host} was asked`;
    if (reason === '' && about?.host === host) this.#confirmed.add(`${about.instance} ${host}`);
    return undefined;
  }

  #ask(question: Question): void {
    this.#asked.set(question.id, question);
    for (const listener of this.onQuestion) listener(question);
  }

  /** The violation in a record that is written now, if any. */
  onRecord({ uuid, state, host, admission }: Instance, before: Instance | undefined): string | undefined {
    if (!admission?.confirmsHost || state !== 'building' || !SELECTING.includes(before?.state ?? '')) return undefined;
    if (this.#confirmed.has(`${uuid} ${host}`)) return undefined;
    return `${uuid} was given to ${host}, which did not confirm that it has the room`;
  }
}
