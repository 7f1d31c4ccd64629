import { InstanceLink } from './parts';
import type { Column } from './virtual-table';

/** The column that names an instance, in lists of what is about one. */
export const INSTANCE_COLUMN: Column<{ readonly uuid: string; readonly name: string }> = {
  key: 'name',
  head: 'Instance',
  width: 'minmax(7rem, 1fr)',
  cell: ({ uuid, name }) => <InstanceLink uuid={uuid} name={name} />,
};
