import { whyInvalid } from '../http/validate';
import { ROUTES } from '../routes';
import type { Answered } from './answered';

/** Fails when an answer of the newest microversion does not match the operation in `/openapi.json`. */
export function requireDocumented(method: string, path: string, { status, headers, text, body }: Answered): void {
  if (status >= 300 || headers['openstack-api-version'] !== 'placement 1.39') return;
  const route = ROUTES.find((one) => one.method === method && patternOf(one.path).test(path.split('?')[0] ?? ''));
  if (!route) return;
  const { answers } = route;
  const schema = answers[status as keyof typeof answers];
  const isBare = schema === undefined && text === '' && status in answers;
  const why = isBare
    ? undefined
    : schema
      ? whyInvalid(body, schema)
      : `the body of ${status} is not documented: ${text}`;
  if (why !== undefined) throw new Error(`${method} ${path} does not answer as /openapi.json says: ${why}`);
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}
