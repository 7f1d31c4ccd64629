import type { ZoneVerdict } from '../../api/explain';
import { number, words } from '../ui/format';
import { State } from '../ui/parts';
import { Table, type TableColumn } from '../ui/table';

/** Zones that a group spreads over: the next member's first, with the cells to ask there. */
export function Zones({ zones }: { zones: readonly ZoneVerdict[] }) {
  return (
    <Table
      caption="Zones, first where the next member would go"
      columns={COLUMNS}
      rows={zones}
      keyOf={({ zone }) => zone}
    />
  );
}

const COLUMNS: readonly TableColumn<ZoneVerdict>[] = [
  { head: 'Zone', cell: ({ zone }) => zone },
  { head: 'Members', isNumber: true, cell: ({ members }) => number(members) },
  {
    head: 'Next',
    cell: ({ reason }) => (reason === '' ? <State state="up" label="yes" /> : <State state="down" label="no" />),
  },
  {
    head: 'Cells, or why not',
    kind: 'because',
    cell: ({ cells, reason }) => (reason === '' ? cells.join(', ') : words(reason)),
  },
];
