import type { Instance, InstanceState } from '../../domain/instance';

/**
 * An instance as one text: a line "version state host updated_at_ms" that scripts read, then JSON that only Berth reads.
 * The form of it is known here and in `lua/include/record.lua`.
 */
export function toRecord(instance: Instance): string {
  const { uuid, version, state, host, updatedAtMs, requestSpec, alternates, ...rest } = instance;
  const body = { uuid, ...rest, requestSpec: toBase64(requestSpec), alternates: toBase64(alternates) };
  return `${version} ${state} ${host ?? NO_HOST} ${updatedAtMs}\n${JSON.stringify(body)}`;
}

/** A record as the instance that it was; what JSON leaves out because it is undefined is undefined again. */
export function fromRecord(record: string): Instance {
  const endOfHead = record.indexOf('\n');
  const [version, state, host, updatedAtMs] = record.slice(0, endOfHead).split(' ');
  const body = JSON.parse(record.slice(endOfHead + 1)) as Body;
  return {
    uuid: body.uuid,
    requestId: body.requestId,
    name: body.name,
    projectId: body.projectId,
    userId: body.userId,
    state: state as InstanceState,
    host: host === NO_HOST ? undefined : host,
    claimRevision: body.claimRevision,
    attempts: body.attempts.map((attempt) => ({ ...attempt, endedAtMs: attempt.endedAtMs })),
    fault: body.fault,
    requestSpec: fromBase64(body.requestSpec),
    alternates: fromBase64(body.alternates),
    dueAtMs: body.dueAtMs,
    version: Number(version),
    createdAtMs: body.createdAtMs,
    updatedAtMs: Number(updatedAtMs),
  };
}

/** Not a host name: those start with a letter or a digit. */
const NO_HOST = '-';

type Body = Omit<Instance, 'version' | 'state' | 'host' | 'updatedAtMs' | 'requestSpec' | 'alternates'> & {
  readonly requestSpec: string;
  readonly alternates: string;
};

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

function fromBase64(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'base64'));
}
