import { byAge, DOUBT_BOUNDS, type Doubt, type DoubtStore, doubtKey, doubtKind, doubtShare } from '../doubts';

/** Doubts in this process's memory. */
export function memoryDoubtStore(): DoubtStore {
  const doubts = new Map<string, Doubt>();
  const isFull = (found: Pick<Doubt, 'finding' | 'host' | 'source'>) => {
    const kind = doubtKind(found.finding);
    const { max, maxOfSource } = DOUBT_BOUNDS[kind];
    const alike = [...doubts.values()].filter(({ finding }) => doubtKind(finding) === kind);
    const share = doubtShare(found);
    return alike.length >= max || alike.filter((one) => doubtShare(one) === share).length >= maxOfSource;
  };
  return {
    async noteDoubt(found) {
      const key = doubtKey(found);
      const present = doubts.get(key);
      if (!present && isFull(found)) return false;
      const source = present ? present.source : found.source;
      doubts.set(key, { ...found, source, sinceMs: present?.sinceMs ?? found.seenAtMs });
      return true;
    },
    async listDoubts() {
      return [...doubts.values()].sort(byAge);
    },
    async getDoubts(names) {
      return names.flatMap((name) => doubts.get(doubtKey(name)) ?? []);
    },
    async settleDoubt(doubt) {
      const key = doubtKey(doubt);
      const present = doubts.get(key);
      if (present && present.seenAtMs <= doubt.seenAtMs) doubts.delete(key);
    },
  };
}
