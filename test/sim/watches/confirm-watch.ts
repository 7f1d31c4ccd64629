import type { Instance } from '#libs/domain/instance';

/** The states in which a scheduler selects a first host. */
const SELECTING: readonly string[] = ['scheduling', 'pending'];

/** What hosts said of claims about which they were asked. */
export class ConfirmWatch {
  /** By question. */
  readonly #asked = new Map<string, { readonly host: string; readonly instance: string }>();
  readonly #confirmed = new Set<string>();

  /** Takes what was written at the store: a question, or an answer that was noted. */
  onWrite(what: string, result: unknown): void {
    const [, asked = '', instance = '', id = ''] = /^asks (\S+) of (\S+), (\S+)$/.exec(what) ?? [];
    if (id !== '') this.#asked.set(id, { host: asked, instance });
    const [, host = '', question = '', answer = ''] = /^(\S+) answers (\S+): (.*)$/.exec(what) ?? [];
    const about = this.#asked.get(question);
    if (result !== true || about?.host !== host) return;
    const { reason } = JSON.parse(answer) as { reason: string };
    if (reason === '') this.#confirmed.add(`${about.instance} ${host}`);
  }

  /** What is wrong about a record that is written now; undefined when nothing is. */
  onRecord({ uuid, state, host, admission }: Instance, before: Instance | undefined): string | undefined {
    if (!admission?.confirmsHost || state !== 'building' || !SELECTING.includes(before?.state ?? '')) return undefined;
    if (this.#confirmed.has(`${uuid} ${host}`)) return undefined;
    return `${uuid} was given to ${host}, which did not confirm that it has the room`;
  }
}
