/* The public interface of rehearsals. */

export { domainsOf, findHosts, type WantedHosts } from './fork/find-hosts';
export { decodeSnapshot, encodeSnapshot, type FleetSnapshot, takeSnapshot } from './fork/fleet-snapshot';
export type { ForkOptions } from './fork/fork-fleet';
export { type Durations, durationsOf } from './hosts/durations';
export type { Operation } from './operations/operation';
export type { Traffic } from './operations/traffic';
export { type Condition, holds, parseCondition } from './outcome/condition';
export { SHOWN } from './outcome/measure-use';
export type { FleetUse, Outcome } from './outcome/outcome';
export { type Distribution, METRICS, type Metric, type Summary, summarize } from './outcome/summarize';
export { decodeCertificate, encodeCertificate } from './refusal/certificate-file';
export { CERTIFICATE_FORMAT, verifyRefusal } from './refusal/verify-refusal';
export { KILL_KINDS, type KillKind, type RehearsalOptions } from './run/options';
export { rehearse } from './run/rehearse';
export type { RehearsalWork } from './run/worker';
