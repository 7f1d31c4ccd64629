import type { ShadowChoice, ShadowDifference, ShadowOutcome } from '#libs/contracts/shadow-report';
import type { HostVerdict } from '../decision/host-verdicts';

/** Both schedulers' choices for one instance. */
export interface Choices {
  /** Berth's choice, then its alternates. */
  readonly berth: readonly ChosenHost[];
  readonly nova: ChosenHost | undefined;
  /** Berth's reason for no host. */
  readonly noHost: string | undefined;
  /** Instances of the same request that were placed before this one. */
  readonly before: number;
  /** Time that Nova's claim was waited for. */
  readonly waitedMs: number;
}

/** A chosen host with the verdict of Berth's decision; undefined for a host that it did not know. */
export interface ChosenHost {
  readonly host: string;
  readonly verdict: HostVerdict | undefined;
}

type Compared = Pick<ShadowDifference, 'outcome' | 'berth' | 'nova' | 'cause' | 'why'>;

/** Compares the choices and explains a difference. */
export function compare(choices: Choices): Compared {
  const { berth, nova } = choices;
  const outcome = outcomeOf(
    berth.map(({ host }) => host),
    nova?.host,
  );
  return { outcome, berth: choiceOf(berth), nova: choiceOf(nova === undefined ? [] : [nova]), ...causeOf(choices) };
}

/** @param ours  Berth's choice, then its alternates */
export function outcomeOf(ours: readonly string[], nova: string | undefined): ShadowOutcome {
  const [chosen] = ours;
  if (nova === undefined) return chosen === undefined ? 'neither' : 'only_berth';
  if (chosen === undefined) return 'only_nova';
  if (chosen === nova) return 'same';
  return ours.includes(nova) ? 'alternate' : 'different';
}

function choiceOf(hosts: readonly ChosenHost[]): ShadowChoice {
  const verdict = hosts[0]?.verdict;
  const { weight, weights } = verdict?.kind === 'weighed' ? verdict : { weight: undefined, weights: {} };
  return { hosts: hosts.map(({ host }) => host), weight, weights };
}

function causeOf({ berth, nova, noHost, before, waitedMs }: Choices): Pick<Compared, 'cause' | 'why'> {
  const [ours] = berth;
  if (nova === undefined) {
    const why = `Nova claimed nothing in ${Math.round(waitedMs / 1_000)} s: it found no host, or failed, or was slower`;
    return { cause: 'nova_claimed_nothing', why };
  }
  const { host, verdict } = nova;
  if (verdict?.kind === 'refused')
    return { cause: verdict.step, why: `${verdict.step} refuses ${host}: ${verdict.reason}` };
  if (ours === undefined) return { cause: 'no_host', why: noHost ?? 'Berth found no host' };
  if (verdict === undefined) return { cause: 'unknown_host', why: `Nova's API did not tell of ${host} then` };
  const after = before > 0 ? `, as weighed before ${before} others of the request were placed` : '';
  const own = ours.verdict?.kind === 'weighed' ? ours.verdict : verdict;
  if (verdict.weight === own.weight)
    return { cause: 'equal_weight', why: `${ours.host} and ${host} weigh the same${after}: either is right` };
  const word = verdict.weight < own.weight ? 'less' : 'more';
  const parts = differingParts(verdict.weights, own.weights);
  return { cause: `${word}_weight`, why: `${host} weighs ${word} than ${ours.host}${after}: ${parts}` };
}

/** `RAMWeigher 0.5 and not 0.75`, the greatest difference first. */
function differingParts(theirs: Readonly<Record<string, number>>, ours: Readonly<Record<string, number>>): string {
  return Object.keys(ours)
    .map((name) => ({ name, theirs: theirs[name] ?? 0, ours: ours[name] ?? 0 }))
    .filter((part) => part.theirs !== part.ours)
    .sort((a, b) => Math.abs(b.theirs - b.ours) - Math.abs(a.theirs - a.ours))
    .map((part) => `${part.name} ${rounded(part.theirs)} and not ${rounded(part.ours)}`)
    .join(', ');
}

function rounded(weight: number): string {
  return String(Number(weight.toPrecision(4)));
}
