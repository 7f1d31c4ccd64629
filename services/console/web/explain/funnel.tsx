import type { FilterRefusals, Verdict } from '../../api/explain';
import { number, plural, words } from '../ui/format';
import { HostLink, State } from '../ui/parts';

/** How hosts became fewer: each filter with how many it refused, and for what. */
export function Funnel({
  considered,
  passed,
  filters,
}: {
  considered: number;
  passed: number;
  filters: readonly FilterRefusals[];
}) {
  let left = considered;
  const whole = Math.max(1, considered);
  return (
    <ol class="funnel">
      <Step label="Considered" hosts={considered} whole={whole} />
      {filters
        .filter(({ refused }) => refused > 0)
        .map(({ filter, refused, reasons }) => {
          left = Math.max(0, left - refused);
          const why = reasons.map(({ name, count }) => `${words(name)} ${number(count)}`).join(', ');
          return (
            <Step
              key={filter}
              label={words(filter)}
              hosts={left}
              whole={whole}
              note={`refuses ${number(refused)}: ${why}`}
            />
          );
        })}
      <Step label="Fit" hosts={passed} whole={whole} isEnd />
    </ol>
  );
}

function Step({
  label,
  hosts,
  whole,
  note,
  isEnd,
}: {
  label: string;
  hosts: number;
  whole: number;
  note?: string;
  isEnd?: boolean;
}) {
  return (
    <li class={isEnd ? 'funnel-end' : ''}>
      <span class="funnel-label">{label}</span>
      <span class="funnel-track" aria-hidden="true">
        <span class={hosts === 0 ? 'none' : ''} style={{ width: `${(hosts / whole) * 100}%` }} />
      </span>
      <span class="num">{number(hosts)}</span>
      <span class="funnel-note">{note}</span>
    </li>
  );
}

/** Hosts, the best first, with what weighed; or why not. */
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
                    .join(', ') || 'all alike'
                : refusals.join('; ')}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
