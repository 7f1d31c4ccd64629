import type { TriedAttempt } from '../../api/builds';
import type { HostInstance, HostPage } from '../../api/host';
import { link } from '../state/router';
import { INSTANCE_COLUMN } from '../ui/columns';
import { amounts, number, stateName } from '../ui/format';
import { Ago, ProjectLink, Section, State } from '../ui/parts';
import { type Column, VirtualTable } from '../ui/virtual-table';

/** The instances on a host. */
export function HostInstances({ page: { host, instances, instanceCount } }: { page: HostPage }) {
  return (
    <Section title="Instances" aside={<a href={link('/instances', { host: host.name })}>{number(instanceCount)}</a>}>
      <VirtualTable
        label="Instances on this host"
        columns={INSTANCE_COLUMNS}
        rows={instances}
        keyOf={({ uuid }) => uuid}
        height="420px"
        empty="No instances are on this host."
      />
    </Section>
  );
}

const INSTANCE_COLUMNS: readonly Column<HostInstance>[] = [
  INSTANCE_COLUMN,
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

/** The anchor of a host's attempts. */
export const ATTEMPTS = 'recent-attempts';

/** The attempts that ended on a host. */
export function HostAttempts({ attempts }: { attempts: readonly TriedAttempt[] }) {
  return (
    <Section title="Recent attempts" id={ATTEMPTS}>
      <VirtualTable
        label="Recent attempts on this host"
        columns={ATTEMPT_COLUMNS}
        rows={attempts}
        keyOf={({ uuid, number: n, outcome }) => `${uuid} ${n} ${outcome}`}
        height="420px"
        empty="No attempt has ended here since the console started."
      />
    </Section>
  );
}

const ATTEMPT_COLUMNS: readonly Column<TriedAttempt>[] = [
  INSTANCE_COLUMN,
  {
    key: 'number',
    head: 'Attempt',
    width: '5rem',
    isNumber: true,
    cell: ({ uuid, number: n }) => <a href={`/instances/${uuid}#story`}>{n}</a>,
  },
  { key: 'outcome', head: 'Outcome', width: 'minmax(6rem, 0.7fr)', cell: ({ outcome }) => <State state={outcome} /> },
  {
    key: 'reason',
    head: 'Reason',
    width: 'minmax(8rem, 1.2fr)',
    cell: ({ reason }) => <span title={reason}>{reason}</span>,
  },
  { key: 'at', head: 'Ended', width: '6rem', cell: ({ atMs }) => <Ago ms={atMs} /> },
];
