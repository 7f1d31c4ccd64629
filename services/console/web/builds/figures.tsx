import type { BuildRange, BuildsPage } from '../../api/builds';
import { link } from '../state/router';
import { number, span } from '../ui/format';
import { Figure } from '../ui/parts';

/** Counts of the page's time range, and of now. */
export function BuildFigures({ page: { rates, pending, inError, deadLetters } }: { page: BuildsPage }) {
  const within = WITHIN[rates.range];
  const [active, failed, retried] = [sum(rates.active), sum(rates.error), sum(rates.retried)];
  const ended = active + failed;
  const listed = (values: Readonly<Record<string, string>>) => listedIn(rates.range, values);
  const shareOf = (count: number) =>
    ended === 0 ? (
      `no build ended in ${within}`
    ) : (
      <>
        {((count / ended) * 100).toFixed(1)}% of <a href={listed({ state: 'active,error' })}>{number(ended)} builds</a>
      </>
    );
  return (
    <dl class="figures">
      <Figure
        label="In ERROR now"
        value={inError < 0 ? '?' : number(inError)}
        note={inError < 0 ? 'the store does not answer' : 'instances, whenever they failed'}
        tone={inError > 0 ? 'bad' : ''}
        href="/instances?state=error"
      />
      <Figure label="Built" value={number(active)} note={`in ${within}`} href={listed({ state: 'active' })} />
      <Figure
        label="Failed"
        value={number(failed)}
        note={shareOf(failed)}
        tone={failed > 0 ? 'bad' : ''}
        href={listed({ state: 'error' })}
      />
      <Figure label="On an alternate" value={number(retried)} note={shareOf(retried)} href={listed({ tried: '2' })} />
      <TimeToActive time={rates.timeToActive} />
      <Figure
        label="Pending"
        value={number(pending.count)}
        note="wait for capacity"
        tone={pending.count > 0 ? 'warn' : ''}
        href="/instances?state=pending"
      />
      <Figure
        label="Dead letters"
        value={deadLetters < 0 ? '?' : number(deadLetters)}
        note={deadLetters < 0 ? 'the broker does not answer' : 'messages no service could handle'}
        tone={deadLetters > 0 ? 'warn' : ''}
        href="#dead-letters"
      />
    </dl>
  );
}

function TimeToActive({ time: { count, p50Ms, p90Ms, p99Ms } }: { time: BuildsPage['rates']['timeToActive'] }) {
  return (
    <Figure
      label="Time to ACTIVE"
      value={count === 0 ? '–' : span(p50Ms)}
      note={count === 0 ? 'no build yet' : `median; p90 ${span(p90Ms)}, p99 ${span(p99Ms)}`}
      href="#recent-builds"
    />
  );
}

function sum(counts: readonly number[]): number {
  return counts.reduce((all, count) => all + count, 0);
}

/** The instances that a count of a time range counts. */
export function listedIn(range: BuildRange, values: Readonly<Record<string, string>>): string {
  return link('/instances', { ...values, since: range });
}

export const WITHIN: Readonly<Record<BuildRange, string>> = {
  '10m': 'the last 10 minutes',
  '1h': 'the last hour',
  '6h': 'the last 6 hours',
  '24h': 'the last 24 hours',
};
