import { MAX_AMOUNT } from '#libs/domain/inventory';
import { exactly, keyed, type Schema, UUID_KEY, type Versioned } from './parts';

const byUuid = keyed(UUID_KEY, { type: 'integer', minimum: 0, maximum: MAX_AMOUNT });

/** POST /berth/generations */
export const generationsBody: Versioned<Schema> = [[0, exactly({ resource_providers: byUuid, consumers: byUuid })]];
