import type { Instance } from '#libs/domain/instance';

/** States in which a scheduler selects a first host. */
const SELECTING: readonly string[] = ['scheduling', 'pending'];

/** Hosts' answers to the questions about claims. */
export class ConfirmWatch {
  /** Open questions, by id. */
  readonly #asked = new Map<string, { readonly host: string; readonly instance: string }>();
  readonly #confirmed = new Set<string>();

  /** Takes a write at the store: a question, or an answer. */
  onWrite(what: string, result: unknown): void {
    const [, asked = '', instance = '', id = ''] = /^asks (\S+) of (\S+), (\S+)$/.exec(what) ?? [];
    if (id !== '') this.#asked.set(id, { host: asked, instance });
    const [, host = '', question = '', answer = ''] = /^(\S+) answers (\S+): (.*)$/.exec(what) ?? [];
    const about = this.#asked.get(question);
    if (result !== true || about?.host !== host) return;
    const { reason } = JSON.parse(answer) as { reason: string };
    if (reason === '') this.#confirmed.add(`${about.instance} ${host}`);
  }

  /** The violation in a record that is written now, if any. */
  onRecord({ uuid, state, host, admission }: Instance, before: Instance | undefined): string | undefined {
    if (!admission?.confirmsHost || state !== 'building' || !SELECTING.includes(before?.state ?? '')) return undefined;
    if (this.#confirmed.has(`${uuid} ${host}`)) return undefined;
    return `${uuid} was given to ${host}, which did not confirm that it has the room`;
  }
}
