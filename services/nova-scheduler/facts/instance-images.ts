import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { ReadDatabase } from './mysql';

/** Rows of transactions that committed out of order are found by reading so many again. */
const OVERLAP = 1_000;
/** All rows are read so often, which forgets deleted instances and finds those that were rebuilt. */
const WHOLE_READ_MS = 600_000;
const PAGE = 5_000;
/** Twenty properties of each of 100,000 instances. */
const MAX_PAGES = 400;
const PREFIX = 'image_';

/** Properties of an instance's image by name, as Nova's database writes them. */
export type ImageProperties = ReadonlyMap<string, string>;

/** Image properties of a cell's instances. Of later reads only what is new is read. */
export class InstanceImages {
  #byInstance = new Map<string, Map<string, string>>();
  #lastId = 0;
  #wholeAtMs: number | undefined;

  constructor(
    private readonly database: ReadDatabase,
    private readonly clock: Pick<Clock, 'elapsed'>,
  ) {}

  /** By the instance's uuid. */
  async read(): Promise<ReadonlyMap<string, ImageProperties>> {
    const atMs = this.clock.elapsed();
    const isWhole = this.#wholeAtMs === undefined || atMs - this.#wholeAtMs > WHOLE_READ_MS;
    const byInstance = isWhole ? new Map<string, Map<string, string>>() : this.#byInstance;
    const lastId = await this.#readInto(byInstance, isWhole ? 0 : Math.max(0, this.#lastId - OVERLAP));
    this.#lastId = Math.max(lastId, isWhole ? 0 : this.#lastId);
    this.#byInstance = byInstance;
    if (isWhole) this.#wholeAtMs = atMs;
    return byInstance;
  }

  /** The id of the last row. */
  async #readInto(byInstance: Map<string, Map<string, string>>, after: number): Promise<number> {
    const sql = `select m.id, m.instance_uuid, m.\`key\` as name, m.value from instance_system_metadata m
      join instances i on i.uuid = m.instance_uuid and i.deleted = 0
      where m.deleted = 0 and m.id > ? and m.\`key\` like 'image\\_%' order by m.id limit ${PAGE}`;
    let last = after;
    for (let page = 0; page < MAX_PAGES; page++) {
      const rows = await this.database.rows(sql, [last]);
      for (const row of rows) {
        if (typeof row['value'] !== 'string') continue;
        const uuid = String(row['instance_uuid']);
        const properties = byInstance.get(uuid) ?? new Map<string, string>();
        byInstance.set(uuid, properties);
        const name = String(row['name']).slice(PREFIX.length);
        properties.set(LEGACY_NAMES[name] ?? name, row['value']);
      }
      last = Number(rows.at(-1)?.['id'] ?? last);
      if (rows.length < PAGE) return last;
    }
    throw new BerthError(
      'resource_exhausted',
      'too_many_images',
      `a cell has more than ${MAX_PAGES * PAGE} properties`,
    );
  }
}

/** Names of image properties that Nova still reads, and their names of today. */
const LEGACY_NAMES: Readonly<Record<string, string>> = {
  architecture: 'hw_architecture',
  auto_disk_config: 'hw_auto_disk_config',
  hypervisor_type: 'img_hv_type',
  hypervisor_version_requires: 'img_hv_requested_version',
  ipxe_boot: 'hw_ipxe_boot',
  owner_id: 'img_owner_id',
  root_device_name: 'img_root_device_name',
  vm_mode: 'hw_vm_mode',
  vmware_disktype: 'hw_disk_type',
  vmware_ostype: 'os_distro',
};
