import type { Tables } from '#libs/placement/commands/tables';
import type { StoreImage } from '#libs/placement/port/placement-store';

/** The rows of a table of an image, by key. */
export function rowsOf<T extends keyof Tables>({ tables }: StoreImage, table: T): ReadonlyMap<string, Tables[T]> {
  return new Map((tables[table] ?? []).map(([key, , row]) => [key, row as Tables[T]]));
}
