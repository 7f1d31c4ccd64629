import type { NovaDecisionRow, NovaDecisionView, NovaPage as Page } from '../../api/nova';
import { Funnel } from '../explain/funnel';
import { Verdicts } from '../explain/verdicts';
import { link, usePlace } from '../state/router';
import { usePage } from '../state/stream';
import { useTitle } from '../state/title';
import { number } from '../ui/format';
import { Ago, Empty, Figure, Loading, Section } from '../ui/parts';
import { type Column, VirtualTable } from '../ui/virtual-table';
import { Shadow } from './shadow';

/** Nova's requests: recent decisions for them, one in full, and how often a shadow agrees with Nova's scheduler. */
export function NovaPage() {
  useTitle('Nova');
  const { query } = usePlace();
  const request = query.get('request') ?? '';
  const page = usePage<Page>(`page=nova&request=${encodeURIComponent(request)}`);
  if (page === undefined) return <Loading what="decisions for Nova" />;
  const { schedulers, shadow, decisions, asked } = page;
  const refused = decisions.filter(({ selected }) => Object.keys(selected).length === 0).length;
  return (
    <>
      <h1>Nova</h1>
      <dl class="figures">
        <Figure
          label="Schedulers for Nova"
          value={schedulers.seen === 0 ? 'none' : `${schedulers.ready} of ${schedulers.seen}`}
          note={schedulers.seen === 0 ? 'seen in a day' : 'ready'}
          tone={schedulers.ready < schedulers.seen ? 'bad' : ''}
          href="/health#processes"
        />
        <Figure label="Recent decisions" value={number(decisions.length)} note={`${number(refused)} without a host`} />
      </dl>
      {request !== '' && <Asked request={request} decision={asked} />}
      <Section title="Recent decisions" aside={number(decisions.length)}>
        <VirtualTable
          label="Recent decisions"
          columns={COLUMNS}
          rows={decisions}
          keyOf={({ requestId, decidedAtMs }) => `${requestId} ${decidedAtMs}`}
          height="360px"
          empty="The store keeps no decision for Nova."
        />
      </Section>
      <Section title="Shadow">
        <Shadow shadow={shadow} />
      </Section>
    </>
  );
}

const COLUMNS: readonly Column<NovaDecisionRow>[] = [
  {
    key: 'request',
    head: 'Request',
    width: 'minmax(20rem, 1.4fr)',
    cell: ({ requestId }) => <a href={link('/nova', { request: requestId })}>{requestId}</a>,
  },
  { key: 'decided', head: 'Decided', width: '6rem', cell: ({ decidedAtMs }) => <Ago ms={decidedAtMs} /> },
  {
    key: 'outcome',
    head: 'Outcome',
    width: 'minmax(14rem, 2fr)',
    cell: (row) => <span title={outcomeOf(row)}>{outcomeOf(row)}</span>,
  },
];

function outcomeOf({ selected, summary }: NovaDecisionRow): string {
  const hosts = Object.values(selected);
  return hosts.length === 0 ? `No valid host: ${summary}` : hosts.join(', ');
}

function Asked({ request, decision }: { request: string; decision: NovaDecisionView | undefined }) {
  if (decision === undefined) {
    return (
      <Section title={request} id="asked">
        <Empty>No decision for this request is kept.</Empty>
      </Section>
    );
  }
  const { requestId, decidedAtMs, projectId, selected, summary, considered, passed, filters, hosts } = decision;
  const instances = Object.entries(selected);
  return (
    <Section title={requestId} id="asked" aside={<Ago ms={decidedAtMs} />}>
      <p>{instances.length === 0 ? `No valid host was found. ${summary}` : `Selected for project ${projectId}:`}</p>
      {instances.length > 0 && (
        <ul>
          {instances.map(([instance, host]) => (
            <li key={instance}>
              <strong>{host}</strong> for <code>{instance}</code>
            </li>
          ))}
        </ul>
      )}
      <Funnel considered={considered} passed={passed} filters={filters} explain={undefined} />
      <Verdicts verdicts={hosts} fitting={passed} chosen={instances[0]?.[1] ?? ''} isOfNova />
    </Section>
  );
}
