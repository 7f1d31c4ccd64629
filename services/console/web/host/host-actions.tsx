import type { HostPage } from '../../api/host';
import { flagsOf } from '../state/fleet-model';
import { ActionButton, type Field } from '../ui/action';
import { plural } from '../ui/format';

/** The actions that a host allows now. */
export function HostActions({ page }: { page: HostPage }) {
  const { host, drain, disabledReason } = page;
  const isEnabled = disabledReason === '' && !flagsOf(host).includes('disabled');
  const isDraining = drain !== undefined && !drain.isOver;
  return (
    <div class="actions">
      {isEnabled ? <Disable page={page} /> : <Enable page={page} />}
      {isDraining ? <StopDrain page={page} /> : <Drain page={page} />}
      {host.failuresInARow > 0 && <Trust page={page} />}
    </div>
  );
}

const REASON: Field = { name: 'reason', label: 'Reason' };

function Disable({
  page: {
    host: { name, instances },
  },
}: {
  page: HostPage;
}) {
  const stay = instances === 1 ? 'stays and runs' : 'stay and run';
  return (
    <ActionButton
      label="Disable"
      question={`${name} will take no new instances.`}
      note={`${plural(instances, 'instance')} ${stay} on.`}
      path={pathOf(name)}
      body={{ action: 'disable' }}
      fields={[REASON]}
      done={`${name} is disabled. New instances are blocked.`}
    />
  );
}

function Enable({
  page: {
    host: { name },
  },
}: {
  page: HostPage;
}) {
  return (
    <ActionButton
      label="Enable"
      question={`${name} will take new instances again.`}
      path={pathOf(name)}
      body={{ action: 'enable' }}
      done={`${name} is enabled. It takes new instances.`}
    />
  );
}

function Drain({
  page: {
    host: { name, instances },
  },
}: {
  page: HostPage;
}) {
  return (
    <ActionButton
      label="Drain"
      question={`${plural(instances, 'instance')} will move off ${name}.`}
      note="The host takes no new instances. Berth live-migrates each instance where the driver can, and otherwise stops, moves and starts it."
      path={pathOf(name)}
      body={{ action: 'drain' }}
      fields={[REASON]}
      done={`${name} is draining. New instances are blocked.`}
    />
  );
}

function StopDrain({
  page: {
    host: { name },
  },
}: {
  page: HostPage;
}) {
  return (
    <ActionButton
      label="Stop drain"
      question={`The drain of ${name} will stop.`}
      note={`Instances that have moved stay on their new hosts. ${name} stays disabled.`}
      path={pathOf(name)}
      body={{ action: 'stop_drain' }}
      done={`The drain of ${name} stops.`}
    />
  );
}

function Trust({
  page: {
    host: { name, failuresInARow },
    quarantinedUntilMs,
  },
}: {
  page: HostPage;
}) {
  return (
    <ActionButton
      label={quarantinedUntilMs > 0 ? 'End quarantine' : 'Clear failures'}
      question={`Schedulers will trust ${name} again.`}
      note={`They forget its ${plural(failuresInARow, 'failure')} in a row.`}
      path={pathOf(name)}
      body={{ action: 'trust' }}
      done={`Schedulers trust ${name} again.`}
    />
  );
}

function pathOf(host: string): string {
  return `/api/hosts/${encodeURIComponent(host)}/actions`;
}
