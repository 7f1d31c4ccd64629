import type { CapacityPage as Page, ProjectRow } from '../../api/capacity';
import { setQuery, usePlace } from '../state/router';
import { usePage } from '../state/stream';
import { useTitle } from '../state/title';
import { LineChart } from '../ui/chart';
import { amount, amounts, className, number, plural } from '../ui/format';
import { Bar, Empty, Loading, Section } from '../ui/parts';
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
                    {number(hosts)}
                    {open < hosts && <small>{number(open)} open</small>}
                  </td>
                  {classes.map((name, i) => (
                    <td key={name}>
                      {(capacity[i] ?? 0) === 0 ? (
                        <span class="faint">–</span>
                      ) : (
                        <>
                          <Bar name={name} used={used[i] ?? 0} capacity={capacity[i] ?? 0} />
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
          Free: what is left on hosts that take builds.
          {page.smallest !== '' && ` Stranded: the part of it on hosts where not even ${page.smallest} fits.`}
        </p>
      </Section>
      <div class="columns">
        <Section title="What still fits">
          {page.flavors.length === 0 ? (
            <Empty>There are no flavors.</Empty>
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
                        <strong>{number(total)}</strong>
                        <small>on {plural(hosts, 'host')}</small>
                      </td>
                      {zones.length > 1 &&
                        byZone.map((count, i) => (
                          <td class="num" key={zones[i]?.zone}>
                            {number(count)}
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
            Counted host by host, for each flavor alone, by amounts and required traits, without quotas and groups. A
            flavor's link asks a scheduler, which applies every filter.
          </p>
        </Section>
        <Section
          title="Over time"
          aside={
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
          }
        >
          <div class="charts">
            {zones.map(({ zone, history }) => {
              const its = history.classes[shown];
              if (its === undefined) return null;
              return (
                <LineChart
                  key={zone}
                  label={zone}
                  unit={shown}
                  stepMs={history.stepMs}
                  series={[
                    { label: 'used', values: its.used, colour: 1 },
                    { label: 'capacity', values: its.capacity, colour: 4, isLimit: true },
                  ]}
                />
              );
            })}
          </div>
          <p class="note">Since this console started; older points are dropped.</p>
        </Section>
      </div>
      <Section title="Projects" aside={number(page.projects.length)}>
        {page.projects.length === 0 ? (
          <Empty>No project holds anything.</Empty>
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

function projectColumns(classes: readonly string[]): readonly Column<ProjectRow>[] {
  return [
    { key: 'project', head: 'Project', width: 'minmax(5rem, 0.8fr)', cell: ({ projectId }) => projectId },
    ...['instances', ...classes.slice(0, 5)].map((name): Column<ProjectRow> => {
      return {
        key: name,
        head: name === 'instances' ? 'Instances' : className(name),
        width: 'minmax(11rem, 1fr)',
        cell: ({ used, limits }) => {
          const limit = limits[name];
          if (limit !== undefined) return <Bar name={name} used={used[name] ?? 0} capacity={limit} />;
          return (
            <>
              {amount(name, used[name] ?? 0)} <span class="faint">no limit</span>
            </>
          );
        },
      };
    }),
  ];
}
