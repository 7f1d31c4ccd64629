import { useEffect, useState } from 'preact/hooks';
import type { Choices } from '../../api/instances';
import type { Found } from '../../api/search';
import { read } from '../state/api';
import { setQuery } from '../state/router';
import { amounts } from '../ui/format';

interface Field {
  readonly help?: string;
  readonly offered?: readonly string[] | undefined;
}

/** The request of the address as a form: each field is a part of the query. */
export function RequestForm({ query, choices }: { query: URLSearchParams; choices: Choices | undefined }) {
  const hosts = useHostNames(query.get('host') ?? '');
  const text = (name: string, label: string, placeholder: string, { help = '', offered = [] }: Field = {}) => (
    <label class="field">
      {label}
      <input
        value={query.get(name) ?? ''}
        placeholder={placeholder}
        list={offered.length > 0 ? `choices-${name}` : undefined}
        onInput={(input) => setQuery({ [name]: input.currentTarget.value.trim() })}
        autocomplete="off"
      />
      {offered.length > 0 && (
        <datalist id={`choices-${name}`}>
          {offered.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      )}
      {help !== '' && <small class="faint">{help}</small>}
    </label>
  );
  const flavor = query.get('flavor') ?? '';
  const flavors = choices?.flavors ?? [];
  return (
    <form class="fields" onSubmit={(submitted) => submitted.preventDefault()}>
      <label class="field">
        Flavor
        <select
          value={flavor}
          onChange={(change) => setQuery({ flavor: change.currentTarget.value, resources: undefined })}
        >
          <option value="">none, as below</option>
          {flavor !== '' && !flavors.some(({ name }) => name === flavor) && <option value={flavor}>{flavor}</option>}
          {flavors.map(({ name, resources }) => (
            <option key={name} value={name}>
              {name}: {amounts(resources)}
            </option>
          ))}
        </select>
      </label>
      {flavor === '' &&
        text('resources', 'Resources', 'VCPU:2,MEMORY_MB:4096', { help: 'class:amount, separated by commas' })}
      {text('zone', 'Zone', 'any', { offered: choices?.zones })}
      {text('aggregate', 'Aggregate', 'any', { offered: choices?.aggregates })}
      {text('required', 'Required traits', 'HW_CPU_X86_AVX2', { offered: choices?.traits })}
      {text('forbidden', 'Forbidden traits', 'CUSTOM_OLD', { offered: choices?.traits })}
      {text('preferred', 'Preferred traits', 'CUSTOM_FAST', { offered: choices?.traits })}
      {text('extra', 'Extra specs', 'hw:numa_nodes=2')}
      {text('project', 'Project', 'none', { help: 'Its quota and aggregates count.', offered: choices?.projects })}
      {text('group', 'Server group', 'none', { help: 'A stored server group of the project.' })}
      {text('host', 'Why not this host?', 'host-7', { offered: hosts })}
      <label class="check">
        <input
          type="checkbox"
          checked={query.get('preempt') === 'yes'}
          onChange={(change) =>
            setQuery({
              preempt: change.currentTarget.checked ? 'yes' : undefined,
              priority: change.currentTarget.checked ? '100' : undefined,
            })
          }
        />
        May replace instances of a lower priority
      </label>
    </form>
  );
}

/** Names of hosts that match what is typed. */
function useHostNames(typed: string): readonly string[] {
  const [names, setNames] = useState<readonly string[]>([]);
  useEffect(() => {
    if (typed === '') return setNames([]);
    const abort = new AbortController();
    read<readonly Found[]>(`/api/search?q=${encodeURIComponent(typed)}`, abort.signal).then(
      (found) => setNames(found.filter(({ kind }) => kind === 'host').map(({ id }) => id)),
      () => {},
    );
    return () => abort.abort();
  }, [typed]);
  return names;
}
