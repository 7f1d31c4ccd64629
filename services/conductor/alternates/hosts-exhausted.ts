import type { Attempt } from '#libs/domain/instance';
import { counted } from '#libs/runtime/counted';
import type { Fault } from '../observation';

/** The fault of a build whose hosts were all tried. When several failed alike it says that once, with who said so and where. */
export function hostsExhausted(tried: readonly Attempt[]): Fault {
  const last = tried.at(-1);
  const isAlike = last !== undefined && tried.length > 1 && tried.every((attempt) => saysLike(attempt, last));
  if (isAlike) {
    const saidBy = SAID_BY[last.outcome] ?? 'noted by the conductor for';
    const message = `${tried.length} of ${tried.length}: ${reasonOf(last)}; ${saidBy} ${someOf(tried)}`;
    return { reason: 'hosts_exhausted', message };
  }
  const message = `tried ${counted(tried.length, 'host')} and no alternate is left; ${last?.host} said: ${last?.reason}`;
  return { reason: 'hosts_exhausted', message };
}

function saysLike(a: Attempt, b: Attempt): boolean {
  return a.outcome === b.outcome && reasonOf(a) === reasonOf(b);
}

/** Without the host's own name, which alone would tell equal reasons apart. */
function reasonOf({ reason, host }: Attempt): string {
  return host === '' ? reason : reason.replaceAll(host, 'the host');
}

const SAID_BY: Readonly<Partial<Record<Attempt['outcome'], string>>> = {
  failed: 'said the compute agents of',
  refused: 'refused for',
};

/** Their hosts; of many the first. */
function someOf(tried: readonly Attempt[]): string {
  const hosts = tried.slice(0, MAX_HOSTS).map(({ host }) => host);
  const rest = tried.length - hosts.length;
  return rest > 0 ? `${hosts.join(', ')} and ${rest} more` : hosts.join(', ');
}

const MAX_HOSTS = 8;
