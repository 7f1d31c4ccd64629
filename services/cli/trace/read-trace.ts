import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { parse } from 'csv-parse';
import { BerthError } from '#libs/domain/errors';
import { usageError } from '../failure';

/** One VM of a trace, in whole units. */
export interface TraceVm {
  readonly vmId: string;
  readonly tenantId: string;
  readonly cores: number;
  readonly ram: number;
  readonly startDays: number;
  /** Infinity when it never ends. */
  readonly endDays: number;
}

export interface Trace {
  readonly vms: readonly TraceVm[];
  /** The factor that made cores and ram whole; host shapes need it too. */
  readonly scale: number;
}

const COLUMNS = ['vmId', 'tenantId', 'cores', 'ram', 'starttime', 'endtime'] as const;
type Row = Readonly<Record<(typeof COLUMNS)[number], string>>;

/**
 * Reads VM requests from a CSV file, gzipped when its name ends with `.gz`, with the columns of Azure's packing traces:
 * vmId, tenantId, cores, ram (any unit), starttime and endtime (days; endtime may be `inf`).
 *
 * @param limit  the number of VMs to read
 * @throws BerthError `invalid_argument / bad_trace` with the line, `not_found / no_such_file`.
 */
export async function readTrace(path: string, limit: number): Promise<Trace> {
  const vms: TraceVm[] = [];
  try {
    for await (const { record, info } of openRecords(path)) {
      vms.push(vmOf(record, info.lines));
      if (vms.length >= limit) break;
    }
  } catch (thrown) {
    throw thrown instanceof BerthError ? thrown : unreadable(path, thrown as NodeJS.ErrnoException);
  }
  if (vms.length === 0) throw badTrace(`${path} has no VMs`);
  const scale = wholeScale(vms);
  const whole = (value: number) => Math.round(value * scale);
  return { scale, vms: vms.map((vm) => ({ ...vm, cores: whole(vm.cores), ram: whole(vm.ram) })) };
}

function openRecords(path: string): AsyncIterable<{ readonly record: Row; readonly info: { readonly lines: number } }> {
  const parser = parse({ columns: checkHead, skip_empty_lines: true, trim: true, info: true });
  const unzip = path.endsWith('.gz') ? [createGunzip()] : [];
  // A failure in the pipeline destroys the parser, which gives the error to the reader of the records.
  pipeline([createReadStream(path), ...unzip, parser], () => {});
  return parser;
}

function checkHead(head: string[]): string[] {
  const missing = COLUMNS.filter((column) => !head.includes(column));
  if (missing.length > 0) throw badTrace(`the trace has no column ${missing.join(', ')}; it has ${head.join(', ')}`);
  return head;
}

function vmOf(row: Row, line: number): TraceVm {
  const startDays = numberIn(row, 'starttime', line);
  const endDays = row.endtime === 'inf' ? Number.POSITIVE_INFINITY : numberIn(row, 'endtime', line);
  const cores = numberIn(row, 'cores', line);
  const ram = numberIn(row, 'ram', line);
  if (cores <= 0 || ram <= 0) throw badTrace(`line ${line}: cores and ram must be above 0`);
  if (endDays < startDays) throw badTrace(`line ${line}: the VM ends before it starts`);
  return { vmId: row.vmId, tenantId: row.tenantId, cores, ram, startDays, endDays };
}

function numberIn(row: Row, column: keyof Row, line: number): number {
  const value = row[column] === '' ? Number.NaN : Number(row[column]);
  if (!Number.isFinite(value)) throw badTrace(`line ${line}: ${column} must be a number, not '${row[column]}'`);
  return value;
}

/** The smallest power of ten, up to 1000, that makes all amounts whole, as Berth's amounts are. */
function wholeScale(vms: readonly TraceVm[]): number {
  const isWhole = (value: number) => Math.abs(value - Math.round(value)) < 1e-9;
  return [1, 10, 100].find((scale) => vms.every((vm) => isWhole(vm.cores * scale) && isWhole(vm.ram * scale))) ?? 1000;
}

function badTrace(message: string): BerthError {
  return new BerthError('invalid_argument', 'bad_trace', message, {
    details: { hint: `a trace is a CSV file with the columns ${COLUMNS.join(', ')}` },
  });
}

function unreadable(path: string, cause: NodeJS.ErrnoException): BerthError {
  if (cause.code === 'ENOENT') return usageError(`there is no file ${path}`, 'give the path of a .csv or .csv.gz file');
  return badTrace(`${path} cannot be read: ${cause.message}`);
}
