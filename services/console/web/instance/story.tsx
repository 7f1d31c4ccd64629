import type { AttemptRow, InstancePage } from '../../api/instance';
import { serverNow } from '../state/stream';
import { dateOf, plural, span, timeOf, words } from '../ui/format';
import { HostLink, State } from '../ui/parts';

/** What happened to an instance, in order: asked, decided, each attempt with its time, and where it is now. */
export function Story({ page }: { page: InstancePage }) {
  const { createdAtMs, attempts, decision } = page;
  const lastMs = Math.max(
    createdAtMs + 1,
    ...attempts.map(({ endedAtMs, startedAtMs }) => endedAtMs || Math.max(startedAtMs, serverNow())),
  );
  return (
    <ol class="story">
      <li>
        <span class="story-time" title={dateOf(createdAtMs)}>
          {timeOf(createdAtMs)}
        </span>
        <span class="story-what">
          <strong>Requested</strong> by {page.userId} of {page.projectId || 'no project'}
        </span>
      </li>
      {decision && attempts.length <= 1 && (
        <li>
          <span class="story-time">{timeOf(decision.decidedAtMs)}</span>
          <span class="story-what">
            <strong>{decision.passed > 0 ? 'Selected' : 'No valid host'}</strong> {decision.passed} of{' '}
            {plural(decision.considered, 'host')} fit
          </span>
        </li>
      )}
      {attempts.map((attempt) => (
        <Attempt key={attempt.number} attempt={attempt} fromMs={createdAtMs} toMs={lastMs} />
      ))}
      <li>
        <span class="story-time" title={dateOf(page.updatedAtMs)}>
          {timeOf(page.updatedAtMs)}
        </span>
        <span class="story-what">
          <State state={page.state} /> {page.host !== '' && <HostLink host={page.host} />}
          {page.alternates.length > 0 && page.state === 'building' && (
            <span class="faint"> then {page.alternates.join(', ')}</span>
          )}
        </span>
      </li>
    </ol>
  );
}

/** An attempt, and when it was between the request and the last of them. */
function Attempt({ attempt, fromMs, toMs }: { attempt: AttemptRow; fromMs: number; toMs: number }) {
  const { host, number, outcome, reason, startedAtMs, endedAtMs } = attempt;
  const endMs = endedAtMs || Math.max(startedAtMs, serverNow());
  const [left, width] = [(startedAtMs - fromMs) / (toMs - fromMs), (endMs - startedAtMs) / (toMs - fromMs)];
  return (
    <li>
      <span class="story-time" title={dateOf(startedAtMs)}>
        {timeOf(startedAtMs)}
      </span>
      <span class="story-what">
        <strong>Attempt {number}</strong> <HostLink host={host} /> <State state={outcome} />{' '}
        <span>{reason === outcome ? '' : words(reason)}</span>
      </span>
      <span class="story-bar" aria-hidden="true">
        <span
          class={`bar-${outcome}`}
          style={{ left: `${Math.max(0, left) * 100}%`, width: `max(3px, ${Math.min(1, width) * 100}%)` }}
        />
      </span>
      <span class="story-span">{span(Math.max(0, endMs - startedAtMs))}</span>
    </li>
  );
}
