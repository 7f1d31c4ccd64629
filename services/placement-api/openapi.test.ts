import SwaggerParser from '@apidevtools/swagger-parser';
import { readConfig } from '#libs/runtime/config';
import { BUILD_ROUTES, EVENTS_PATH } from './builds/routes';
import { openApiDocument } from './openapi';
import { placementApiOptions } from './options';
import { ROUTES } from './routes';

interface Document {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { operationId: string; requestBody?: object; responses: object }>>>
  >;
}

const document = openApiDocument() as Document;

test('the document is valid OpenAPI 3.1', async () => {
  // The parser resolves references in place.
  const copy = structuredClone(document) as unknown as Parameters<typeof SwaggerParser.validate>[0];
  await expect(SwaggerParser.validate(copy)).resolves.toBeDefined();
});

test.each(ROUTES.map((route) => [route.method, route.path, route] as const))(
  'it has %s %s, with what is sent and what is answered',
  (method, path, route) => {
    const operation = document.paths[path]?.[method.toLowerCase()];
    expect(Object.keys(operation?.responses ?? {}).some((status) => status.startsWith('2'))).toBe(true);
    expect(operation?.requestBody !== undefined).toBe(method !== 'GET' && route.input !== undefined);
  },
);

test('no two operations have the same id', () => {
  const ids = Object.values(document.paths).flatMap((path) =>
    Object.values(path).map(({ operationId }) => operationId),
  );
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toHaveLength(ROUTES.length + BUILD_ROUTES.length + [EVENTS_PATH].length);
});

test('what bounds a request is said, as it is set', () => {
  const config = { ...readConfig(placementApiOptions, {}), maxBodyEntries: 17 };
  expect(openApiDocument(config)).toMatchObject({
    info: { 'x-limits': { maxBodyEntries: 17, maxAllocations: 5_000 } },
  });
});
