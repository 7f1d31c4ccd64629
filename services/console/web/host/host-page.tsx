import type { TriedAttempt } from '../../api/builds';
import type { HostInstance, HostPage as Page } from '../../api/host';
import { FLAG_NAMES, flagsOf } from '../state/fleet-model';
import { link } from '../state/router';
import { serverNow, usePage } from '../state/stream';
import { useTitle } from '../state/title';
import { ActionButton, type Field } from '../ui/action';
import { Sparkline } from '../ui/chart';
import { amount, amounts, className, number, percent, plural, span, stateName, term, words } from '../ui/format';
import { Ago, Empty, type Fact, Facts, InstanceLink, Loading, ProjectLink, Section, State } from '../ui/parts';
import { type Column, VirtualTable } from '../ui/virtual-table';
import { ProviderTree } from './provider-tree';

/** One host: its inventories, its instances, and its actions. */
export function HostPage({ name }: { name: string }) {
  const page = usePage<Page>(`page=host&name=${encodeURIComponent(name)}`);
  useTitle(name);
  if (page === undefined) return <Loading what={`host ${name}`} />;
  const { host, drain } = page;
  const isDraining = drain !== undefined && !drain.isOver;
  const flags = flagsOf(host);
  const path = `/api/hosts/${encodeURIComponent(name)}/actions`;
  const its = plural(host.instances, 'instance');
  const isEnabled = page.disabledReason === '' && !flags.includes('disabled');
  return (
    <>
      <div class="page-head">
        <div>
          <h1>{name}</h1>
          <p class="states">
            {flags.length === 0 ? (
              <State state="up" />
            ) : (
              flags.map((flag) => <State key={flag} state={flag} label={FLAG_NAMES[flag].toLowerCase()} />)
            )}
            {page.quarantinedUntilMs > 0 && <State state="pending" label="quarantined" />}
          </p>
        </div>
        <div class="actions">
          {isEnabled ? (
            <ActionButton
              label="Disable"
              question={`${name} will take no new instances.`}
              note={`${its} ${host.instances === 1 ? 'stays' : 'stay'} and ${host.instances === 1 ? 'runs' : 'run'} on.`}
              path={path}
              body={{ action: 'disable' }}
              fields={[REASON]}
              done={`${name} is disabled. New instances are blocked.`}
            />
          ) : (
            <ActionButton
              label="Enable"
              question={`${name} will take new instances again.`}
              path={path}
              body={{ action: 'enable' }}
              done={`${name} is enabled. It takes new instances.`}
            />
          )}
          {isDraining ? (
            <ActionButton
              label="Stop drain"
              question={`The drain of ${name} will stop.`}
              note={`Instances that have moved stay on their new hosts. ${name} stays disabled.`}
              path={path}
              body={{ action: 'stop_drain' }}
              done={`The drain of ${name} stops.`}
            />
          ) : (
            <ActionButton
              label="Drain"
              question={`${its} will move off ${name}.`}
              note="The host takes no new instances. Berth live-migrates each instance where the driver can, and otherwise stops, moves and starts it."
              path={path}
              body={{ action: 'drain' }}
              fields={[REASON]}
              done={`${name} is draining. New instances are blocked.`}
            />
          )}
          {host.failuresInARow > 0 && (
            <ActionButton
              label={page.quarantinedUntilMs > 0 ? 'End quarantine' : 'Clear failures'}
              question={`Schedulers will trust ${name} again.`}
              note={`They forget its ${plural(host.failuresInARow, 'failure')} in a row.`}
              path={path}
              body={{ action: 'trust' }}
              done={`Schedulers trust ${name} again.`}
            />
          )}
        </div>
      </div>
      {drain && <DrainProgress drain={drain} />}
      <div class="columns">
        <Section title="Resources">
          <ProviderTree providers={page.providers} />
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
      {page.doubts.length > 0 && (
        <Section title="In doubt">
          <ul class="plain">
            {page.doubts.map(({ uuid, finding, message, sinceMs }) => (
              <li key={uuid + finding}>
                <State state="doubtful" label={words(finding)} /> {message}{' '}
                {uuid && <InstanceLink uuid={uuid} name="" />}{' '}
                <span class="faint">
                  since <Ago ms={sinceMs} />
                </span>
              </li>
            ))}
          </ul>
        </Section>
      )}
      <div class="columns">
        <Section
          title="Instances"
          aside={<a href={link('/instances', { host: name })}>{number(page.instanceCount)}</a>}
        >
          {page.instances.length === 0 ? (
            <Empty>No instances are on this host.</Empty>
          ) : (
            <VirtualTable
              label="Instances on this host"
              columns={INSTANCE_COLUMNS}
              rows={page.instances}
              keyOf={({ uuid }) => uuid}
              height="420px"
            />
          )}
        </Section>
        <Section title="Recent attempts">
          {page.attempts.length === 0 ? (
            <Empty>No attempt has ended here since the console started.</Empty>
          ) : (
            <VirtualTable
              label="Recent attempts on this host"
              columns={ATTEMPT_COLUMNS}
              rows={page.attempts}
              keyOf={({ uuid, number: n, outcome }) => `${uuid} ${n} ${outcome}`}
              height="420px"
            />
          )}
        </Section>
      </div>
    </>
  );
}

const REASON: Field = { name: 'reason', label: 'Reason' };

function DrainProgress({ drain }: { drain: NonNullable<Page['drain']> }) {
  return (
    <Section title={drain.isOver ? 'Drained' : 'Draining'} aside={`by ${drain.userId}`}>
      <div class="drain">
        <progress
          max={Math.max(1, drain.all)}
          value={drain.isOver ? Math.max(1, drain.all) : drain.done}
          aria-label="Progress of the drain"
        />
        <span role="status">{progressOf(drain)}</span>
      </div>
      {drain.stays.length > 0 && (
        <ul class="plain">
          {drain.stays.map(({ uuid, name, reason }) => (
            <li key={uuid}>
              {uuid && <InstanceLink uuid={uuid} name={name} />} {reason}
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

function progressOf({ host, all, done, stays, isOver }: NonNullable<Page['drain']>): string {
  // A drain that failed as a whole has a reason of no instance.
  const staying = stays.filter(({ uuid }) => uuid !== '').length;
  const moved = done - staying;
  if (!isOver) return all === 0 ? `Reading the instances on ${host} …` : `${moved} of ${all} moved off ${host}`;
  const stay = staying === 0 ? '' : ` ${plural(staying, 'instance')} ${staying === 1 ? 'stays' : 'stay'}.`;
  return `Moved ${plural(moved, 'instance')} off ${host}.${stay} New instances are blocked.`;
}

function HostFacts({ page }: { page: Page }) {
  const { host } = page;
  const until = page.quarantinedUntilMs;
  const facts: Fact[] = [
    ['Zone', <HostsLink key="zone" of="zone" name={host.zone} />],
    ['Rack', host.rack === '' ? '' : <HostsLink key="rack" of="rack" name={host.rack} />],
    [
      'Aggregates',
      host.aggregates.length === 0
        ? ''
        : host.aggregates.map((aggregate, n) => (
            <span key={aggregate}>
              {n > 0 && ', '}
              <HostsLink of="aggregate" name={aggregate} />
            </span>
          )),
    ],
    ['Cell', page.cell],
    ['Service host', page.serviceHost === host.name ? '' : page.serviceHost],
    ['Reason disabled', page.disabledReason],
    ['Outside Berth', page.externalInstances > 0 ? plural(page.externalInstances, 'instance') : ''],
    ['Heavy work', host.ioOps > 0 ? `${host.ioOps} in progress` : 'none'],
    ['Failures', host.failures > 0 ? `${host.failures} lately, ${host.failuresInARow} in a row` : 'none'],
    ['Last failure', host.failures > 0 ? page.lastFailure : ''],
    [
      'Quarantine',
      until === 0 ? '' : until > serverNow() ? `next probe in ${span(until - serverNow())}` : 'waits for a probe',
    ],
    ['Last change', <Ago key="ago" ms={host.updatedAtMs} />],
  ];
  return <Facts facts={facts} />;
}

/** A group of hosts, as a link to them. */
function HostsLink({ of, name }: { of: 'zone' | 'rack' | 'aggregate'; name: string }) {
  return <a href={link('/fleet', { filter: term(of, name), view: 'list' })}>{name}</a>;
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
              label={`${className(name)}: ${said}`}
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

const INSTANCE_COLUMNS: readonly Column<HostInstance>[] = [
  {
    key: 'name',
    head: 'Instance',
    width: 'minmax(7rem, 1fr)',
    cell: ({ uuid, name }) => <InstanceLink uuid={uuid} name={name} />,
  },
  {
    key: 'state',
    head: 'State',
    width: 'minmax(8rem, 0.7fr)',
    cell: ({ state }) => <State state={state} label={stateName(state)} />,
  },
  {
    key: 'project',
    head: 'Project',
    width: 'minmax(4rem, 0.6fr)',
    cell: ({ projectId }) => <ProjectLink id={projectId} />,
  },
  { key: 'resources', head: 'Holds', width: 'minmax(12rem, 1.4fr)', cell: ({ resources }) => amounts(resources) },
  { key: 'updated', head: 'Changed', width: '6rem', cell: ({ updatedAtMs }) => <Ago ms={updatedAtMs} /> },
];

const ATTEMPT_COLUMNS: readonly Column<TriedAttempt>[] = [
  {
    key: 'name',
    head: 'Instance',
    width: 'minmax(7rem, 1fr)',
    cell: ({ uuid, name }) => <InstanceLink uuid={uuid} name={name} />,
  },
  { key: 'number', head: 'Attempt', width: '5rem', isNumber: true, cell: ({ number: n }) => n },
  { key: 'outcome', head: 'Outcome', width: 'minmax(6rem, 0.7fr)', cell: ({ outcome }) => <State state={outcome} /> },
  {
    key: 'reason',
    head: 'Reason',
    width: 'minmax(8rem, 1.2fr)',
    cell: ({ reason }) => <span title={reason}>{reason}</span>,
  },
  { key: 'at', head: 'Ended', width: '6rem', cell: ({ atMs }) => <Ago ms={atMs} /> },
];
