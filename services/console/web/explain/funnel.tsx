import type { ComponentChildren } from 'preact';
import type { FilterRefusals } from '../../api/explain';
import { number, percent, words } from '../ui/format';
import { Linked } from '../ui/parts';

/**
 * The number of hosts that each filter refused, with reasons; and the remaining ones. A host that several filters
 * refuse counts for each: all obstacles are shown, not only the first.
 */
export function Funnel({
  considered,
  passed,
  filters,
  explain,
}: {
  considered: number;
  passed: number;
  filters: readonly FilterRefusals[];
  /** The query of the explanation that lists the counted hosts; undefined for Nova's hosts, which no page lists. */
  explain: string | undefined;
}) {
  const whole = Math.max(1, considered);
  const hostsBy = (refused: string) => explain && `/explain?${hostsRefusedBy(explain, refused)}#hosts`;
  return (
    <ol class="funnel">
      <Step label="Considered" hosts={considered} whole={whole} kind="all" href={explain && '/fleet?view=list'} />
      {filters
        .filter(({ refused }) => refused > 0)
        .toSorted((a, b) => b.refused - a.refused)
        .map(({ filter, refused, reasons }) => (
          <Step key={filter} label={words(filter)} hosts={refused} whole={whole} kind="refused" href={hostsBy(filter)}>
            {reasons.map(({ name, count }, n) => (
              <span key={name}>
                {n > 0 && ', '}
                {name} <Linked href={hostsBy(name)}>{number(count)}</Linked>
              </span>
            ))}
          </Step>
        ))}
      <Step label="Fit" hosts={passed} whole={whole} kind="fit" href={hostsBy('')} />
    </ol>
  );
}

/** The query of an explanation that lists the hosts that a filter or a reason refuses; of the best hosts with ''. */
export function hostsRefusedBy(explain: string, refused: string): string {
  const query = new URLSearchParams(explain);
  query.delete('host');
  if (refused === '') query.delete('refused');
  else query.set('refused', refused);
  return query.toString();
}

function Step({
  label,
  hosts,
  whole,
  kind,
  href,
  children,
}: {
  label: string;
  hosts: number;
  whole: number;
  kind: 'all' | 'refused' | 'fit';
  href: string | undefined;
  children?: ComponentChildren;
}) {
  return (
    <li class={`funnel-${kind}`}>
      <span class="funnel-label">{label}</span>
      <span class="funnel-track" aria-hidden="true" title={`${percent(hosts / whole)} of ${number(whole)}`}>
        <span style={{ width: `${(hosts / whole) * 100}%` }} />
      </span>
      <span class="num">
        {kind === 'refused' && '−'}
        <Linked href={href}>{number(hosts)}</Linked>
      </span>
      <span class="funnel-note">{children}</span>
    </li>
  );
}
