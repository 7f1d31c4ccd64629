import { type Decision, decisionCodec } from '#libs/contracts/diagnosis';
import { agreementOf, readShadowReport } from '#libs/contracts/read-shadow-report';
import type { ShadowReport } from '#libs/contracts/shadow-report';
import { BerthError } from '#libs/domain/errors';
import { isUuid } from '#libs/domain/names';
import { fetchJson } from '#libs/runtime/fetch-json';
import type { NovaDecisionRow, NovaDecisionView, NovaPage, ShadowView } from '../api/nova';
import { type Live, NOVA_SCHEDULER } from '../live/live';
import { refusalsOf, verdictOf } from './explain';
import { readProcesses } from './health-page';

/** Kept decisions that are looked at, of Nova and of others. */
const MOST_READ = 500;
const MOST_SHOWN = 100;
const MOST_DIFFERENCES = 50;
const SHADOW_TIMEOUT_MS = 2_000;

/** Reads what the page of Nova shows. @param request  an id of Nova's, or '' */
export async function readNovaPage(live: Live, request: string): Promise<NovaPage> {
  const [processes, shadow, recent, asked] = await Promise.all([
    readProcesses(live),
    readShadow(live),
    live.parts.placement.recentDecisions(MOST_READ),
    novaDecision(live, request).catch(() => undefined),
  ]);
  const schedulers = processes.filter(({ service }) => service === NOVA_SCHEDULER);
  const decisions = recent.map((content) => decisionCodec.decode(content)).filter(({ forNova }) => forNova);
  return {
    schedulers: { seen: schedulers.length, ready: schedulers.filter(({ state }) => state === 'ready').length },
    shadow,
    decisions: decisions.slice(0, MOST_SHOWN).map(rowOf),
    asked: asked && viewOf(asked),
  };
}

/** The kept decision of Nova for a request by its id, or for an instance; undefined without one. */
export async function novaDecision({ parts: { placement } }: Live, text: string): Promise<Decision | undefined> {
  const uuid = text.trim().toLowerCase().replace(/^req-/, '');
  const content = isUuid(uuid) ? await placement.decision(uuid) : undefined;
  const decision = content && decisionCodec.decode(content);
  return decision?.forNova === true ? decision : undefined;
}

async function readShadow({ parts: { config }, clock }: Live): Promise<ShadowView> {
  const url = config.novaShadowUrl;
  if (url === '') return { kind: 'none' };
  const late = new AbortController();
  const cancel = clock.after(SHADOW_TIMEOUT_MS, () => late.abort(new Error('no answer in time')));
  try {
    const address = `${url.replace(/\/+$/, '')}/shadow`;
    const report = readShadowReport(url, await fetchJson(address, { headers: {}, signal: late.signal }));
    return reportView(report);
  } catch (thrown) {
    return { kind: 'away', why: BerthError.from(thrown).message };
  } finally {
    cancel();
  }
}

function reportView(report: ShadowReport): ShadowView {
  const { sinceMs, outcomes, causes, berthTimes: berthTook, novaTimes: novaTook, differences } = report;
  return {
    kind: 'report',
    ...agreementOf(report),
    sinceMs,
    outcomes: Object.entries(outcomes).filter(([, count]) => count > 0),
    causes: Object.entries(causes),
    berthTook,
    novaTook,
    differences: differences.slice(0, MOST_DIFFERENCES).map(({ atMs, requestId, instanceUuid, berth, nova, why }) => {
      return { atMs, requestId, instanceUuid, berth: berth.hosts[0] ?? '', nova: nova.hosts[0] ?? '', why };
    }),
  };
}

function rowOf({ requestId, projectId, decidedAtMs, selected, diagnosis: { summary } }: Decision): NovaDecisionRow {
  return { requestId: `req-${requestId}`, projectId, decidedAtMs, selected, summary };
}

function viewOf(decision: Decision): NovaDecisionView {
  const { diagnosis, hosts } = decision;
  const { hostsConsidered: considered, hostsPassed: passed } = diagnosis;
  return { ...rowOf(decision), considered, passed, filters: refusalsOf(diagnosis), hosts: hosts.map(verdictOf) };
}
