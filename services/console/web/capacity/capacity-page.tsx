import type { CapacityPage as Page, ProjectRow } from '../../api/capacity';
import { link, setQuery, usePlace } from '../state/router';
import { usePage } from '../state/stream';
import { useTitle } from '../state/title';
import { LineChart } from '../ui/chart';
import { amount, className, number, shareOfFleet } from '../ui/format';
import { Bar, Loading, ProjectLink, Section } from '../ui/parts';
import { HISTORY_RANGES, pointsIn, RangeSelect } from '../ui/range-select';
import { type Column, VirtualTable } from '../ui/virtual-table';
import { ByZone } from './by-zone';
import { WhatFits } from './what-fits';

/** The capacity, its free part, and the instances that still fit. */
export function CapacityPage() {
  useTitle('Capacity');
  const page = usePage<Page>('page=capacity');
  if (page === undefined) return <Loading what="the capacity" />;
  return (
    <>
      <h1>Capacity</h1>
      <ByZone page={page} />
      <div class="columns">
        <WhatFits page={page} />
        <OverTime page={page} />
      </div>
      <Section title="Projects" aside={number(page.projects.length)}>
        <VirtualTable
          label="Projects with usage and quotas"
          columns={[...projectColumns(page.classes), ...shareColumns(page.projects)]}
          rows={page.projects}
          keyOf={({ projectId }) => projectId}
          height="360px"
          empty="No project has instances or a quota."
        />
      </Section>
    </>
  );
}

/** Usage and capacity of one class over time, a chart a zone. */
function OverTime({ page: { classes, zones } }: { page: Page }) {
  const { query } = usePlace();
  const shown = classes.find((name) => name === query.get('class')) ?? classes[0] ?? '';
  const choices = (
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
  );
  return (
    <Section title="Over time" aside={choices}>
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
  );
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

/** Shares by which those who wait are ordered, where they are. */
function shareColumns(projects: readonly ProjectRow[]): readonly Column<ProjectRow>[] {
  if (projects.every((project) => project.share === undefined)) return [];
  const column = (key: 'now' | 'lately' | 'weight' | 'rank', head: string): Column<ProjectRow> => ({
    key,
    head,
    width: '5.5rem',
    isNumber: true,
    cell: ({ share: its }) => {
      if (its === undefined) return '–';
      return key === 'now' || key === 'lately' ? shareOfFleet(its[key]) : number(its[key]);
    },
  });
  return [
    column('now', 'Share now'),
    column('lately', 'Lately'),
    column('weight', 'Weight'),
    column('rank', 'Rank in turn'),
  ];
}
