import type { Instance, InstanceState } from '../../domain/instance';

/**
 * An instance as one text: a line of words that scripts read ("version state host updated_at_ms due_at_ms", then the bytes
 * in base64, or a word that refers to the spec), then JSON that only Berth reads. Only this file and `lua/include/record.lua` know the format. Field by field,
 * because every step of a build passes here, and spreading so many fields takes longer than writing them.
 *
 * @param specWord  in place of the request spec in base64: which of those beside the records it is (`SharedSpecs`)
 */
export function toRecord(instance: Instance, specWord = toBase64(instance.requestSpec)): string {
  const { version, state, host = NONE, updatedAtMs, dueAtMs = NONE } = instance;
  const body: Body = {
    uuid: instance.uuid,
    requestId: instance.requestId,
    name: instance.name,
    projectId: instance.projectId,
    userId: instance.userId,
    claimToken: instance.claimToken,
    attempts: instance.attempts,
    fault: instance.fault,
    createdAtMs: instance.createdAtMs,
    activeAt: instance.activeAt,
    missingIn: instance.missingIn,
    gang: instance.gang,
    admission: instance.admission,
    waiting: instance.waiting,
    endsAtMs: instance.endsAtMs,
    formerState: instance.formerState,
    lastCall: instance.lastCall,
    migration: instance.migration,
    cell: instance.cell,
  };
  const { alternates, allocationRequest } = instance;
  const bytes = `${specWord} ${toBase64(alternates)} ${toBase64(allocationRequest)}`;
  return `${version} ${state} ${host} ${updatedAtMs} ${dueAtMs} ${bytes}\n${JSON.stringify(body)}`;
}

/** First character of a reference to a spec stored beside the records; base64 has none such. */
export const REFERS = '=';
const NO_BYTES = new Uint8Array();

/** The instance of a record, without the spec that it only refers to. Fields that JSON left out, or an older version did not know, are undefined or empty. */
export function fromRecord(record: string): Instance {
  const endOfHead = record.indexOf('\n');
  const [version, state, host, updatedAtMs, dueAtMs, requestSpec = '', alternates = '', request = ''] = record
    .slice(0, endOfHead)
    .split(' ');
  const body = JSON.parse(record.slice(endOfHead + 1)) as Body;
  return {
    uuid: body.uuid,
    requestId: body.requestId,
    name: body.name,
    projectId: body.projectId,
    userId: body.userId,
    state: state as InstanceState,
    host: host === NONE ? undefined : host,
    claimToken: body.claimToken,
    attempts: body.attempts.map((attempt) => ({ ...attempt, endedAtMs: attempt.endedAtMs })),
    fault: body.fault,
    requestSpec: requestSpec.startsWith(REFERS) ? NO_BYTES : fromBase64(requestSpec),
    alternates: fromBase64(alternates),
    allocationRequest: fromBase64(request),
    activeAt: body.activeAt,
    missingIn: body.missingIn,
    ...(body.gang && { gang: body.gang }),
    admission: body.admission,
    waiting: body.waiting,
    endsAtMs: body.endsAtMs,
    formerState: body.formerState,
    ...(body.lastCall ? { lastCall: body.lastCall } : {}),
    ...(body.migration ? { migration: body.migration } : {}),
    ...(body.cell ? { cell: body.cell } : {}),
    dueAtMs: dueAtMs === NONE ? undefined : Number(dueAtMs),
    version: Number(version),
    createdAtMs: body.createdAtMs,
    updatedAtMs: Number(updatedAtMs),
  } as Instance;
}

/** A record's request spec: base64, or its reference. */
export function specWordOf(record: string): string {
  return record.slice(0, record.indexOf('\n')).split(' ', 6)[5] ?? '';
}

/** The versions in the outbox of one instance, oldest first: records without the bytes in their first line. */
export function fromEvents(events: string): Instance[] {
  const lines = events.split('\n');
  return Array.from({ length: lines.length / 2 }, (_, n) => fromRecord(`${lines[2 * n]}\n${lines[2 * n + 1]}`));
}

/** Neither a host name (those start with a letter or a digit) nor a time. */
const NONE = '-';

type Body = Omit<
  Instance,
  'version' | 'state' | 'host' | 'updatedAtMs' | 'dueAtMs' | 'requestSpec' | 'alternates' | 'allocationRequest'
>;

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

function fromBase64(text: string): Uint8Array {
  const { buffer, byteOffset, length } = Buffer.from(text, 'base64');
  return new Uint8Array(buffer, byteOffset, length);
}
