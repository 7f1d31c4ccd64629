import { NEWEST } from './http/microversion';
import { type Route, ROUTES } from './routes';
import { at } from './schemas/versioned';

/** The API as an OpenAPI 3.1 document, made from the route table and its schemas, as of the newest microversion. */
export function openApiDocument(): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of ROUTES) {
    paths[route.path] ??= {};
    (paths[route.path] as Record<string, object>)[route.method.toLowerCase()] = operation(route);
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Berth placement API', version: `1.${NEWEST}` },
    paths,
  };
}

function operation(route: Route): object {
  const body = at(route.body, NEWEST);
  return {
    'x-since': `1.${route.since}`,
    responses: { default: { description: 'x' } },
    ...(body ? { requestBody: { required: true, content: { 'application/json': { schema: body } } } } : {}),
  };
}
