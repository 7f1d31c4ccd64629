import { useEffect, useState } from 'preact/hooks';
import type { InstancePage as Page } from '../../api/instance';
import { Funnel, Verdicts } from '../explain/funnel';
import { read } from '../state/api';
import { serverNow, usePage } from '../state/stream';
import { useTitle } from '../state/title';
import { ActionButton, type Field } from '../ui/action';
import { amounts, dateOf, plural, span, words } from '../ui/format';
import { Ago, Empty, type Fact, Facts, HostLink, Loading, Section, State } from '../ui/parts';
import { Story } from './story';

/** The question before each action, and the message after it. */
const ACTIONS: Readonly<
  Record<string, { label: string; question: string; note: string; done: string; isDanger?: boolean }>
> = {
  stop: {
    label: 'Stop',
    question: 'Stop this instance?',
    note: 'It keeps its host and what it holds there.',
    done: 'It stops.',
  },
  start: {
    label: 'Start',
    question: 'Start this instance?',
    note: 'On the host that it is kept on.',
    done: 'It starts.',
  },
  live_migrate: {
    label: 'Live-migrate',
    question: 'Move this instance while it runs?',
    note: 'To any host, or the one named.',
    done: 'It moves.',
  },
  migrate: {
    label: 'Migrate',
    question: 'Stop, move and start this instance?',
    note: 'It waits to be confirmed or reverted.',
    done: 'It moves.',
  },
  resize: {
    label: 'Resize',
    question: 'Resize this instance?',
    note: 'It may move, and waits to be confirmed or reverted.',
    done: 'It is resized.',
  },
  confirm: {
    label: 'Confirm',
    question: 'Confirm the move?',
    note: 'What is kept at its source goes.',
    done: 'The move is confirmed.',
  },
  revert: {
    label: 'Revert',
    question: 'Take the move back?',
    note: 'It returns to its source.',
    done: 'It goes back.',
  },
  shelve: {
    label: 'Shelve',
    question: 'Shelve this instance?',
    note: 'It gives its host up; unshelving selects one anew.',
    done: 'It is shelved.',
  },
  unshelve: {
    label: 'Unshelve',
    question: 'Unshelve this instance?',
    note: 'A scheduler selects a host.',
    done: 'It is unshelved.',
  },
  evacuate: {
    label: 'Evacuate',
    question: 'Build this instance on another host?',
    note: 'Only when its host is dead.',
    done: 'It is evacuated.',
  },
  terminate: {
    label: 'Terminate',
    question: 'Terminate this instance?',
    note: 'It is destroyed. This can not be undone.',
    done: 'It is terminated.',
    isDanger: true,
  },
};

/** One instance: its story, its claim, and its actions. */
export function InstancePage({ uuid }: { uuid: string }) {
  const page = usePage<Page>(`page=instance&name=${uuid}`);
  const [flavors, setFlavors] = useState<readonly string[]>([]);
  useEffect(() => {
    void read<readonly { name: string }[]>('/api/flavors').then(
      (all) => setFlavors(all.map(({ name }) => name)),
      () => {},
    );
  }, []);
  useTitle(page?.name ?? uuid);
  if (page === undefined) return <Loading what="the instance" />;
  const fieldsOf = (action: string): readonly Field[] => {
    if (action === 'resize') return [{ name: 'flavor', label: 'Flavor', isRequired: true, choices: flavors }];
    return action.endsWith('migrate') ? [{ name: 'targetHost', label: 'Host, or empty for any' }] : [];
  };
  return (
    <>
      <div class="page-head">
        <div>
          <h1>{page.name}</h1>
          <p class="states">
            <State state={page.state} />
            <code class="faint">{page.uuid}</code>
          </p>
        </div>
        <div class="actions">
          {page.actions.map((action) => {
            const about = ACTIONS[action];
            if (about === undefined || (action === 'resize' && flavors.length === 0)) return null;
            return (
              <ActionButton
                key={action}
                {...about}
                path={`/api/instances/${uuid}/actions`}
                body={{ action }}
                fields={fieldsOf(action)}
              />
            );
          })}
        </div>
      </div>
      {page.fault && (
        <p class="fault" role="note">
          <strong>{words(page.fault.reason)}</strong> {page.fault.message}
        </p>
      )}
      <Section title="Story">
        <Story page={page} />
      </Section>
      <div class="columns">
        <Section title="About">
          <InstanceFacts page={page} />
        </Section>
        <div class="stack">
          <Section title="Claims">
            <Claims page={page} />
          </Section>
          {page.doubts.length > 0 && (
            <Section title="In doubt">
              <ul class="plain">
                {page.doubts.map(({ host, finding, message }) => (
                  <li key={host + finding}>
                    <State state="doubtful" label={words(finding)} /> {message}
                  </li>
                ))}
              </ul>
            </Section>
          )}
        </div>
      </div>
      <Section title="Decision" aside={page.decision && <Ago ms={page.decision.decidedAtMs} />}>
        {page.decision === undefined ? (
          <Empty>No scheduler remembers what was decided for it.</Empty>
        ) : (
          <>
            <Funnel
              considered={page.decision.considered}
              passed={page.decision.passed}
              filters={page.decision.filters}
            />
            <Verdicts verdicts={page.decision.hosts} />
          </>
        )}
      </Section>
    </>
  );
}

function InstanceFacts({ page }: { page: Page }) {
  const { migration, waiting, gang } = page;
  const facts: Fact[] = [
    ['Host', page.host === '' ? '' : <HostLink key="host" host={page.host} />],
    ['Flavor', page.flavor],
    ['Resources', amounts(page.resources)],
    ...page.asked.map(([label, value]): [string, string] => [label[0]?.toUpperCase() + label.slice(1), value]),
    ['Alternates left', page.alternates.join(', ')],
    [
      'Move',
      migration === undefined
        ? ''
        : `${words(migration.kind)}, ${words(migration.phase)}: ${migration.sourceHost} → ${migration.destHost || 'not selected yet'}`,
    ],
    [
      'Waits for',
      waiting === undefined
        ? ''
        : `${waiting.waitsFor.map(words).join(', ')}${waiting.place > 0 ? `, place ${waiting.place}` : ''}, until ${dateOf(waiting.untilMs)}`,
    ],
    ['Gang', gang === undefined ? '' : `at least ${gang.minCount} of ${plural(gang.count, 'instance')}`],
    ['Ends by itself', page.endsAtMs === 0 ? '' : `in ${span(Math.max(0, page.endsAtMs - serverNow()))}`],
    ['Project, user', `${page.projectId}, ${page.userId}`],
    ['Request', <code key="request">{page.requestId}</code>],
    ['Created', <Ago key="created" ms={page.createdAtMs} />],
    ['Changed', <Ago key="changed" ms={page.updatedAtMs} />],
  ];
  return <Facts facts={facts} />;
}

function Claims({ page: { claims } }: { page: Page }) {
  if (claims.length === 0) return <Empty>It holds nothing.</Empty>;
  return (
    <table class="simple">
      <thead>
        <tr>
          <th scope="col">Provider</th>
          <th scope="col">Host</th>
          <th scope="col">Holds</th>
          <th scope="col">For</th>
        </tr>
      </thead>
      <tbody>
        {claims.map(({ consumer, provider, host, resources }) => (
          <tr key={consumer + provider}>
            <td>{provider}</td>
            <td>
              <HostLink host={host} />
            </td>
            <td>{amounts(resources)}</td>
            <td>{consumer === 'migration' ? 'its source, while it moves' : 'itself'}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
