import type { ExplainRequest, ExplainResponse, HostVerdict } from '#libs/contracts/messages';
import { BerthError } from '#libs/domain/errors';
import { seededRandom } from '#libs/domain/random';
import { allows } from '../filters/filter';
import type { Fleet } from '../fleet/fleet';
import type { HostState } from '../fleet/host-state';
import type { Ranking } from '../ranking/ranking';
import type { Rankings } from '../ranking/rankings';
import { Walk } from '../ranking/walk';
import type { SelectSettings } from '../settings';
import { diagnose } from './diagnose';
import { Personal } from './personal';
import { translate } from './translate';

/**
 * The decision for one instance as a dry run: the best hosts with what each weigher gives them, and why the others are
 * refused. With a host named: that host alone, with every filter that refuses it. The fleet must be fresh.
 *
 * @throws BerthError `not_found / no_such_host`.
 */
export function explain(
  { requestSpec, host: name, limit }: ExplainRequest,
  {
    fleet,
    rankings,
    settings,
  }: { readonly fleet: Fleet; readonly rankings: Rankings; readonly settings: SelectSettings },
): ExplainResponse {
  const { request, shape } = translate(requestSpec, [], fleet);
  const ranking = rankings.of(shape);
  const personal = new Personal(request, settings.personalFilters, settings);
  const named = name === '' ? undefined : fleet.byName(name);
  if (name !== '' && !named) throw new BerthError('not_found', 'no_such_host', `there is no host '${name}'`);
  const hosts = named ? [named] : bestHosts(limit, fleet, ranking, personal);
  const verdicts = hosts.map((host) => verdictOn(host, ranking, personal));
  // Last, because looking for candidates on hosts changes what is known of them.
  return { diagnosis: diagnose(ranking, personal, fleet.hostCount), hosts: verdicts };
}

function bestHosts(limit: number, fleet: Fleet, ranking: Ranking, personal: Personal): HostState[] {
  const walk = new Walk(ranking, personal, seededRandom(0));
  const hosts: HostState[] = [];
  for (let step = walk.next(); step !== undefined && hosts.length < limit; step = walk.next()) {
    const host = fleet.at(step.index);
    if (host && ranking.candidateOn(host)) hosts.push(host);
  }
  return hosts;
}

function verdictOn(host: HostState, ranking: Ranking, personal: Personal): HostVerdict {
  const refusals = [
    ...ranking.explain(host).map(({ filter, sentence }) => `${filter}: ${sentence}`),
    ...personal.constraints
      .filter((constraint) => !allows(constraint, host.index))
      .map((constraint) => `${constraint.filter}: ${constraint.describe(host)}`),
  ];
  const weights = { ...ranking.sharesOf(host), ...personal.sharesOf(host.index) };
  const weight = Object.values(weights).reduce((sum, share) => sum + share, 0);
  return { host: host.host.name, passed: refusals.length === 0, refusals, weight, weights };
}
