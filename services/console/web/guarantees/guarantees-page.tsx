import type { GuaranteeRow, GuaranteesPage as Page } from '../../api/promises/guarantees';
import { setQuery, usePlace } from '../state/router';
import { usePage } from '../state/stream';
import { useTitle } from '../state/title';
import { number } from '../ui/format';
import { Empty, Figure, Linked, Loading, Section, State } from '../ui/parts';
import { Table, type TableColumn } from '../ui/table';

/** The losses that the fleet may suffer now, those that it may not, and how many more of a flavor fit. */
export function GuaranteesPage() {
  useTitle('Guarantees');
  const { query } = usePlace();
  const flavor = query.get('flavor') ?? '';
  const page = usePage<Page>(`page=guarantees&flavor=${encodeURIComponent(flavor)}`);
  if (page === undefined) return <Loading what="the guarantees" />;
  const { guarantees } = page;
  const holding = guarantees.filter(({ holds }) => holds).length;
  return (
    <>
      <h1>Guarantees</h1>
      <dl class="figures">
        <Figure
          label="Hold"
          value={guarantees.length === 0 ? 'none set' : `${number(holding)} of ${number(guarantees.length)}`}
          tone={holding < guarantees.length ? 'bad' : ''}
          href="#section-what-may-be-lost"
        />
      </dl>
      <Section title="What may be lost" aside={number(guarantees.length)}>
        {guarantees.length === 0 ? (
          <Empty>
            No loss is guaranteed: <code>berth guarantee set --lose 1 rack</code> keeps a place elsewhere for all that
            any one rack runs.
          </Empty>
        ) : (
          <div class="scroll" tabIndex={0}>
            <Table columns={COLUMNS} rows={guarantees} keyOf={({ name }) => name} />
          </div>
        )}
      </Section>
      <Broken guarantees={guarantees} />
      <Headroom page={page} flavor={flavor} />
    </>
  );
}

const COLUMNS: readonly TableColumn<GuaranteeRow>[] = [
  { head: 'Guarantee', isName: true, cell: ({ name }) => name },
  { head: 'Lose', cell: ({ lose }) => lose },
  { head: 'Of', cell: ({ scope }) => scope },
  { head: 'Policy', cell: ({ policy }) => policy },
  {
    head: 'Instances',
    isNumber: true,
    cell: ({ instances }) => <a href="/instances?state=active">{number(instances)}</a>,
  },
  { head: 'Holds for', isNumber: true, cell: ({ kept, losses }) => <Kept kept={kept} losses={losses} /> },
  {
    head: 'State',
    cell: ({ state, holds, losses, kept }) => <State state={toneOf(holds, kept < losses)} label={state} />,
  },
];

/** Losses that are taken in; the others are listed below. */
function Kept({ kept, losses }: { kept: number; losses: number }) {
  const text = `${number(kept)} of ${number(losses)}`;
  return <Linked href={kept < losses ? `#${BROKEN}` : undefined}>{text}</Linked>;
}

const BROKEN = 'broken-losses';

/** A state of the same tone. */
function toneOf(holds: boolean, isBroken: boolean): string {
  if (holds) return 'ready';
  return isBroken ? 'failed' : 'not_ready';
}

/** The losses that are not taken in, each with the least that would help. */
function Broken({ guarantees }: { guarantees: readonly GuaranteeRow[] }) {
  const broken = guarantees.flatMap(({ name, broken: its }) => its.map((loss) => ({ name, ...loss })));
  if (broken.length === 0) return null;
  return (
    <Section title="What may not be lost" id={BROKEN} aside={number(broken.length)}>
      <ul>
        {broken.map(({ name, text, instanceUuid }) => (
          <li key={`${name} ${text}`}>
            <strong>{name}</strong>: {text}
            {instanceUuid !== '' && (
              <>
                {' '}
                (<a href={`/instances/${instanceUuid}`}>one of them</a>)
              </>
            )}
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Headroom({ page: { flavors, headroom }, flavor }: { page: Page; flavor: string }) {
  const choice = (
    <label class="inline">
      Flavor{' '}
      <select value={flavor} onChange={(change) => setQuery({ flavor: change.currentTarget.value || undefined })}>
        <option value="">none</option>
        {flavors.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <Section title="What still fits under all of them" aside={choice}>
      {headroom.length === 0 && <Empty>Choose a flavor to see how many more instances of it fit.</Empty>}
      {headroom.map((line) => (
        <p key={line}>{line}.</p>
      ))}
    </Section>
  );
}
