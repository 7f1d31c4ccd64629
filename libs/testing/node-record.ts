import type { NodeRecord } from '../domain/nodes/node';

/** A node that is off and available; `fields` override the defaults. */
export function aNodeRecord(fields: Partial<NodeRecord> = {}): NodeRecord {
  return {
    host: 'n1',
    pool: 'metal',
    resourceClass: 'CUSTOM_BAREMETAL_GOLD',
    traits: [],
    state: 'available',
    stateBefore: undefined,
    reason: '',
    isOn: false,
    bootDevice: 'Hdd',
    instanceUuid: '',
    step: '',
    updatedAtMs: 0,
    lastOrder: undefined,
    journal: '',
    systemId: '',
    health: '',
    contactedAtMs: 0,
    tellsBoot: false,
    systemLink: '',
    ...fields,
  };
}
