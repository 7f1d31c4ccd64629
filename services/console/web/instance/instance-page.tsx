import type { InstancePage as Page } from '../../api/instance';
import { Funnel } from '../explain/funnel';
import { Verdicts } from '../explain/verdicts';
import { useChoices } from '../state/choices';
import { link } from '../state/router';
import { serverNow, usePage } from '../state/stream';
import { useTitle } from '../state/title';
import { ActionButton, type Field } from '../ui/action';
import { amounts, dateOf, plural, span, stateName, words } from '../ui/format';
import { Ago, Empty, type Fact, Facts, HostLink, Loading, ProjectLink, Section, State } from '../ui/parts';
import { Story } from './story';

interface ConsoleAction {
  readonly label: string;
  /** The consequence, after the name of the instance: `will stop`. */
  readonly will: string;
  readonly note: string;
  /** The change under way, after the name. */
  readonly does: string;
  readonly isDanger?: boolean;
}

const ACTIONS: Readonly<Record<string, ConsoleAction>> = {
  stop: { label: 'Stop', will: 'will stop', note: 'It keeps its host and its resources.', does: 'is stopping' },
  start: { label: 'Start', will: 'will start', note: 'It starts on its present host.', does: 'is starting' },
  live_migrate: {
    label: 'Live-migrate',
    will: 'will move to another host while it runs',
    note: 'Without a target host the scheduler chooses one.',
    does: 'is moving',
  },
  migrate: {
    label: 'Migrate',
    will: 'will stop, move to another host and start there',
    note: 'After the move you confirm or revert it.',
    does: 'is moving',
  },
  resize: {
    label: 'Resize',
    will: 'will change its flavor',
    note: 'It may move to another host. You then confirm or revert the resize.',
    does: 'is changing its flavor',
  },
  confirm: {
    label: 'Confirm',
    will: 'will stay on its new host',
    note: 'Its former host frees what it kept for it.',
    does: 'stays on its new host',
  },
  revert: {
    label: 'Revert',
    will: 'will return to its former host',
    note: 'It also returns to its former flavor.',
    does: 'is returning',
  },
  shelve: {
    label: 'Shelve',
    will: 'will stop and give up its host',
    note: 'Unshelving chooses a host again.',
    does: 'is shelving',
  },
  unshelve: {
    label: 'Unshelve',
    will: 'will start on a host that the scheduler chooses',
    note: 'If no host has capacity it stays shelved.',
    does: 'is unshelving',
  },
  evacuate: {
    label: 'Evacuate',
    will: 'will be built again on another host',
    note: 'Evacuate an instance only when its host is dead.',
    does: 'is moving off its dead host',
  },
  terminate: {
    label: 'Terminate',
    will: 'will be permanently deleted',
    note: 'You cannot undo this.',
    does: 'is being deleted',
    isDanger: true,
  },
};

/** One instance: its story, its claim, and its actions. */
export function InstancePage({ uuid }: { uuid: string }) {
  const page = usePage<Page>(`page=instance&name=${uuid}`);
  const flavors = (useChoices()?.flavors ?? []).map(({ name }) => name);
  useTitle(page?.name ?? uuid);
  if (page === undefined) return <Loading what="the instance" />;
  const fieldsOf = (action: string): readonly Field[] => {
    if (action === 'resize') return [{ name: 'flavor', label: 'Flavor', isRequired: true, choices: flavors }];
    return action.endsWith('migrate') ? [{ name: 'targetHost', label: 'Target host (empty: any)' }] : [];
  };
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
        <div class="actions">
          {page.actions.map((action) => {
            const about = ACTIONS[action];
            if (about === undefined || (action === 'resize' && flavors.length === 0)) return null;
            return (
              <ActionButton
                key={action}
                label={about.label}
                question={`${page.name} ${about.will}.`}
                note={page.host === '' ? about.note : `It is on ${page.host}. ${about.note}`}
                done={`${page.name} ${about.does}.`}
                isDanger={about.isDanger ?? false}
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
          <Empty>
            The store keeps only recent decisions. <a href={`/explain?${page.explain}`}>Explain its request now</a>
          </Empty>
        ) : (
          <>
            <Funnel
              considered={page.decision.considered}
              passed={page.decision.passed}
              filters={page.decision.filters}
            />
            <Verdicts verdicts={page.decision.hosts} fitting={page.decision.passed} chosen={page.decision.selected} />
            <p class="note">
              <a href={`/explain?${page.explain}`}>Explain the same request now</a>
            </p>
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
    [
      'Flavor',
      page.flavor === '' ? (
        ''
      ) : (
        <a key="flavor" href={link('/explain', { flavor: page.flavor })}>
          {page.flavor}
        </a>
      ),
    ],
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
    ['Project', <ProjectLink key="project" id={page.projectId} />],
    ['User', page.userId],
    ['Request', <code key="request">{page.requestId}</code>],
    ['Created', <Ago key="created" ms={page.createdAtMs} />],
    ['Changed', <Ago key="changed" ms={page.updatedAtMs} />],
  ];
  return <Facts facts={facts} />;
}

function Claims({ page: { claims } }: { page: Page }) {
  if (claims.length === 0) return <Empty>It has no claims.</Empty>;
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
            <td>{consumer === 'migration' ? 'its former host, while it moves' : 'its host'}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
