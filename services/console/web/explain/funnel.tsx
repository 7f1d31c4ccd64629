import type { FilterRefusals } from '../../api/explain';
import { number, words } from '../ui/format';

/**
 * The number of hosts that each filter refused, with reasons; and the remaining ones. A host that several filters
 * refuse counts for each: all obstacles are shown, not only the first.
 */
export function Funnel({
  considered,
  passed,
  filters,
}: {
  considered: number;
  passed: number;
  filters: readonly FilterRefusals[];
}) {
  const whole = Math.max(1, considered);
  return (
    <ol class="funnel">
      <Step label="Considered" hosts={considered} whole={whole} kind="all" />
      {filters
        .filter(({ refused }) => refused > 0)
        .toSorted((a, b) => b.refused - a.refused)
        .map(({ filter, refused, reasons }) => {
          const why = reasons.map(({ name, count }) => `${name} ${number(count)}`).join(', ');
          return <Step key={filter} label={words(filter)} hosts={refused} whole={whole} kind="refused" note={why} />;
        })}
      <Step label="Fit" hosts={passed} whole={whole} kind="fit" />
    </ol>
  );
}

function Step({
  label,
  hosts,
  whole,
  kind,
  note,
}: {
  label: string;
  hosts: number;
  whole: number;
  kind: 'all' | 'refused' | 'fit';
  note?: string;
}) {
  return (
    <li class={`funnel-${kind}`}>
      <span class="funnel-label">{label}</span>
      <span class="funnel-track" aria-hidden="true">
        <span style={{ width: `${(hosts / whole) * 100}%` }} />
      </span>
      <span class="num">
        {kind === 'refused' && '−'}
        {kind === 'all' ? <a href="/fleet?view=list">{number(hosts)}</a> : number(hosts)}
      </span>
      <span class="funnel-note">{note}</span>
    </li>
  );
}
