import { byAge, type Doubt, type DoubtStore, doubtKey, MAX_DOUBTS } from '../doubts';

/** Doubts in this process's memory. */
export function memoryDoubtStore(): DoubtStore {
  const doubts = new Map<string, Doubt>();
  return {
    async noteDoubt(found) {
      const key = doubtKey(found);
      const present = doubts.get(key);
      if (!present && doubts.size >= MAX_DOUBTS) return;
      doubts.set(key, { ...found, sinceMs: present?.sinceMs ?? found.seenAtMs });
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
