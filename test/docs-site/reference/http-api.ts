import { ROUTES } from '../../../services/placement-api/routes';
import { code, table } from './markdown';

/** Every operation of the placement API. */
export function httpApiPage(): string {
  const rows = ROUTES.map(({ method, path, since, rule }) => [
    method,
    code(path),
    `1.${since}`,
    rule === undefined ? 'everyone' : code(rule),
  ]);
  return `# HTTP API

The operations of the [placement API](../../../placement-api/README.md), which are OpenStack Placement's. ${code('since')} is the
microversion that brought the operation; the [policy](../../../placement-api/policy/README.md) says who passes a rule.

${table(['method', 'path', 'since', 'rule'], rows)}

Every process that serves also answers, on ${code('BERTH_HTTP_PORT')}: ${code('/healthz')} (it lives), ${code('/readyz')} (it can do
its work, or why not), ${code('/metrics')} ([metrics](metrics.md)).
`;
}
