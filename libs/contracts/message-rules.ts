import { BerthError } from '../domain/errors';
import { type Identity, nameOf } from './identity';

/** Senders of a message: an identity's kind, except nobody. */
export type Sender = Exclude<Identity['kind'], 'nobody'>;

/** A rule of a message, judged before a byte of it is decoded, and how much decoding may make of it. */
export interface MessageRule {
  /** The largest body from each sender; who is not named may not send it. */
  readonly maxBytes: Readonly<Partial<Record<Sender, number>>>;
  /** Embedded messages and entries of maps in it, at all depths together (`bounded-reader.ts`). */
  readonly maxParts: number;
}

export const KIB = 1_024;
/** The largest body of all, as `BERTH_BUS_MAX_MESSAGE_BYTES` and the broker's `max_message_size` are set unless told otherwise. */
export const WHOLE = 4_096 * KIB;

export const ofServices = (maxParts: number): MessageRule => ({ maxBytes: { service: WHOLE }, maxParts });
export const ofTenants = (bytes: number, maxParts: number): MessageRule => ({
  maxBytes: { project: bytes, service: WHOLE },
  maxParts,
});
export const ofAgents = (bytes: number, maxParts: number): MessageRule => ({
  maxBytes: { agent: bytes, service: WHOLE },
  maxParts,
});

/** The largest of agents and tenants whose type has no rule: it is read to be refused. */
const UNKNOWN = 64 * KIB;

/** A question with a handful of fields. */
export const FEW = 100;
/** A request spec, or lists of names. */
export const MANY = 20_000;
/** Parts of a message that has no rule: an answer or a record, which services wrote. */
export const MOST = 200_000;

const RULES = new Map<string, MessageRule>();

/** The rules of all messages that this process knows, as their statements (`message()`) say them. */
export const MESSAGE_RULES: ReadonlyMap<string, MessageRule> = RULES;

/** Enters the rule of a message, as its statement says it. */
export function ruleMessage(type: string, rule: MessageRule): void {
  RULES.set(type, rule);
}

/** Bound of the parts that decoding makes of a message at most. */
export function maxPartsOf(type: string): number {
  return MESSAGE_RULES.get(type)?.maxParts ?? MOST;
}

/**
 * Why a message is not worked on, by who sent it and its size; undefined when it may be. A type without a rule has no handler: it is
 * answered `unknown_type`, undecoded.
 *
 * @param maxBytes  of any message, as the process is set
 */
export function refusalOfMessage(
  type: string,
  sender: Identity,
  bytes: number,
  maxBytes: number,
): BerthError | undefined {
  const rule = MESSAGE_RULES.get(type);
  const allowed = rule && (sender.kind === 'nobody' ? undefined : rule.maxBytes[sender.kind]);
  if (rule && allowed === undefined) return mayNotSend(type, sender, rule);
  const isStrange = rule === undefined && sender.kind !== 'service';
  const limit = isStrange
    ? UNKNOWN
    : Math.min(allowed === undefined || allowed === WHOLE ? maxBytes : allowed, maxBytes);
  return bytes > limit ? tooLarge(type, sender, bytes, limit) : undefined;
}

function mayNotSend(type: string, sender: Identity, { maxBytes }: MessageRule): BerthError {
  const isForServices = maxBytes.project === undefined && maxBytes.agent === undefined;
  const reason = isForServices ? 'services_only' : maxBytes.project === undefined ? 'wrong_host' : 'wrong_project';
  const message = `${nameOf(sender)} may not send ${type}`;
  return new BerthError('permission_denied', reason, message, { details: { field: 'type' } });
}

function tooLarge(type: string, sender: Identity, bytes: number, limit: number): BerthError {
  const message = `a ${type} of ${bytes} bytes is above the limit of ${limit} for ${nameOf(sender)}; send less`;
  return new BerthError('invalid_argument', 'message_too_large', message, {
    details: { field: 'body', bytes: String(bytes), limit: String(limit) },
  });
}
