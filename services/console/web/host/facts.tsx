import type { HostPage } from '../../api/host';
import { link } from '../state/router';
import { serverNow } from '../state/stream';
import { plural, span, term } from '../ui/format';
import { Ago, type Fact, Facts } from '../ui/parts';
import { ATTEMPTS } from './lists';

/** A host's groups, its state, and its failures. */
export function HostFacts({ page }: { page: HostPage }) {
  const { host } = page;
  const until = page.quarantinedUntilMs;
  const facts: Fact[] = [
    ['Zone', <HostsLink key="zone" of="zone" name={host.zone} />],
    ['Rack', host.rack === '' ? '' : <HostsLink key="rack" of="rack" name={host.rack} />],
    [
      'Aggregates',
      host.aggregates.length === 0
        ? ''
        : host.aggregates.map((aggregate, n) => (
            <span key={aggregate}>
              {n > 0 && ', '}
              <HostsLink of="aggregate" name={aggregate} />
            </span>
          )),
    ],
    ['Cell', page.cell],
    ['Service host', page.serviceHost === host.name ? '' : page.serviceHost],
    ['Reason disabled', page.disabledReason],
    ['Outside Berth', page.externalInstances > 0 ? plural(page.externalInstances, 'instance') : ''],
    [
      'Heavy work',
      host.ioOps > 0 ? (
        <a key="work" href={link('/instances', { host: host.name })}>
          {host.ioOps} in progress
        </a>
      ) : (
        'none'
      ),
    ],
    [
      'Failures',
      host.failures > 0 ? (
        <a key="failures" href={`#${ATTEMPTS}`}>
          {host.failures} lately, {host.failuresInARow} in a row
        </a>
      ) : (
        'none'
      ),
    ],
    ['Last failure', host.failures > 0 ? page.lastFailure : ''],
    [
      'Quarantine',
      until === 0 ? '' : until > serverNow() ? `next probe in ${span(until - serverNow())}` : 'waits for a probe',
    ],
    ['Last change', <Ago key="ago" ms={host.updatedAtMs} />],
  ];
  return <Facts facts={facts} />;
}

/** A group of hosts, as a link to them. */
function HostsLink({ of, name }: { of: 'zone' | 'rack' | 'aggregate'; name: string }) {
  return <a href={link('/fleet', { filter: term(of, name), view: 'list' })}>{name}</a>;
}
