import type { HostPage as Page } from '../../api/host';
import { usePage } from '../state/stream';
import { useTitle } from '../state/title';
import { Sparkline } from '../ui/chart';
import { amount, className, percent, span, words } from '../ui/format';
import { Ago, HostStates, InstanceLink, Loading, Section, State } from '../ui/parts';
import { DrainProgress } from './drain-progress';
import { HostFacts } from './facts';
import { HostActions } from './host-actions';
import { HostAttempts, HostInstances } from './lists';
import { ProviderTree } from './provider-tree';

/** One host: its inventories, its instances, and its actions. */
export function HostPage({ name }: { name: string }) {
  const page = usePage<Page>(`page=host&name=${encodeURIComponent(name)}`);
  useTitle(name);
  if (page === undefined) return <Loading what={`host ${name}`} />;
  return (
    <>
      <div class="page-head">
        <div>
          <h1>{name}</h1>
          <p class="states">
            <HostStates host={page.host} />
            {page.quarantinedUntilMs > 0 && <State state="pending" label="quarantined" />}
          </p>
        </div>
        <HostActions page={page} />
      </div>
      {page.drain && <DrainProgress drain={page.drain} />}
      <div class="columns">
        <Section title="Resources">
          <ProviderTree host={page.host.name} providers={page.providers} />
        </Section>
        <div class="stack">
          <Section title="About">
            <HostFacts page={page} />
          </Section>
          <Section title="History" aside={<HistorySpan page={page} />}>
            <Histories page={page} />
          </Section>
        </div>
      </div>
      {page.doubts.length > 0 && <Doubts doubts={page.doubts} />}
      <div class="columns">
        <HostInstances page={page} />
        <HostAttempts attempts={page.attempts} />
      </div>
    </>
  );
}

function Doubts({ doubts }: { doubts: Page['doubts'] }) {
  return (
    <Section title="In doubt">
      <ul class="plain">
        {doubts.map(({ uuid, finding, message, sinceMs }) => (
          <li key={uuid + finding}>
            <State state="doubtful" label={words(finding)} /> {message} {uuid && <InstanceLink uuid={uuid} name="" />}{' '}
            <span class="faint">
              since <Ago ms={sinceMs} />
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function HistorySpan({ page: { history } }: { page: Page }) {
  const points = Object.values(history.classes)[0]?.used.length ?? 0;
  return <>{points < 2 ? 'since now' : `last ${span((points - 1) * history.stepMs)}`}</>;
}

function Histories({ page: { history } }: { page: Page }) {
  return (
    <ul class="sparklines">
      {Object.entries(history.classes).map(([name, { used, capacity }]) => {
        const [nowUsed, nowCapacity] = [used.at(-1) ?? 0, capacity.at(-1) ?? 0];
        if (nowCapacity === 0) return null;
        const said = `${amount(name, nowUsed)} of ${amount(name, nowCapacity)}`;
        return (
          <li key={name}>
            <span>{className(name)}</span>
            <Sparkline
              label={className(name)}
              said={said}
              unit={name}
              stepMs={history.stepMs}
              lastMs={history.lastMs}
              series={[
                { label: 'used', values: used, colour: 1 },
                { label: 'capacity', values: capacity, colour: 4, isLimit: true },
              ]}
            />
            <span class="num">{percent(nowUsed / nowCapacity)}</span>
          </li>
        );
      })}
    </ul>
  );
}
