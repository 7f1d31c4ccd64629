import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { FleetAll, FleetChange, FleetHost } from '../../api/fleet';
import { type Flag, FleetModel, type Redraw, WORST_FIRST } from '../state/fleet-model';
import { go, link, usePlace } from '../state/router';
import { listenTo, useHub } from '../state/stream';
import { useTitle } from '../state/title';
import { number } from '../ui/format';
import { ClassFigure, Empty, Figure, Loading } from '../ui/parts';
import { type Measure, measuresOf } from './colours';
import { FleetList } from './fleet-list';
import { FleetMap } from './fleet-map';
import { filterHosts, GROUPINGS, type Grouping, groupHosts } from './groups';
import { Scale } from './legend';
import { type FleetChoice, FleetToolbar } from './toolbar';

/** Minimum interval of adding up the page's figures. */
const FIGURES_MS = 500;

/** Every host at a glance: a cell each, live. */
export function FleetPage() {
  useTitle('Fleet');
  const { query } = usePlace();
  const { model, version, drawnAt, draw, onFlags } = useFleet();
  const measures = useMemo(() => measuresOf(model.classes), [model.classes]);
  const choice = choiceOf(query, measures);
  const { grouping, measure, text, flags, isList } = choice;
  onFlags.current = flags.length > 0;
  const hosts = useMemo(() => filterHosts(model.hosts.values(), { text, flags }), [version, text, flags.join()]);
  const groups = useMemo(() => groupHosts(hosts, grouping, model.classes), [hosts, grouping]);
  return (
    <div class="fleet">
      <h1 class="visually-hidden">Fleet</h1>
      <FleetFigures model={model} hosts={hosts} />
      <FleetToolbar choice={choice} measures={measures} />
      {!model.isLoaded && <Loading what="the fleet" />}
      {model.isLoaded && hosts.length === 0 && (
        <Empty>{model.hosts.size === 0 ? 'No host has reported yet.' : 'No host passes the filter.'}</Empty>
      )}
      {measure && hosts.length > 0 && !isList && (
        <>
          <Scale measure={measure} />
          <FleetMap
            model={model}
            groups={groups}
            measure={measure}
            draw={draw}
            onOpen={(host) => go(`/hosts/${encodeURIComponent(host)}`)}
          />
        </>
      )}
      {hosts.length > 0 && isList && <FleetList model={model} hosts={hosts} drawnAt={drawnAt} />}
    </div>
  );
}

/** The live fleet. `version` counts changes of its order, groups and, where the page filters by them, conditions. */
function useFleet() {
  const draw = useRef<(redraw: Redraw) => void>(() => {});
  const onRedraw = useRef<(redraw: Redraw) => void>(() => {});
  /** True while the page filters by conditions of hosts. */
  const onFlags = useRef(false);
  const figuresTimer = useRef<number | undefined>(undefined);
  const [version, setVersion] = useState(0);
  const [drawnAt, setDrawnAt] = useState(0);
  const model = useMemo(() => new FleetModel((redraw) => onRedraw.current(redraw)), []);
  onRedraw.current = (redraw) => {
    if (redraw.isAll || (redraw.areFlags && onFlags.current)) setVersion((n) => n + 1);
    draw.current(redraw);
    const dueMs = Math.max(0, drawnAt + FIGURES_MS - performance.now());
    // The last change of several has its turn, too.
    figuresTimer.current ??= setTimeout(() => {
      figuresTimer.current = undefined;
      setDrawnAt(performance.now());
    }, dueMs);
  };
  useEffect(() => {
    const stop = listenTo('page=fleet', {
      fleet_all: (data) => model.replace(JSON.parse(data) as FleetAll),
      fleet: (data) => model.apply(JSON.parse(data) as FleetChange),
    });
    return () => {
      stop();
      model.close();
      clearTimeout(figuresTimer.current);
    };
  }, [model]);
  return { model, version, drawnAt, draw, onFlags };
}

function choiceOf(query: URLSearchParams, measures: readonly Measure[]): FleetChoice {
  const group = query.get('group') ?? '';
  return {
    grouping: group in GROUPINGS ? (group as Grouping) : 'zone',
    measure: measures.find(({ key }) => key === query.get('colour')) ?? measures[0],
    text: query.get('filter') ?? '',
    flags: (query.get('show') ?? '').split(',').filter((flag): flag is Flag => WORST_FIRST.includes(flag as Flag)),
    isList: query.get('view') === 'list',
  };
}

/** Hosts, instances and usage of the shown hosts. */
function FleetFigures({ model, hosts }: { model: FleetModel; hosts: readonly FleetHost[] }) {
  const { query } = usePlace();
  const { shell } = useHub();
  const totals = model.classes.map((name, i) => {
    let [used, capacity] = [0, 0];
    for (const host of hosts) {
      const now = model.hosts.get(host.name) ?? host;
      used += now.used[i] ?? 0;
      capacity += now.capacity[i] ?? 0;
    }
    return { name, used, capacity };
  });
  return (
    <dl class="figures">
      <Figure
        label="Hosts"
        value={model.isLoaded ? number(hosts.length) : undefined}
        note={
          hosts.length < model.hosts.size ? (
            <a href="/fleet?view=list">of {number(model.hosts.size)}</a>
          ) : (
            'in the fleet'
          )
        }
        href={link('/fleet', { ...Object.fromEntries(query), view: 'list' })}
      />
      <Figure
        label="Instances"
        value={shell && number(shell.instances)}
        note={shell && <a href="/instances?state=pending">{number(shell.pending)} pending</a>}
        href="/instances"
      />
      {totals.slice(0, 5).map((total) => (
        <ClassFigure key={total.name} {...total} />
      ))}
    </dl>
  );
}
