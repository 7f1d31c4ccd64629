import type { LRUCache } from 'lru-cache';
import { lru } from '#libs/runtime/lru';

/** Time of the last order for a client's message, by instance and version of its record. */
export type OrderedFor = LRUCache<string, number>;

const MAX_COUNT = 100_000;

export const orderedFor = (): OrderedFor => lru(MAX_COUNT);
