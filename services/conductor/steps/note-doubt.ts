import { hostDiscrepancyCodec } from '#libs/contracts/compute';
import type { RunningInstance } from '#libs/contracts/stats';
import type { FoundDoubt } from '#libs/instances/doubts';
import type { ConductorContext } from '../context';
import type { ReconcileInput, RunningAt } from '../observation';
import type { Doubt } from '../step';

/** Doubts kept for operators: those of `reconcile`, and others that only operators can settle. */
export type DoubtFinding =
  | Doubt
  /** A report of its host does not have it; the next settles it. */
  | 'missing'
  /** A store has lost writes, and a host has not said since what runs there. */
  | 'unheard'
  /** It was terminated, and its host, which was silent or gone, did not say that it is destroyed. */
  | 'destroy_owed'
  /** It is where the hard policy of its group does not let it be. */
  | 'group_broken'
  /** A second agent asks for a host that is held, or the reports of a host are refused. */
  | 'host_refused'
  /** Its host's journal of it can't be read. */
  | 'journal_unreadable';

/**
 * Keeps a doubt where operators see it (`berth audit`), counts it and logs it. An observation of what runs is kept with it:
 * it is what an operator may vouch for.
 */
export async function noteDoubt(
  c: ConductorContext,
  look: ReconcileInput,
  finding: DoubtFinding,
  reason = '',
): Promise<void> {
  const { uuid: instanceUuid, record, observed } = look;
  const host = ('host' in observed ? observed.host : record?.host) ?? '';
  const fields = { event: 'doubt', finding, instance_uuid: instanceUuid, host, state: record?.state, reason };
  c.log.warn(fields, 'instance in doubt, kept as it is');
  const message = `${saidBy(look)}${wanted(look)}${reason === '' ? '' : `: ${reason}`}`;
  const evidence = observed.kind === 'running' ? evidenceOf(observed) : NO_EVIDENCE;
  const source = observed.kind === 'running' ? observed.reporter : undefined;
  await keepDoubt(c, finding, { instanceUuid, host, source, message, evidence });
}

/** Keeps what is found now where operators see it, and counts it. */
export async function keepDoubt(
  c: ConductorContext,
  finding: DoubtFinding,
  said: Pick<FoundDoubt, 'instanceUuid' | 'host' | 'source' | 'message'> & { readonly evidence?: Uint8Array },
): Promise<void> {
  c.measured.doubts.inc({ finding });
  const isNoted = await c.instances.noteDoubt({ evidence: NO_EVIDENCE, ...said, finding, seenAtMs: c.clock.now() });
  if (isNoted) return;
  c.measured.doubtsDropped.inc({ finding });
  const fields = { event: 'doubt_dropped', finding, instance_uuid: said.instanceUuid, host: said.host };
  c.log.warn(fields, 'too many doubts of this host or kind: not listed by berth audit');
}

const NO_EVIDENCE = new Uint8Array();

function saidBy({ observed }: ReconcileInput): string {
  switch (observed.kind) {
    case 'running':
      return `the agent of ${observed.host} says that it runs there (${described(observed.instance)}); `;
    case 'missing':
      return `report ${observed.sequence} of ${observed.host} does not have it; `;
    case 'audited':
      return 'the audit finds: ';
    default:
      return '';
  }
}

function described({ name, projectId, resources, attempt }: RunningInstance): string {
  const amounts = Object.entries(resources).map(([resourceClass, amount]) => `${resourceClass} ${amount}`);
  return `'${name}' of project '${projectId}', attempt ${attempt}, ${amounts.join(', ')}`;
}

function wanted({ record }: ReconcileInput): string {
  if (record === undefined) return 'it has no record';
  return `its record is ${record.state}${record.host === undefined ? '' : ` on ${record.host}`}`;
}

function evidenceOf({ host, providerUuid, at, isClaimed, instance }: RunningAt): Uint8Array {
  const found = isClaimed ? { unclaimed: [], present: [instance] } : { unclaimed: [instance], present: [] };
  const report = { serviceHost: host, sequence: 0, atMs: 0, missing: [], ...at };
  return hostDiscrepancyCodec.encode({ host, providerUuid, ...report, ...found });
}
