import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import type { Client } from '#libs/client/client';
import type { DoubtView } from '#libs/contracts/doubts';
import type { OverAllocated } from '#libs/contracts/hosts';
import type { InstanceView } from '#libs/contracts/instance';
import type { ProjectQuotaView } from '#libs/contracts/quotas';
import type { Resources } from '#libs/domain/inventory';
import { exceededBy, type QuotaState } from '#libs/domain/quotas/quota';
import { type Answer, answerCommand, showAnswer } from '../answers/answer';
import { useClient } from '../client/with-client';
import type { Context } from '../context';
import { addHelp } from '../help-text';
import { ageOf } from '../views/format';
import { table } from '../views/table';
import type { Terminal } from '../views/terminal';

/** A finding that an operator may settle: its age, its source, and the remedies. */
export interface AuditLine extends DoubtView {
  /** Commands that settle it; empty when it settles by itself. */
  readonly remedies: readonly string[];
}

/** `berth audit` */
export function auditCommand(context: Context): CommandUnknownOpts {
  const { clock } = context;
  const command = answerCommand('audit');
  const read = async (client: Client): Promise<Answer> => {
    const { lines, storeBornAtMs, storeJumpsAtMs } = await auditLines(client);
    const rowOf = ({ columns }: Terminal, { instanceUuid: uuid, ...one }: AuditLine) => [
      one.finding,
      uuid === '' ? '-' : { uuid },
      one.host || '-',
      one.sinceMs === 0 ? '-' : ageOf(clock, one.sinceMs),
      one.message,
      // Commands take the beginning of a UUID, which fits a terminal.
      one.remedies.map((line) => (columns ? line.replace(uuid, uuid.slice(0, 8)) : line)).join('\n') ||
        'nothing: settles by itself',
    ];
    const head = ['DOUBT', 'INSTANCE', 'HOST', 'SINCE', 'EVIDENCE', 'REMEDIES'];
    const born = storeBornAtMs === 0 ? 'is empty' : `was created ${ageOf(clock, storeBornAtMs)} ago`;
    const jumps = storeJumpsAtMs.map(
      (atMs) => `; another server took over ${ageOf(clock, atMs)} ago, perhaps without the last writes`,
    );
    return {
      plain: { doubts: lines, storeBornAtMs, storeJumpsAtMs },
      names: [...new Set(lines.map(({ instanceUuid, host }) => instanceUuid || host))],
      draw(terminal) {
        terminal.print(
          lines.length === 0
            ? 'nothing is in doubt'
            : table(
                terminal,
                head,
                lines.map((line) => rowOf(terminal, line)),
              ),
        );
        terminal.note(`the store ${born}${jumps.join('')}`);
      },
    };
  };
  useClient(context, command, (client, flags) => showAnswer(context, flags, () => read(client)));
  return addHelp(command, [
    ['berth audit', 'what Berth leaves alone, because the evidence is missing'],
    ['berth audit --json', 'for a program'],
  ]);
}

type AuditClient = Pick<Client, 'doubts' | 'instances' | 'overAllocated' | 'quotas' | 'defaultLimits'>;

/** All that operators may settle, and when the store was born or lost writes. */
export async function auditLines(client: AuditClient) {
  const [{ doubts, storeBornAtMs, storeJumpsAtMs }, silent, overAllocated, quotas, defaults] = await Promise.all([
    client.doubts(),
    client.instances({ state: 'unknown' }, MOST_SILENT),
    client.overAllocated(),
    client.quotas(),
    client.defaultLimits(),
  ]);
  const above = [...overAllocated.map(aboveCapacity), ...aboveQuota(quotas, defaults)];
  return { lines: [...doubts, ...silent.map(onSilentHost), ...above].map(withRemedies), storeBornAtMs, storeJumpsAtMs };
}

const MOST_SILENT = 1_000;

function onSilentHost({ uuid: instanceUuid, host, updatedAtMs }: InstanceView): DoubtView {
  const message = 'its host is silent: it was ACTIVE there';
  return { instanceUuid, host, finding: 'host_silent', message, sinceMs: updatedAtMs, seenAtMs: updatedAtMs };
}

/** Without an age: capacities are read at their present values. */
function aboveCapacity({ host, providerName, resourceClass, used, capacity }: OverAllocated): DoubtView {
  const message = `provider ${providerName} has ${used} ${resourceClass} allocated of ${capacity}`;
  return { instanceUuid: '', host, finding: 'above_capacity', message, sinceMs: 0, seenAtMs: 0 };
}

/** Holdings above a project's quota: claimed again by a repair, or left by a lowered limit. */
function aboveQuota(quotas: readonly ProjectQuotaView[], defaults: Resources): DoubtView[] {
  const byProject = new Map(quotas.map((one) => [one.projectId, { ...one, cohort: one.cohort || undefined }]));
  const state: QuotaState = {
    quota: (project) => byProject.get(project),
    defaultQuota: () => ({ limits: defaults, cohort: undefined, borrowLimits: {} }),
    usage: (project) => byProject.get(project)?.used ?? {},
    members: (cohort) => quotas.filter((one) => one.cohort === cohort).map(({ projectId }) => projectId),
  };
  return quotas.flatMap(({ projectId }) =>
    exceededBy(projectId, state).map(({ scope, name, resourceClass, used, limit }) => {
      const message = `${scope} ${name} holds ${used} ${resourceClass} of ${limit}`;
      return { instanceUuid: '', host: '', finding: 'above_quota', message, sinceMs: 0, seenAtMs: 0 };
    }),
  );
}

function withRemedies(doubt: DoubtView): AuditLine {
  return { ...doubt, remedies: remediesOf(doubt) };
}

function remediesOf({ finding, instanceUuid: uuid, host }: DoubtView): readonly string[] {
  switch (finding) {
    case 'unknown_instance':
      return [`berth instance adopt ${uuid} --host ${host}`, `berth instance destroy ${uuid} --host ${host}`];
    case 'stray':
      return [`berth instance destroy ${uuid} --host ${host}`, `berth terminate ${uuid}`];
    case 'claim_missing':
    case 'claim_elsewhere':
    case 'claim_refused':
    case 'host_silent':
    case 'journal_unreadable':
      return [`berth terminate ${uuid}`];
    case 'group_broken':
      return [`berth instance migrate ${uuid}`];
    case 'above_capacity':
      return [`berth host disable ${host}`, 'berth terminate one of its instances'].slice(host === '' ? 1 : 0);
    case 'above_quota':
      return ['raise its limit (berth quota set)', 'berth terminate one of its instances'];
    case 'unheard': {
      const remedy = `if ${host} is dead: berth host delete ${host}`;
      return uuid === '' ? [remedy] : [`if ${host} is dead: berth instance evacuate ${uuid}`, remedy];
    }
    case 'host_refused':
      return ['end the other agent of this name, or mend what its report says'];
    default:
      return [];
  }
}
