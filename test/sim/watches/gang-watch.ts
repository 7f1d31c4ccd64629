import type { Instance } from '#libs/domain/instance';

/** What is known of the gangs of requests, from all that was ever written of their members. */
export class GangWatch {
  /** By request. */
  readonly #members = new Map<string, Map<string, Instance>>();
  readonly #wereActive = new Set<string>();

  /** What is wrong about a record that is written now; undefined when nothing is. */
  onRecord(instance: Instance): string | undefined {
    const { uuid, requestId, gang, state, fault } = instance;
    if (gang === undefined) return undefined;
    const members = this.#members.get(requestId) ?? new Map<string, Instance>();
    const before = members.get(uuid);
    this.#members.set(requestId, members.set(uuid, instance));
    if (state === 'active') this.#wereActive.add(uuid);
    if (fault?.reason !== 'gang_failed' || before?.fault?.reason === 'gang_failed') return undefined;
    const failed = [...members.values()].filter((one) => this.#hasFailed(one)).length;
    if (failed > gang.count - gang.minCount) return undefined;
    return `${uuid} is undone, though only ${failed} of ${gang.count} failed and ${gang.minCount} were to be ACTIVE`;
  }

  /**
   * Gangs whose members run at rest, though fewer than were to have ever been ACTIVE; but for those of which one was terminated
   * or its record may be lost.
   */
  unkept(isExcused: (uuid: string) => boolean): string[] {
    return [...this.#members].flatMap(([requestId, members]) => {
      const all = [...members.values()];
      const minCount = all[0]?.gang?.minCount ?? 0;
      const active = all.filter(({ uuid }) => this.#wereActive.has(uuid)).length;
      const there = all.filter(({ state }) => state !== 'error' && state !== 'deleted').length;
      if (active >= minCount || there === 0 || all.some(({ uuid }) => isExcused(uuid))) return [];
      return [`of ${requestId} ${active} were ACTIVE, ${minCount} were to be, and ${there} are not undone`];
    });
  }

  #hasFailed({ uuid, state, fault }: Instance): boolean {
    const hasEnded = state === 'error' || state === 'deleting' || state === 'deleted';
    return hasEnded && fault !== undefined && fault.reason !== 'gang_failed' && !this.#wereActive.has(uuid);
  }
}
