import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { FleetAll, FleetChange } from '../../api/fleet';
import { FLAG_NAMES, type Flag, FleetModel, type Redraw, WORST_FIRST } from '../state/fleet-model';
import { go, link, setQuery, usePlace } from '../state/router';
import { listenTo, useHub } from '../state/stream';
import { useTitle } from '../state/title';
import { number } from '../ui/format';
import { ClassFigure, Empty, Figure, Loading } from '../ui/parts';
import { measuresOf } from './colours';
import { FleetList } from './fleet-list';
import { FleetMap } from './fleet-map';
import { filterHosts, GROUPINGS, type Grouping, groupHosts } from './groups';
import { FlagMark, Scale } from './legend';

/** Minimum interval of adding up the page's figures. */
const FIGURES_MS = 500;

/** Every host at a glance: a cell each, live. */
export function FleetPage() {
  useTitle('Fleet');
  const { query } = usePlace();
  const { shell } = useHub();
  const onRedraw = useRef<(redraw: Redraw) => void>(() => {});
  const [version, setVersion] = useState(0);
  const [drawnAt, setDrawnAt] = useState(0);
  const model = useMemo(() => new FleetModel((redraw) => onRedraw.current(redraw)), []);
  const draw = useRef<(redraw: Redraw) => void>(() => {});
  const figuresTimer = useRef<number | undefined>(undefined);
  onRedraw.current = (redraw) => {
    if (redraw.isAll || (redraw.areFlags && flags.length > 0)) setVersion((n) => n + 1);
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

  const measures = useMemo(() => measuresOf(model.classes), [model.classes]);
  const measure = measures.find(({ key }) => key === query.get('colour')) ?? measures[0];
  const grouping = (query.get('group') ?? 'zone') as Grouping;
  const flags = (query.get('show') ?? '').split(',').filter((flag) => WORST_FIRST.includes(flag as Flag)) as Flag[];
  const text = query.get('filter') ?? '';
  const flagKey = flags.join();
  const hosts = useMemo(() => filterHosts(model.hosts.values(), { text, flags }), [version, text, flagKey]);
  const groups = useMemo(
    () => groupHosts(hosts, grouping in GROUPINGS ? grouping : 'zone', model.classes),
    [hosts, grouping],
  );
  const isList = query.get('view') === 'list';
  const totals = model.classes.map((name, i) => {
    let [used, capacity] = [0, 0];
    for (const host of hosts) {
      const now = model.hosts.get(host.name) ?? host;
      used += now.used[i] ?? 0;
      capacity += now.capacity[i] ?? 0;
    }
    return { name, used, capacity };
  });
  const toggle = (flag: Flag) => {
    const next = flags.includes(flag) ? flags.filter((one) => one !== flag) : [...flags, flag];
    setQuery({ show: next.join() });
  };

  return (
    <div class="fleet">
      <h1 class="visually-hidden">Fleet</h1>
      <dl class="figures">
        <Figure
          label="Hosts"
          value={model.isLoaded ? number(hosts.length) : undefined}
          note={hosts.length < model.hosts.size ? `of ${number(model.hosts.size)}` : 'in the fleet'}
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
      <div class="toolbar">
        <label>
          Group by
          <select value={grouping} onChange={(change) => setQuery({ group: change.currentTarget.value })}>
            {Object.entries(GROUPINGS).map(([key, label]) => (
              <option key={key} value={key}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <label>
          Colour by
          <select value={measure?.key ?? ''} onChange={(change) => setQuery({ colour: change.currentTarget.value })}>
            {measures.map(({ key, label }) => (
              <option key={key} value={key}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <label>
          Filter
          <input
            type="search"
            value={text}
            placeholder="name, zone:east, rack:r7"
            onInput={(input) => setQuery({ filter: input.currentTarget.value })}
          />
        </label>
        <div class="chips" role="group" aria-label="Show only">
          {WORST_FIRST.map((flag) => {
            const count = shell?.hosts[flag];
            return (
              <button
                key={flag}
                type="button"
                class="chip"
                aria-pressed={flags.includes(flag)}
                disabled={!count && !flags.includes(flag)}
                onClick={() => toggle(flag)}
              >
                <FlagMark flag={flag} />
                {FLAG_NAMES[flag]} <strong>{count === undefined ? '…' : number(count)}</strong>
              </button>
            );
          })}
        </div>
        <div class="segmented" role="group" aria-label="View">
          <button type="button" aria-pressed={!isList} onClick={() => setQuery({ view: undefined })}>
            Map
          </button>
          <button type="button" aria-pressed={isList} onClick={() => setQuery({ view: 'list' })}>
            List
          </button>
        </div>
      </div>
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
