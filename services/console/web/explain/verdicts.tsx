import type { Verdict } from '../../api/explain';
import { number, plural, words } from '../ui/format';
import { HostLink, State } from '../ui/parts';
import { Table, type TableColumn } from '../ui/table';

/** Hosts of one row: the same verdict for the same reasons. */
interface Row extends Omit<Verdict, 'host'> {
  readonly hosts: readonly string[];
}

/** Schedulers draw among hosts whose weights differ by no more than this (`NEARLY` in the scheduler's `pick-hosts`). */
const NEARLY = 0.1;
/** Hosts that a row names; it counts the rest. */
const NAMED = 6;

/**
 * Hosts, the chosen one first and then the best, with their weights, or the reason of a refusal; hosts that are equal in all
 * of that stand in one row.
 */
export function Verdicts({
  verdicts,
  fitting,
  chosen = '',
  isOfNova = false,
}: {
  verdicts: readonly Verdict[];
  /** Hosts that fit, those that are not shown included. */
  fitting: number;
  chosen?: string;
  /** Nova's hosts have no page, and its schedulers draw by rules of their own. */
  isOfNova?: boolean;
}) {
  if (verdicts.length === 0) return null;
  const draw = isOfNova ? '' : drawOf(verdicts, fitting, chosen);
  return (
    <>
      {draw !== '' && <p class="note">{draw}</p>}
      <Table
        caption={`${plural(verdicts.length, 'host')}, the best first`}
        kind="verdicts"
        columns={columnsOf(chosen, isOfNova)}
        rows={rowsOf(verdicts, chosen)}
        keyOf={({ hosts }) => hosts.join()}
        kindOf={({ hosts }) => (hosts.includes(chosen) ? 'chosen' : '')}
      />
    </>
  );
}

function columnsOf(chosen: string, isOfNova: boolean): readonly TableColumn<Row>[] {
  return [
    { head: 'Host', cell: ({ hosts }) => <Hosts hosts={hosts} chosen={chosen} areLinked={!isOfNova} /> },
    {
      head: 'Fits',
      cell: ({ passed }) => (passed ? <State state="up" label="yes" /> : <State state="down" label="no" />),
    },
    { head: 'Weight', isNumber: true, cell: ({ passed, weight }) => (passed ? weight.toFixed(3) : '–') },
    {
      head: 'Because',
      kind: 'because',
      cell: ({ passed, weights, refusals }) => (passed ? weightsIn(weights) : refusals.join('; ')),
    },
  ];
}

function Hosts({ hosts, chosen, areLinked }: { hosts: readonly string[]; chosen: string; areLinked: boolean }) {
  const named = hosts.slice(0, NAMED);
  return (
    <>
      {named.map((host, n) => (
        <span key={host}>
          {n > 0 && ', '}
          {areLinked ? <HostLink host={host} /> : host}
          {host === chosen && <span class="badge">chosen</span>}
        </span>
      ))}
      {hosts.length > named.length && ` and ${number(hosts.length - named.length)} more`}
      {hosts.length > 1 && <small>{plural(hosts.length, 'equal host')}</small>}
    </>
  );
}

function weightsIn(weights: Verdict['weights']): string {
  const told = Object.entries(weights).filter(([, value]) => value !== 0);
  return told.map(([name, value]) => `${words(name)} ${value.toFixed(2)}`).join(', ') || 'no weigher prefers a host';
}

/** One row for equal hosts; the chosen one has its own, the first. */
function rowsOf(verdicts: readonly Verdict[], chosen: string): Row[] {
  const rows = new Map<string, Row>();
  const inOrder = verdicts.toSorted((a, b) => Number(b.host === chosen) - Number(a.host === chosen));
  for (const { host, ...verdict } of inOrder) {
    const { passed, weight, weights, refusals } = verdict;
    const said = passed ? [weight.toFixed(3), weightsIn(weights)] : refusals;
    const key = [host === chosen, passed, ...said].join('\n');
    rows.set(key, { ...verdict, hosts: [...(rows.get(key)?.hosts ?? []), host] });
  }
  return [...rows.values()];
}

/** Says that weights alone did not decide, or will not; '' where they do. */
function drawOf(verdicts: readonly Verdict[], fitting: number, chosen: string): string {
  const shown = verdicts.filter(({ passed }) => passed);
  const best = Math.max(...shown.map(({ weight }) => weight));
  const peers = shown.filter(({ weight }) => weight >= best - NEARLY);
  const equals = shown.filter(({ weight }) => weight >= best - 5e-4);
  if (chosen === '') {
    if (equals.length < 2) return '';
    const isAll = equals.length < shown.length || shown.length >= fitting;
    const count = `${isAll ? '' : 'At least '}${plural(equals.length, 'host')}`;
    return `${count} have the same weight: a scheduler draws one of them.`;
  }
  if (peers.length < 2 || !peers.some(({ host }) => host === chosen)) return '';
  if (equals.some(({ host }) => host === chosen)) {
    if (equals.length < 2) return '';
    return `A draw decided: ${chosen} was one of ${equals.length} shown hosts with the same weight.`;
  }
  return `A draw decided: ${chosen} weighs within ${NEARLY} of the best host.`;
}
