import type { InventoryRow, ProviderRow } from '../../api/host';
import { link } from '../state/router';
import { amount, className, number } from '../ui/format';

/** A host's providers as a tree, each with bars of its inventories. */
export function ProviderTree({ host, providers }: { host: string; providers: readonly ProviderRow[] }) {
  return (
    <ul class="providers">
      {providers.map((provider) => (
        <li key={provider.uuid} style={{ marginLeft: `${provider.depth * 18}px` }}>
          <h3>
            {provider.depth > 0 && <span aria-hidden="true">└ </span>}
            {provider.name} <code class="faint">{provider.uuid.slice(0, 8)}</code>
          </h3>
          {provider.inventories.length > 0 && (
            <div class="scroll" tabIndex={0}>
              <table class="inventories">
                <thead>
                  <tr>
                    <th scope="col">Class</th>
                    <th scope="col">Allocated</th>
                    <th scope="col" class="num">
                      of capacity
                    </th>
                    <th scope="col" class="num">
                      External
                    </th>
                    <th scope="col" class="num">
                      Reserved
                    </th>
                    <th scope="col" class="num">
                      Ratio
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {provider.inventories.map((row) => (
                    <Inventory key={row.resourceClass} row={row} href={link('/instances', { host })} />
                  ))}
                </tbody>
              </table>
            </div>
          )}
          <Traits provider={provider} />
        </li>
      ))}
    </ul>
  );
}

/** Shares of the whole: allocated, external usage, reserved. */
function Inventory({ row, href }: { row: InventoryRow; href: string }) {
  const { resourceClass, used, capacity, total, reserved, external, allocationRatio } = row;
  const say = (value: number) => amount(resourceClass, value);
  const whole = Math.max(total * allocationRatio, used + (reserved + external) * allocationRatio, 1e-9);
  return (
    <tr>
      <th scope="row">{className(resourceClass)}</th>
      <td>
        <span class="split-bar" aria-hidden="true" title={`${say(used)} allocated, ${say(capacity - used)} free`}>
          <span class={used > capacity ? 'over' : 'used'} style={{ width: `${(used / whole) * 100}%` }} />
          <span class="external" style={{ width: `${((external * allocationRatio) / whole) * 100}%` }} />
          <span class="free" />
          <span class="reserved" style={{ width: `${((reserved * allocationRatio) / whole) * 100}%` }} />
        </span>
      </td>
      <td class="num">
        <a href={href}>{say(used)}</a> <span class="faint">/ {say(capacity)}</span>
      </td>
      <td class="num">{external === 0 ? <span class="faint">–</span> : say(external)}</td>
      <td class="num">{reserved === 0 ? <span class="faint">–</span> : say(reserved)}</td>
      <td class="num">{number(allocationRatio)}</td>
    </tr>
  );
}

const SHOWN = 12;

function Traits({ provider: { agentTraits, otherTraits } }: { provider: ProviderRow }) {
  return (
    <>
      <TraitsOf who="reported by its agent" traits={agentTraits} />
      <TraitsOf who="written by operators" traits={otherTraits} />
    </>
  );
}

/** Standard traits describe the hardware and the hypervisor; custom ones are the site's own. */
function TraitsOf({ who, traits }: { who: string; traits: readonly string[] }) {
  if (traits.length === 0) return null;
  const custom = traits.filter((trait) => trait.startsWith('CUSTOM_'));
  const standard = traits.filter((trait) => !trait.startsWith('CUSTOM_'));
  const list = (names: readonly string[]) => names.map((trait) => <code key={trait}>{trait}</code>);
  return (
    <div class="traits">
      <span class="faint">Traits {who}</span>
      {list(custom)}
      {list(standard.slice(0, SHOWN))}
      {standard.length > SHOWN && (
        <details>
          <summary>{standard.length - SHOWN} more traits</summary>
          {list(standard.slice(SHOWN))}
        </details>
      )}
    </div>
  );
}
