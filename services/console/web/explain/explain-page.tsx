import { useEffect, useState } from 'preact/hooks';
import type { Explanation } from '../../api/explain';
import { type ApiError, read } from '../state/api';
import { setQuery, usePlace } from '../state/router';
import { listenTo } from '../state/stream';
import { useTitle } from '../state/title';
import { amounts, plural } from '../ui/format';
import { Empty, HostLink, InstanceLink, Section } from '../ui/parts';
import { Funnel, Verdicts } from './funnel';
import { Zones } from './zones';

/** Delay after the last key, and then between repetitions, since the fleet changes. */
const ASK_AFTER_MS = 250;
const ASK_EVERY_MS = 5_000;

type Answer = { readonly explanation: Explanation } | { readonly problem: string };

/** Explains where a request would go, and why nowhere else. The address holds the request. */
export function ExplainPage() {
  useTitle('Explain');
  const { query } = usePlace();
  const [answer, setAnswer] = useState<Answer | undefined>();
  const [flavors, setFlavors] = useState<readonly { name: string; resources: Record<string, number> }[]>([]);
  useEffect(() => {
    void read<typeof flavors>('/api/flavors').then(setFlavors, () => {});
    return listenTo('page=', {});
  }, []);
  const asked = query.toString();
  const isAsking = query.has('resources') || query.has('flavor');
  useEffect(() => {
    if (!isAsking) return setAnswer(undefined);
    const abort = new AbortController();
    const ask = () => {
      read<Explanation>(`/api/explain?${asked}`, abort.signal).then(
        (explanation) => setAnswer({ explanation }),
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

  const text = (name: string, label: string, placeholder: string, help?: string) => (
    <label class="field">
      {label}
      <input
        value={query.get(name) ?? ''}
        placeholder={placeholder}
        onInput={(input) => setQuery({ [name]: input.currentTarget.value.trim() })}
        autocomplete="off"
      />
      {help && <small class="faint">{help}</small>}
    </label>
  );
  return (
    <>
      <h1>Explain</h1>
      <p class="faint lead">Where a request would go, and why not elsewhere. Nothing is claimed.</p>
      <div class="columns columns-form">
        <Section title="Request">
          <form class="fields" onSubmit={(submitted) => submitted.preventDefault()}>
            <label class="field">
              Flavor
              <select
                value={query.get('flavor') ?? ''}
                onChange={(change) => setQuery({ flavor: change.currentTarget.value, resources: undefined })}
              >
                <option value="">spelled out below</option>
                {flavors.map(({ name, resources }) => (
                  <option key={name} value={name}>
                    {name}: {amounts(resources)}
                  </option>
                ))}
              </select>
            </label>
            {!query.get('flavor') &&
              text('resources', 'Resources', 'VCPU:2,MEMORY_MB:4096', 'class:amount, separated by commas')}
            {text('required', 'Required traits', 'HW_CPU_X86_AVX2')}
            {text('forbidden', 'Forbidden traits', 'CUSTOM_OLD')}
            {text('preferred', 'Preferred traits', 'CUSTOM_FAST')}
            {text('zone', 'Zone', 'any')}
            {text('extra', 'Extra specs', 'hw:numa_nodes=2')}
            {text('project', 'Project', 'none in particular', 'whose quota and aggregates count')}
            {text('group', 'Server group', 'none', 'the name of a stored one, of the project')}
            {text('host', 'Why not this host?', 'host-7')}
            <label class="check">
              <input
                type="checkbox"
                checked={query.get('preempt') === 'yes'}
                onChange={(change) =>
                  setQuery({
                    preempt: change.currentTarget.checked ? 'yes' : undefined,
                    priority: change.currentTarget.checked ? '100' : undefined,
                  })
                }
              />
              May take the place of a lower priority
            </label>
          </form>
        </Section>
        <div class="stack" aria-live="polite">
          {answer === undefined && <Empty>Say what is asked for: a flavor or resources.</Empty>}
          {answer && 'problem' in answer && (
            <p class="fault" role="note">
              {answer.problem}
            </p>
          )}
          {answer && 'explanation' in answer && <Answered explanation={answer.explanation} />}
        </div>
      </div>
    </>
  );
}

function Answered({ explanation }: { explanation: Explanation }) {
  const { considered, passed, summary, filters, hosts, relaxations, conflict, zones, preemption } = explanation;
  return (
    <>
      <Section title={passed > 0 ? `${plural(passed, 'host')} of ${considered} fit` : 'No valid host'}>
        {passed === 0 && summary !== '' && <p class="lead">{summary}</p>}
        <Funnel considered={considered} passed={passed} filters={filters} />
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
              <li>No single change: together these refuse every host: {conflict.join(', ')}.</li>
            )}
          </ul>
        </Section>
      )}
      {preemption && (
        <Section title="Preemption">
          <p>
            It could take the place of {plural(preemption.victims.length, 'instance')} on{' '}
            <HostLink host={preemption.host} />:{' '}
            {preemption.victims.map((uuid) => (
              <span key={uuid}>
                <InstanceLink uuid={uuid} name="" />{' '}
              </span>
            ))}
          </p>
        </Section>
      )}
      {hosts.length > 0 && (
        <Section title="Hosts">
          <Verdicts verdicts={hosts} />
        </Section>
      )}
    </>
  );
}
