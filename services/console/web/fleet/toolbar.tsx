import { FLAG_NAMES, type Flag, WORST_FIRST } from '../state/fleet-model';
import { setQuery } from '../state/router';
import { useHub } from '../state/stream';
import { number } from '../ui/format';
import type { Measure } from './colours';
import { GROUPINGS, type Grouping } from './groups';
import { FlagMark } from './legend';

/** Parts of the address that choose which hosts the fleet page shows, and as what. */
export interface FleetChoice {
  readonly grouping: Grouping;
  readonly measure: Measure | undefined;
  readonly text: string;
  readonly flags: readonly Flag[];
  readonly isList: boolean;
}

/** Groups, colours, filters and the view: each is a part of the address. */
export function FleetToolbar({ choice, measures }: { choice: FleetChoice; measures: readonly Measure[] }) {
  const { grouping, measure, text, flags, isList } = choice;
  return (
    <div class="toolbar">
      <Picker part="group" label="Group by" value={grouping} options={Object.entries(GROUPINGS)} />
      <Picker
        part="colour"
        label="Colour by"
        value={measure?.key ?? ''}
        options={measures.map(({ key, label }) => [key, label] as const)}
      />
      <label>
        Filter
        <input
          type="search"
          value={text}
          placeholder="name, zone:east, rack:r7"
          onInput={(input) => setQuery({ filter: input.currentTarget.value })}
        />
      </label>
      <FlagChips flags={flags} />
      <div class="segmented" role="group" aria-label="View">
        <button type="button" aria-pressed={!isList} onClick={() => setQuery({ view: undefined })}>
          Map
        </button>
        <button type="button" aria-pressed={isList} onClick={() => setQuery({ view: 'list' })}>
          List
        </button>
      </div>
    </div>
  );
}

function Picker({
  part,
  label,
  value,
  options,
}: {
  part: string;
  label: string;
  value: string;
  options: readonly (readonly [value: string, label: string])[];
}) {
  return (
    <label>
      {label}
      <select value={value} onChange={(change) => setQuery({ [part]: change.currentTarget.value })}>
        {options.map(([key, text]) => (
          <option key={key} value={key}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Conditions with their number of hosts: each filters. */
function FlagChips({ flags }: { flags: readonly Flag[] }) {
  const { shell } = useHub();
  const toggle = (flag: Flag) => {
    const next = flags.includes(flag) ? flags.filter((one) => one !== flag) : [...flags, flag];
    setQuery({ show: next.join() });
  };
  return (
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
  );
}
