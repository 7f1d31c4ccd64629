import type { CapacityPage as Page, ProjectRow } from '../../api/capacity';
import { link, setQuery, usePlace } from '../state/router';
import { usePage } from '../state/stream';
import { useTitle } from '../state/title';
import { LineChart } from '../ui/chart';
import { amount, amounts, className, number, plural, term } from '../ui/format';
import { Bar, Empty, Loading, ProjectLink, Section } from '../ui/parts';
import { HISTORY_RANGES, pointsIn, RangeSelect } from '../ui/range-select';
import { type Column, VirtualTable } from '../ui/virtual-table';

/** The capacity, its free part, and the instances that still fit. */
export function CapacityPage() {
  useTitle('Capacity');
  const page = usePage<Page>('page=capacity');
  const { query } = usePlace();
  if (page === undefined) return <Loading what="the capacity" />;
  const { classes, zones } = page;
  const shown = classes.includes(query.get('class') ?? '') ? (query.get('class') as string) : (classes[0] ?? '');
  return (
    <>
      <h1>Capacity</h1>
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
              {zones.map(({ zone, hosts, open, used, capacity, free, stranded }) => (
                <tr key={zone}>
                  <th scope="row">{zone}</th>
                  <td class="num">
                    <a href={hostsIn(zone)}>{number(hosts)}</a>
                    {open < hosts && (
                      <small>
                        <a href={hostsIn(zone, 'down,disabled')}>{number(hosts - open)}</a> down or disabled
                      </small>
                    )}
                  </td>
                  {classes.map((name, i) => (
                    <td key={name}>
                      {(capacity[i] ?? 0) === 0 ? (
                        <span class="faint">–</span>
                      ) : (
                        <>
                          <Bar
                            name={name}
                            used={used[i] ?? 0}
                            capacity={capacity[i] ?? 0}
                            href={link('/fleet', { filter: term('zone', zone), colour: name })}
                          />
                          <small>
                            {amount(name, free[i] ?? 0)} free
                            {(stranded[i] ?? 0) > 0 && (
                              <span class="stranded">, {amount(name, stranded[i] ?? 0)} stranded</span>
                            )}
                          </small>
                        </>
                      )}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        <p class="note">
          Free: unused capacity on hosts that take builds.
          {page.smallest !== '' &&
            ` Stranded: the part on hosts that cannot fit ${page.smallest}, the smallest flavor.`}
        </p>
      </Section>
      <div class="columns">
        <Section title="What still fits">
          {page.flavors.length === 0 ? (
            <Empty>There are no flavors yet: berth flavor create makes one.</Empty>
          ) : (
            <div class="scroll" tabIndex={0}>
              <table class="simple">
                <thead>
                  <tr>
                    <th scope="col">Flavor</th>
                    <th scope="col" class="num">
                      More
                    </th>
                    {zones.length > 1 &&
                      zones.map(({ zone }) => (
                        <th scope="col" class="num" key={zone}>
                          {zone}
                        </th>
                      ))}
                    <th scope="col">Each takes</th>
                  </tr>
                </thead>
                <tbody>
                  {page.flavors.map(({ name, resources, traits, total, hosts, byZone }) => (
                    <tr key={name}>
                      <th scope="row">
                        <a href={`/explain?flavor=${encodeURIComponent(name)}`}>{name}</a>
                      </th>
                      <td class="num">
                        <a href={link('/explain', { flavor: name })}>
                          <strong>{number(total)}</strong>
                        </a>
                        <small>on {plural(hosts, 'host')}</small>
                      </td>
                      {zones.length > 1 &&
                        byZone.map((count, i) => (
                          <td class="num" key={zones[i]?.zone}>
                            <a href={link('/explain', { flavor: name, zone: zones[i]?.zone })}>{number(count)}</a>
                          </td>
                        ))}
                      <td>
                        {amounts(resources)}
                        {traits.length > 0 && <small>{traits.join(', ')}</small>}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )}
          <p class="note">
            Each count adds up the hosts for one flavor alone, by amounts and required traits. It ignores quotas and
            groups. A link asks a scheduler, which applies every filter.
          </p>
        </Section>
        <Section
          title="Over time"
          aside={
            <>
              <RangeSelect ranges={HISTORY_RANGES} standard="" />{' '}
              <label class="inline">
                Class{' '}
                <select value={shown} onChange={(change) => setQuery({ class: change.currentTarget.value })}>
                  {classes.map((name) => (
                    <option key={name} value={name}>
                      {className(name)}
                    </option>
                  ))}
                </select>
              </label>
            </>
          }
        >
          <div class="charts">
            {zones.map(({ zone, history }) => {
              const its = history.classes[shown];
              if (its === undefined) return null;
              const last = pointsIn(query.get('range'), history.stepMs);
              return (
                <LineChart
                  key={zone}
                  label={zone}
                  unit={shown}
                  stepMs={history.stepMs}
                  lastMs={history.lastMs}
                  series={[
                    { label: 'used', values: its.used.slice(-last), colour: 1 },
                    { label: 'capacity', values: its.capacity.slice(-last), colour: 4, isLimit: true },
                  ]}
                />
              );
            })}
          </div>
          <p class="note">The console keeps points while it runs and drops the oldest.</p>
        </Section>
      </div>
      <Section title="Projects" aside={number(page.projects.length)}>
        {page.projects.length === 0 ? (
          <Empty>No project has instances or a quota.</Empty>
        ) : (
          <VirtualTable
            label="Projects with usage and quotas"
            columns={projectColumns(classes)}
            rows={page.projects}
            keyOf={({ projectId }) => projectId}
            height="360px"
          />
        )}
      </Section>
    </>
  );
}

function hostsIn(zone: string, show?: string): string {
  return link('/fleet', { filter: term('zone', zone), show, view: 'list' });
}

function projectColumns(classes: readonly string[]): readonly Column<ProjectRow>[] {
  return [
    {
      key: 'project',
      head: 'Project',
      width: 'minmax(5rem, 0.8fr)',
      cell: ({ projectId }) => <ProjectLink id={projectId} />,
    },
    ...['instances', ...classes.slice(0, 5)].map((name): Column<ProjectRow> => {
      return {
        key: name,
        head: name === 'instances' ? 'Instances' : className(name),
        width: 'minmax(11rem, 1fr)',
        cell: ({ projectId, used, limits }) => {
          const limit = limits[name];
          const itsInstances = link('/instances', { project: projectId });
          if (limit !== undefined) {
            return <Bar name={name} used={used[name] ?? 0} capacity={limit} href={itsInstances} />;
          }
          return (
            <span class="bar-text">
              <a href={itsInstances}>{amount(name, used[name] ?? 0)}</a> <span class="faint">no limit</span>
            </span>
          );
        },
      };
    }),
  ];
}
