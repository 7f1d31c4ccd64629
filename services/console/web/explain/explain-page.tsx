import { useEffect, useState } from 'preact/hooks';
import type { Explanation } from '../../api/explain';
import { type ApiError, read } from '../state/api';
import { useChoices } from '../state/choices';
import { usePlace } from '../state/router';
import { listenTo } from '../state/stream';
import { useTitle } from '../state/title';
import { noHost, number, plural, words } from '../ui/format';
import { HostLink, InstanceLink, Loading, Section } from '../ui/parts';
import { Examples } from './examples';
import { Funnel, hostsRefusedBy } from './funnel';
import { RequestForm } from './request-form';
import { Verdicts } from './verdicts';
import { Zones } from './zones';

/** Delay after the last key, and then between repetitions, since the fleet changes. */
const ASK_AFTER_MS = 250;
const ASK_EVERY_MS = 5_000;

type Answer = { readonly explanation: Explanation; readonly asked: string } | { readonly problem: string };

/** Explains where a request would go, and why nowhere else. The address holds the request. */
export function ExplainPage() {
  useTitle('Explain');
  const { query } = usePlace();
  const [answer, setAnswer] = useState<Answer | undefined>();
  const choices = useChoices();
  useEffect(() => listenTo('page=', {}), []);
  const asked = query.toString();
  const isAsking = query.has('resources') || query.has('flavor');
  useEffect(() => {
    if (!isAsking) return setAnswer(undefined);
    const abort = new AbortController();
    const ask = () => {
      read<Explanation>(`/api/explain?${asked}`, abort.signal).then(
        (explanation) => setAnswer({ explanation, asked }),
        (thrown: unknown) => {
          if (!abort.signal.aborted) setAnswer({ problem: (thrown as ApiError).problem.message });
        },
      );
    };
    const first = setTimeout(ask, ASK_AFTER_MS);
    const again = setInterval(ask, ASK_EVERY_MS);
    return () => {
      abort.abort();
      clearTimeout(first);
      clearInterval(again);
    };
  }, [asked, isAsking]);

  return (
    <>
      <h1>Explain</h1>
      <p class="faint lead">Where a request would go, and why not elsewhere. An explanation claims nothing.</p>
      <div class="columns columns-form">
        <Section title="Request">
          <RequestForm query={query} choices={choices} />
        </Section>
        <div class="stack" aria-live="polite">
          {!isAsking && <Examples choices={choices} />}
          {isAsking && answer === undefined && <Loading what="the explanation" />}
          {isAsking && answer && 'problem' in answer && (
            <p class="fault" role="note">
              {answer.problem}
            </p>
          )}
          {isAsking && answer && 'explanation' in answer && <Answered {...answer} />}
        </div>
      </div>
    </>
  );
}

function Answered({ explanation, asked }: { explanation: Explanation; asked: string }) {
  const { considered, passed, summary, isImpossible, filters, relaxations, conflict, zones, preemption } = explanation;
  return (
    <>
      <Section title={passed > 0 ? `${number(passed)} of ${plural(considered, 'host')} fit` : noHost(isImpossible)}>
        {passed === 0 && summary !== '' && <p class="lead lead-strong">{summary}</p>}
        <Funnel considered={considered} passed={passed} filters={filters} explain={asked} />
      </Section>
      {zones.length > 0 && (
        <Section title="Zones for the next member">
          <Zones zones={zones} />
        </Section>
      )}
      {(relaxations.length > 0 || conflict.length > 0) && (
        <Section title="What would help">
          <ul class="plain">
            {relaxations.map(({ sentence }) => (
              <li key={sentence}>{sentence}</li>
            ))}
            {relaxations.length === 0 && (
              <li>No single change helps. Together these refuse every host: {conflict.join(', ')}.</li>
            )}
          </ul>
        </Section>
      )}
      {preemption && (
        <Section title="Preemption">
          <p>
            It could replace {plural(preemption.victims.length, 'instance')} on <HostLink host={preemption.host} />:{' '}
            {preemption.victims.map((uuid) => (
              <span key={uuid}>
                <InstanceLink uuid={uuid} name="" />{' '}
              </span>
            ))}
          </p>
        </Section>
      )}
      <ListedHosts explanation={explanation} asked={asked} />
    </>
  );
}

/** The best hosts, or those that the filter or reason of the address refuses. */
function ListedHosts({ explanation, asked }: { explanation: Explanation; asked: string }) {
  const { hosts, passed, filters } = explanation;
  const refusedBy = new URLSearchParams(asked).get('refused') ?? '';
  if (refusedBy === '') {
    if (hosts.length === 0) return null;
    return (
      <Section title="Hosts" id="hosts">
        <Verdicts verdicts={hosts} fitting={passed} />
      </Section>
    );
  }
  const refused = hosts.filter((host) => !host.passed);
  const counts = filters.flatMap(({ filter, refused: count, reasons }) => [{ name: filter, count }, ...reasons]);
  const all = counts.find(({ name }) => name === refusedBy)?.count ?? refused.length;
  return (
    <Section
      title={`${plural(all, 'host')} refused by ${words(refusedBy)}`}
      id="hosts"
      aside={<a href={`/explain?${hostsRefusedBy(asked, '')}#hosts`}>Show the best hosts</a>}
    >
      {refused.length < all && <p class="note">The first {number(refused.length)} by name.</p>}
      <Verdicts verdicts={refused} fitting={passed} />
    </Section>
  );
}
