import type { AttemptRow, DecisionView, InstancePage } from '../../api/instance';
import { serverNow } from '../state/stream';
import { dateOf, noHost, number, plural, span, stateName, timeOf, words } from '../ui/format';
import { HostLink, HostLinks, State } from '../ui/parts';

/** The history of an instance, in order: request, decision, each attempt with its time, and its present state. */
export function Story({ page }: { page: InstancePage }) {
  const { createdAtMs, attempts, decision } = page;
  const lastMs = Math.max(
    createdAtMs + 1,
    ...attempts.map(({ endedAtMs, startedAtMs }) => endedAtMs || Math.max(startedAtMs, serverNow())),
  );
  // The last decision comes before the attempts that it led to.
  const isAfterDecision = ({ startedAtMs }: AttemptRow) => startedAtMs >= (decision?.decidedAtMs ?? 0);
  const show = (attempt: AttemptRow) => (
    <Attempt
      key={attempt.number}
      attempt={attempt}
      isAlternate={decision !== undefined && isAfterDecision(attempt) && attempt.host !== decision.selected}
      fromMs={createdAtMs}
      toMs={lastMs}
    />
  );
  return (
    <ol class="story">
      <li>
        <When ms={createdAtMs} />
        <span class="story-what">
          <strong>Requested</strong> by {page.userId} of {page.projectId || 'no project'}
        </span>
      </li>
      {attempts.filter((one) => !isAfterDecision(one)).map(show)}
      {decision && <Decided decision={decision} />}
      {attempts.filter(isAfterDecision).map(show)}
      <li>
        <When ms={page.updatedAtMs} />
        <span class="story-what">
          <State state={page.state} label={stateName(page.state)} /> {page.host !== '' && <HostLink host={page.host} />}
          {page.alternates.length > 0 && page.state === 'building' && (
            <span class="faint">
              {' '}
              then <HostLinks hosts={page.alternates} />
            </span>
          )}
        </span>
      </li>
    </ol>
  );
}

function When({ ms }: { ms: number }) {
  return (
    <span class="story-time" title={dateOf(ms)}>
      {timeOf(ms)}
    </span>
  );
}

function Decided({ decision }: { decision: DecisionView }) {
  const { decidedAtMs, considered, passed, selected, isImpossible } = decision;
  return (
    <li>
      <When ms={decidedAtMs} />
      <span class="story-what">
        <strong>{selected === '' ? noHost(isImpossible) : 'Selected'}</strong>{' '}
        {selected !== '' && <HostLink host={selected} />}{' '}
        <span>
          {number(passed)} of {plural(considered, 'host')} fit
        </span>
      </span>
    </li>
  );
}

/** An attempt, with its time span between the request and the last attempt's end. */
function Attempt({
  attempt,
  isAlternate,
  fromMs,
  toMs,
}: {
  attempt: AttemptRow;
  isAlternate: boolean;
  fromMs: number;
  toMs: number;
}) {
  const { host, number: n, outcome, reason, startedAtMs, endedAtMs } = attempt;
  const endMs = endedAtMs || Math.max(startedAtMs, serverNow());
  const [left, width] = [(startedAtMs - fromMs) / (toMs - fromMs), (endMs - startedAtMs) / (toMs - fromMs)];
  return (
    <li>
      <When ms={startedAtMs} />
      <span class="story-what">
        <strong>Attempt {n}</strong> <HostLink host={host} /> {isAlternate && <span class="faint">an alternate </span>}
        <State state={outcome} /> <span>{reason === outcome ? '' : words(reason)}</span>
      </span>
      <span class="story-bar" aria-hidden="true" title={`${timeOf(startedAtMs)} to ${timeOf(endMs)}`}>
        <span
          class={`bar-${outcome}`}
          style={{ left: `${Math.max(0, left) * 100}%`, width: `max(3px, ${Math.min(1, width) * 100}%)` }}
        />
      </span>
      <span class="story-span">{span(Math.max(0, endMs - startedAtMs))}</span>
    </li>
  );
}
