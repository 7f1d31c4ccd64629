import type { HostPage } from '../../api/host';
import { plural } from '../ui/format';
import { InstanceLink, Section } from '../ui/parts';

type Drain = NonNullable<HostPage['drain']>;

/** A drain: how far it is, and the instances that stay. */
export function DrainProgress({ drain }: { drain: Drain }) {
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

function progressOf({ host, all, done, stays, isOver }: Drain): string {
  // A drain that failed as a whole has a reason of no instance.
  const staying = stays.filter(({ uuid }) => uuid !== '').length;
  const moved = done - staying;
  if (!isOver) return all === 0 ? `Reading the instances on ${host} …` : `${moved} of ${all} moved off ${host}`;
  const stay = staying === 0 ? '' : ` ${plural(staying, 'instance')} ${staying === 1 ? 'stays' : 'stay'}.`;
  return `Moved ${plural(moved, 'instance')} off ${host}.${stay} New instances are blocked.`;
}
