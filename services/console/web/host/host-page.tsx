import type { TriedAttempt } from '../../api/builds';
import type { HostInstance, HostPage as Page } from '../../api/host';
import { FLAG_NAMES, flagsOf } from '../state/fleet-model';
import { serverNow, usePage } from '../state/stream';
import { useTitle } from '../state/title';
import { ActionButton } from '../ui/action';
import { Sparkline } from '../ui/chart';
import { amount, amounts, className, number, percent, plural, span, words } from '../ui/format';
import { Ago, Empty, type Fact, Facts, InstanceLink, Loading, Section, State } from '../ui/parts';
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
              question={`Disable ${name}?`}
              note="It gets no new instances; what runs there stays."
              path={path}
              body={{ action: 'disable' }}
              fields={[{ name: 'reason', label: 'Reason, for whoever asks later' }]}
              done={`${name} is disabled`}
            />
          ) : (
            <ActionButton
              label="Enable"
              question={`Enable ${name}?`}
              note="It gets new instances again."
              path={path}
              body={{ action: 'enable' }}
              done={`${name} is enabled`}
            />
          )}
          {isDraining ? (
            <ActionButton
              label="Stop drain"
              question={`Stop draining ${name}?`}
              note="What has left stays where it is; the host stays disabled."
              path={path}
              body={{ action: 'stop_drain' }}
              done={`the drain of ${name} stops`}
            />
          ) : (
            <ActionButton
              label="Drain"
              question={`Drain ${name}?`}
              note={`It gets no new instances, and ${plural(host.instances, 'instance')} move away: live where the driver can, else stopped and started.`}
              path={path}
              body={{ action: 'drain' }}
              fields={[{ name: 'reason', label: 'Reason, for whoever asks later' }]}
              done={`${name} is being drained`}
            />
          )}
          {host.failuresInARow > 0 && (
            <ActionButton
              label={page.quarantinedUntilMs > 0 ? 'End quarantine' : 'Clear failures'}
              question={`Trust ${name} again?`}
              note={`Its ${plural(host.failuresInARow, 'failure')} in a row are forgotten.`}
              path={path}
              body={{ action: 'trust' }}
              done={`${name} is trusted again`}
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
        <Section title="Instances" aside={number(page.instanceCount)}>
          {page.instances.length === 0 ? (
            <Empty>Nothing runs here.</Empty>
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
            <Empty>None since the console started.</Empty>
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

function DrainProgress({ drain }: { drain: NonNullable<Page['drain']> }) {
  const left = drain.done - drain.stays.length;
  return (
    <Section title={drain.isOver ? 'Drained' : 'Draining'} aside={`by ${drain.userId}`}>
      <div class="drain">
        <progress
          max={Math.max(1, drain.all)}
          value={drain.isOver ? Math.max(1, drain.all) : drain.done}
          aria-label="Progress of the drain"
        />
        <span>
          {drain.all === 0
            ? drain.isOver
              ? 'Nothing was there.'
              : 'Reading what is there …'
            : `${left} left, ${drain.stays.length} stay, of ${drain.all}`}
        </span>
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

function HostFacts({ page }: { page: Page }) {
  const { host } = page;
  const until = page.quarantinedUntilMs;
  const facts: Fact[] = [
    ['Zone', host.zone],
    ['Rack', host.rack],
    ['Aggregates', host.aggregates.join(', ')],
    ['Cell', page.cell],
    ['Service host', page.serviceHost === host.name ? '' : page.serviceHost],
    ['Disabled because', page.disabledReason],
    ['Not managed by Berth', page.externalInstances > 0 ? plural(page.externalInstances, 'instance') : ''],
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
  { key: 'state', head: 'State', width: 'minmax(8rem, 0.7fr)', cell: ({ state }) => <State state={state} /> },
  { key: 'project', head: 'Project', width: 'minmax(4rem, 0.6fr)', cell: ({ projectId }) => projectId },
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
