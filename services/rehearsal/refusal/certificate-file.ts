import { requestSpecCodec } from '#libs/contracts/request-spec';
import { invalidArgument } from '#libs/domain/errors';
import type { RequestSpec } from '#libs/domain/request-spec';
import { CERTIFICATE_FORMAT, type Refusal, type RefusalCertificate } from './verify-refusal';

/** A certificate as text, for people to read too. */
export function encodeCertificate(certificate: RefusalCertificate): string {
  return `${JSON.stringify(certificate, undefined, 2)}\n`;
}

/** @throws BerthError `invalid_argument / bad_certificate` for what `encodeCertificate` did not make. */
export function decodeCertificate(text: string): RefusalCertificate {
  try {
    const { format, madeAtMs, request, refusals } = JSON.parse(text) as Partial<RefusalCertificate>;
    const isWhole =
      format === CERTIFICATE_FORMAT &&
      typeof madeAtMs === 'number' &&
      Array.isArray(refusals) &&
      refusals.every((one) => isRefusal(one as Partial<Refusal> | null));
    if (!isWhole) throw new Error(`it is not of the format ${CERTIFICATE_FORMAT}`);
    // The codec checks each field of the request.
    const checked = requestSpecCodec.decode(requestSpecCodec.encode(request as RequestSpec));
    return { format, madeAtMs, request: checked, refusals };
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    const message = `this is no certificate of a refusal: ${why}; make one with 'berth explain --certificate FILE'`;
    throw invalidArgument('bad_certificate', message);
  }
}

function isRefusal(one: Partial<Refusal> | null): one is Refusal {
  const hosts: unknown = one?.hosts;
  return (
    typeof one?.reason === 'string' &&
    typeof one.refusedAlone === 'string' &&
    Array.isArray(hosts) &&
    hosts.every((host) => typeof host === 'string')
  );
}
