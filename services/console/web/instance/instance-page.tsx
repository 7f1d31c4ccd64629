import type { ClaimRow, InstancePage as Page } from '../../api/instance';
import { Funnel } from '../explain/funnel';
import { Verdicts } from '../explain/verdicts';
import { usePage } from '../state/stream';
import { useTitle } from '../state/title';
import { amounts, stateName, words } from '../ui/format';
import { Ago, Empty, HostLink, Loading, Section, State } from '../ui/parts';
import { Table, type TableColumn } from '../ui/table';
import { InstanceFacts } from './facts';
import { InstanceActions } from './instance-actions';
import { Story } from './story';

/** One instance: its story, its claim, and its actions. */
export function InstancePage({ uuid }: { uuid: string }) {
  const page = usePage<Page>(`page=instance&name=${uuid}`);
  useTitle(page?.name ?? uuid);
  if (page === undefined) return <Loading what="the instance" />;
  return (
    <>
      <div class="page-head">
        <div>
          <h1>{page.name}</h1>
          <p class="states">
            <State state={page.state} label={stateName(page.state)} />
            <code class="faint">{page.uuid}</code>
          </p>
        </div>
        <InstanceActions page={page} />
      </div>
      {page.fault && (
        <p class="fault" role="note">
          <strong>{words(page.fault.reason)}</strong> {page.fault.message}
        </p>
      )}
      <Section title="Story" id="story">
        <Story page={page} />
      </Section>
      <div class="columns">
        <Section title="About">
          <InstanceFacts page={page} />
        </Section>
        <div class="stack">
          <Claims claims={page.claims} />
          {page.doubts.length > 0 && <Doubts doubts={page.doubts} />}
        </div>
      </div>
      <Decision page={page} />
    </>
  );
}

function Claims({ claims }: { claims: readonly ClaimRow[] }) {
  return (
    <Section title="Claims">
      {claims.length === 0 ? (
        <Empty>It has no claims.</Empty>
      ) : (
        <Table columns={CLAIM_COLUMNS} rows={claims} keyOf={({ consumer, provider }) => `${consumer} ${provider}`} />
      )}
    </Section>
  );
}

const CLAIM_COLUMNS: readonly TableColumn<ClaimRow>[] = [
  { head: 'Provider', cell: ({ provider }) => provider },
  { head: 'Host', cell: ({ host }) => <HostLink host={host} /> },
  { head: 'Holds', cell: ({ resources }) => amounts(resources) },
  {
    head: 'For',
    cell: ({ consumer }) => (consumer === 'migration' ? 'its former host, while it moves' : 'its host'),
  },
];

function Doubts({ doubts }: { doubts: Page['doubts'] }) {
  return (
    <Section title="In doubt">
      <ul class="plain">
        {doubts.map(({ host, finding, message }) => (
          <li key={host + finding}>
            <State state="doubtful" label={words(finding)} /> {message}
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** The decision that chose its host, while the store keeps it. */
function Decision({ page: { decision, explain } }: { page: Page }) {
  if (decision === undefined) {
    return (
      <Section title="Decision">
        <Empty>
          The store keeps only recent decisions. <a href={`/explain?${explain}`}>Explain its request now</a>
        </Empty>
      </Section>
    );
  }
  const { considered, passed, filters, hosts, selected, decidedAtMs } = decision;
  return (
    <Section title="Decision" aside={<Ago ms={decidedAtMs} />}>
      <Funnel considered={considered} passed={passed} filters={filters} explain={explain} />
      <Verdicts verdicts={hosts} fitting={passed} chosen={selected} />
      <p class="note">
        <a href={`/explain?${explain}`}>Explain the same request now</a>. Links of the counts list the hosts as they are
        now.
      </p>
    </Section>
  );
}
