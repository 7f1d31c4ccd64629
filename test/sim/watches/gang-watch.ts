import type { Instance } from '#libs/domain/instance';

/** History of gangs, from all versions of their members' records. */
export class GangWatch {
  /** Members by request. */
  readonly #members = new Map<string, Map<string, Instance>>();
  readonly #wereActive = new Set<string>();

  /** The violation in a record that is written now, if any. */
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
   * Gangs with running members at rest, although fewer than the minimum were ever ACTIVE; except gangs with a terminated member, or one
   * whose record may be lost.
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
