import type { ZoneVerdict } from '../../api/explain';
import { number, words } from '../ui/format';
import { State } from '../ui/parts';

/** Zones that a group spreads over: the next member's first, with the cells to ask there. */
export function Zones({ zones }: { zones: readonly ZoneVerdict[] }) {
  return (
    <table class="simple">
      <caption class="visually-hidden">Zones, first where the next member would go</caption>
      <thead>
        <tr>
          <th scope="col">Zone</th>
          <th scope="col" class="num">
            Members
          </th>
          <th scope="col">Next</th>
          <th scope="col">Cells, or why not</th>
        </tr>
      </thead>
      <tbody>
        {zones.map(({ zone, members, cells, reason }) => (
          <tr key={zone}>
            <td>{zone}</td>
            <td class="num">{number(members)}</td>
            <td>{reason === '' ? <State state="up" label="yes" /> : <State state="down" label="no" />}</td>
            <td class="because">{reason === '' ? cells.join(', ') : words(reason)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
