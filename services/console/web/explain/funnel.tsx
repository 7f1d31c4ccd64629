import type { FilterRefusals, Verdict } from '../../api/explain';
import { number, plural, words } from '../ui/format';
import { HostLink, State } from '../ui/parts';

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
        {number(hosts)}
      </span>
      <span class="funnel-note">{note}</span>
    </li>
  );
}

/** Hosts, the best first, with their weights; or the reason of a refusal. */
export function Verdicts({ verdicts }: { verdicts: readonly Verdict[] }) {
  if (verdicts.length === 0) return null;
  return (
    <table class="simple">
      <caption class="visually-hidden">{plural(verdicts.length, 'host')}, the best first</caption>
      <thead>
        <tr>
          <th scope="col">Host</th>
          <th scope="col">Fits</th>
          <th scope="col" class="num">
            Weight
          </th>
          <th scope="col">Because</th>
        </tr>
      </thead>
      <tbody>
        {verdicts.map(({ host, passed, refusals, weight, weights }) => (
          <tr key={host}>
            <td>
              <HostLink host={host} />
            </td>
            <td>{passed ? <State state="up" label="yes" /> : <State state="down" label="no" />}</td>
            <td class="num">{passed ? weight.toFixed(3) : '–'}</td>
            <td class="because">
              {passed
                ? Object.entries(weights)
                    .filter(([, value]) => value !== 0)
                    .map(([name, value]) => `${words(name)} ${value.toFixed(2)}`)
                    .join(', ') || 'no weigher prefers a host'
                : refusals.join('; ')}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
