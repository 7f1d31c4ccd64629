import { InvalidArgumentError } from '@commander-js/extra-typings';
import { invalidArgument } from '#libs/domain/errors';
import { schedulerOptions } from '../../../scheduler/options';
import type { Context } from '../../context';
import { readSettings } from '../../settings';

/** The folder of a record: `--record-folder`. */
export const RECORD_TABLES = { record: { recordFolder: schedulerOptions.recordFolder } } as const;
export const RECORD_SETTINGS = { ownPrefix: 'BERTH_SCHEDULER_', tables: RECORD_TABLES } as const;

/** @throws BerthError `invalid_argument / no_record_folder` */
export function recordFolderOf(context: Context, command: Parameters<typeof readSettings>[1]): string {
  const { recordFolder } = readSettings(RECORD_SETTINGS, command, context.env).record;
  if (recordFolder !== '') return recordFolder;
  throw invalidArgument(
    'no_record_folder',
    'name the folder of the record: --record-folder, or BERTH_SCHEDULER_RECORD_FOLDER, with which schedulers write one',
  );
}

/** A time, in milliseconds: `2026-11-28T12:00:00Z`. */
export function time(text: string): number {
  const atMs = Date.parse(text);
  if (/^\d{4}-\d{2}-\d{2}/.test(text) && !Number.isNaN(atMs)) return atMs;
  throw new InvalidArgumentError('It must be a time, as 2026-11-28T12:00:00Z.');
}

/** A time, or a revision of the store. */
export function moment(text: string): { readonly atMs: number } | { readonly revision: number } {
  return /^\d{5,}$/.test(text) ? { revision: Number(text) } : { atMs: time(text) };
}
