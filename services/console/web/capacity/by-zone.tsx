import type { CapacityPage, ZoneCapacity } from '../../api/capacity';
import { link } from '../state/router';
import { amount, className, number, term } from '../ui/format';
import { Bar, Section } from '../ui/parts';

/** The capacity of each zone by resource class: used, free and stranded. */
export function ByZone({ page: { classes, zones, smallest } }: { page: CapacityPage }) {
  return (
    <Section title="By zone">
      <div class="scroll" tabIndex={0}>
        <table class="simple capacity">
          <thead>
            <tr>
              <th scope="col">Zone</th>
              <th scope="col" class="num">
                Hosts
              </th>
              {classes.map((name) => (
                <th scope="col" key={name}>
                  {className(name)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {zones.map((row) => (
              <tr key={row.zone}>
                <th scope="row">{row.zone}</th>
                <td class="num">
                  <ZoneHosts row={row} />
                </td>
                {classes.map((name, i) => (
                  <td key={name}>
                    <ZoneClass name={name} index={i} row={row} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="note">
        Free: unused capacity on hosts that take builds.
        {smallest !== '' && ` Stranded: the part on hosts that cannot fit ${smallest}, the smallest flavor.`}
      </p>
    </Section>
  );
}

function ZoneHosts({ row: { zone, hosts, open } }: { row: ZoneCapacity }) {
  return (
    <>
      <a href={hostsIn(zone)}>{number(hosts)}</a>
      {open < hosts && (
        <small>
          <a href={hostsIn(zone, 'down,disabled')}>{number(hosts - open)}</a> down or disabled
        </small>
      )}
    </>
  );
}

/** The usage of a class in a zone; `index` is the place of the class. */
function ZoneClass({ name, index, row }: { name: string; index: number; row: ZoneCapacity }) {
  const [used, capacity, free, stranded] = [row.used, row.capacity, row.free, row.stranded].map(
    (all) => all[index] ?? 0,
  );
  if (!capacity) return <span class="faint">–</span>;
  return (
    <>
      <Bar
        name={name}
        used={used ?? 0}
        capacity={capacity}
        href={link('/fleet', { filter: term('zone', row.zone), colour: name })}
      />
      <small>
        <a href={link('/fleet', { filter: term('zone', row.zone), colour: name, view: 'list' })}>
          {amount(name, free ?? 0)}
        </a>{' '}
        free
        {stranded ? (
          <span class="stranded">
            ,{' '}
            <a href={link('/fleet', { filter: term('zone', row.zone), colour: name, view: 'list' })}>
              {amount(name, stranded)}
            </a>{' '}
            stranded
          </span>
        ) : null}
      </small>
    </>
  );
}

function hostsIn(zone: string, show?: string): string {
  return link('/fleet', { filter: term('zone', zone), show, view: 'list' });
}
