import type { Choices } from '../../api/instances';
import { link } from '../state/router';

/** Requests to begin with, made of what the fleet has. */
export function Examples({ choices }: { choices: Choices | undefined }) {
  const [small] = choices?.flavors ?? [];
  const large = choices?.flavors.at(-1);
  const [zone] = choices?.zones ?? [];
  const examples = [
    ...(small ? [[`One ${small.name}`, { flavor: small.name }] as const] : []),
    ...(large && large !== small && zone
      ? [[`One ${large.name} in ${zone}`, { flavor: large.name, zone }] as const]
      : []),
    ['2 VCPU and 4 GiB', { resources: 'VCPU:2,MEMORY_MB:4096' }],
    ['8 VCPU with AVX-512', { resources: 'VCPU:8', required: 'HW_CPU_X86_AVX512F' }],
    ['More VCPU than any host has', { resources: 'VCPU:100000' }],
  ] as const;
  return (
    <div class="empty">
      <p>Choose a flavor or enter resources, or begin with an example:</p>
      <ul class="plain">
        {examples.map(([label, query]) => (
          <li key={label}>
            <a href={link('/explain', query)}>{label}</a>
          </li>
        ))}
      </ul>
      <p>
        <a href="/instances?state=pending">Pending instances</a> and <a href="/instances?state=error">failed ones</a>{' '}
        link to the explanation of their requests.
      </p>
    </div>
  );
}
