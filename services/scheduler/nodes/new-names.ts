import { MAX_HOSTS_PER_AGENT } from '#libs/contracts/limits';
import { BerthError } from '#libs/domain/errors';

/** A name that was asked for counts for so long: until then its agent has brought it, or has given up. */
const COUNTED_MS = 3_600_000;
/** Agents whose names are known; the one that asked first is forgotten. */
const MAX_AGENTS = 1_000;

/** Counts the new names of the agents of pools, which may be any: the store keeps a row of each name for good. */
export type NewNames = (agent: string, unknown: readonly string[], nowMs: number) => void;

/** @returns what throws BerthError `failed_precondition / too_many_new_hosts` when names are more than an agent's share */
export function newNames(): NewNames {
  const byAgent = new Map<string, Map<string, number>>();
  return (agent, unknown, nowMs) => {
    const names = byAgent.get(agent) ?? new Map<string, number>();
    for (const [name, atMs] of names) if (nowMs - atMs >= COUNTED_MS) names.delete(name);
    const added = new Set(unknown.filter((name) => !names.has(name)));
    if (names.size + added.size > MAX_HOSTS_PER_AGENT) throw tooManyNew(agent, names.size + added.size);
    for (const name of added) names.set(name, nowMs);
    byAgent.set(agent, names);
    const [first] = byAgent.keys();
    if (byAgent.size > MAX_AGENTS && first !== undefined) byAgent.delete(first);
  };
}

function tooManyNew(agent: string, count: number): BerthError {
  const message = `agent ${agent} asks for ${count} nodes that nobody has reported, of at most ${MAX_HOSTS_PER_AGENT}: report those that it brought, or ask for more in an hour`;
  return new BerthError('failed_precondition', 'too_many_new_hosts', message);
}
