import { groupBy } from '#libs/runtime/group-by';
import { reconcile } from '../reconcile';
import type { Step } from '../step';
import { type Case, NOW_MS, reconcileCases } from './reconcile-cases';

/**
 * The case table of the conductor's README: what `reconcile` answers in every case, as Markdown. What makes no difference
 * is left out: a condition is named only where the step depends on it, and observations with the same step share a row.
 */
export function caseTable(): string {
  const sections = new Map<string, string[]>();
  for (const [record, cases] of groupBy([...reconcileCases()].filter(isMade), recordOf)) {
    const rows = rowsOf(cases).join('\n');
    const same = sections.get(rows);
    if (same) same.push(record);
    else sections.set(rows, [record]);
  }
  return [...sections]
    .map(([rows, records]) => `**${distinct(records).join(' · ')}**\n\n${HEAD}\n${rows}`)
    .join('\n\n');
}

const HEAD = '| observed | and | next step |\n|---|---|---|';

/** True if the lifecycle makes such a record. */
function isMade({ state, attempt, hasHost, phase }: Case): boolean {
  switch (state) {
    case 'no record':
      return true;
    case 'scheduling':
      return attempt === 'none' && !hasHost;
    case 'pending':
      return attempt !== 'open' && !hasHost;
    case 'shelved_offloaded':
    case 'unshelving':
      return attempt === 'concluded' && !hasHost;
    case 'building':
      return attempt !== 'none' && hasHost;
    case 'active':
    case 'unknown':
    case 'stopping':
    case 'stopped':
    case 'starting':
    case 'rebuilding':
    case 'preempting':
    case 'shelving':
      return attempt !== 'open' && hasHost;
    case 'undoing':
      return attempt === 'concluded' && hasHost;
    case 'resize':
    case 'verify_resize':
    case 'revert_resize':
    case 'migrating': {
      // Where somebody works on it, its attempt is open.
      if (phase === 'arriving') return hasHost && attempt === 'open';
      return hasHost && (attempt === 'concluded' || (attempt === 'open' && MAY_BE_OPEN.includes(phase)));
    }
    case 'error':
      return attempt !== 'open' && hasHost === (attempt === 'concluded');
    case 'deleting':
    case 'deleted':
      return hasHost || attempt !== 'open';
  }
}

const MAY_BE_OPEN: readonly Case['phase'][] = ['asking_source', 'returning'];

function recordOf({ state, attempt, hasHost, isMissing, owesGang, former, phase }: Case): string {
  if (state === 'no record') return state;
  switch (state) {
    case 'building':
      return `building, attempt ${attempt}${former === '' ? '' : `, was ${former.replaceAll('_', ' ')}`}`;
    case 'active':
    case 'unknown':
    case 'stopping':
    case 'stopped':
    case 'starting': {
      const base = phase === '' ? state : `${state}, ${phase.replaceAll('_', ' ')}`;
      const name = attempt === 'none' ? `${base}, adopted` : base;
      return isMissing ? `${name}, missing in a report` : name;
    }
    case 'error':
      return owesGang ? 'error, not settled with its gang' : state;
    case 'deleting':
      return hasHost ? 'deleting' : 'deleting, no host';
    case 'resize':
    case 'migrating':
    case 'verify_resize':
    case 'revert_resize': {
      const words = `${state}, ${phase.replaceAll('_', ' ')}${former === '' ? '' : `, was ${former}`}`;
      if (phase === 'asking_source') return attempt === 'open' ? `${words}, not arrived yet` : words;
      return phase === 'returning' && attempt === 'open' ? `${words}, ordered` : words;
    }
    default:
      return state;
  }
}

/** Rows of one kind of record, those with the most observations last. */
function rowsOf(cases: readonly Case[]): string[] {
  const outcomes = new Map<string, string[]>();
  for (const [observation, ofOne] of groupBy(cases, (one) => one.observation)) {
    for (const outcome of outcomesOf(ofOne)) outcomes.set(outcome, [...(outcomes.get(outcome) ?? []), observation]);
  }
  const rows = [...outcomes].sort(([, a], [, b]) => a.length - b.length);
  const most = rows.at(-1)?.[1].length ?? 0;
  return rows.map(([outcome, observations]) => {
    const isRest = observations.length === most && most > 6;
    return `| ${isRest ? 'anything else' : wordsOfAll(observations)} | ${outcome} |`;
  });
}

function wordsOfAll(observations: readonly string[]): string {
  const all = new Set(observations);
  return observations
    .filter((one) => !all.has(one.replace(/ \(repeated\)$/, '')) || !one.endsWith('(repeated)'))
    .join('; ');
}

/** The steps of one observation, each with the claim and the time that it depends on. */
function outcomesOf(cases: readonly Case[]): string[] {
  const steps = groupBy(cases, (one) => wordsOf(reconcile(one.record, one.holds, one.observed, NOW_MS)));
  return [...steps].map(([words, ofStep]) => {
    const claims = distinct(ofStep.map(({ claim }) => claim));
    const times = distinct(ofStep.map(({ isOverdue }) => (isOverdue ? 'overdue' : 'in time')));
    const conditions = [
      ...(times.length < distinct(cases.map(({ isOverdue }) => String(isOverdue))).length ? times : []),
      ...(claims.length < distinct(cases.map(({ claim }) => claim)).length ? [`claim ${claims.join(' or ')}`] : []),
    ];
    return `${conditions.join(', ')} | ${words}`;
  });
}

function wordsOf(step: Step): string {
  const kind = step.kind.replaceAll('_', ' ');
  switch (step.kind) {
    case 'none':
      return `none: ${step.because}`;
    case 'wait':
      return 'wait';
    case 'record_power_change':
      return `record ${step.state}`;
    case 'set_power_state':
      return `tell its host: ${step.powerState}${step.isFirst ? '' : ', unless it is silent'}`;
    case 'record_returned':
      return step.isStopped ? `${kind}, stopped` : kind;
    case 'record_reverting':
      return step.fault ? `${kind}: ${step.fault.reason.replaceAll('_', ' ')}` : kind;
    case 'record_stopped':
      return step.fault ? `${kind}, with its fault` : kind;
    case 'conclude_attempt':
      return `${kind}: ${step.outcome}`;
    case 'record_shelved':
      return step.fault ? `${kind}, with its fault` : kind;
    case 'record_error':
      return step.claimToken === undefined ? kind : `release the record's claim, ${kind}`;
    case 'destroy':
      return `destroy ${step.attempt === 0 ? 'any attempt' : 'that attempt'} there${step.reports ? ', report it' : ''}`;
    case 'record_deleting':
      return step.fault ? `${kind}: ${step.fault.reason}` : kind;
    case 'close_record':
      return step.isConfirmed ? kind : `${kind}, unconfirmed`;
    case 'doubt':
      return `doubt: ${step.finding.replaceAll('_', ' ')}`;
    case 'claim_again':
      return step.replaces === undefined ? kind : `${kind}, in place of that one`;
    default:
      return kind;
  }
}

function distinct(values: readonly string[]): string[] {
  return [...new Set(values)];
}
