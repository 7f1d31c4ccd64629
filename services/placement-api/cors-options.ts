import { booleanOption, type ConfigOf, intOption, listOption } from '#libs/runtime/config';

/** Origins whose pages may use the API from a browser. The defaults are those of OpenStack's Placement. */
export const corsOptions = {
  allowedOrigin: listOption({
    env: 'BERTH_PLACEMENT_CORS_ALLOWED_ORIGIN',
    default: [],
    help: 'Origins whose pages may use the API, as https://host[:port] without a slash at the end; * is all. None: no CORS.',
  }),
  allowHeaders: listOption({
    env: 'BERTH_PLACEMENT_CORS_ALLOW_HEADERS',
    default: [
      'X-Auth-Token',
      'X-Openstack-Request-Id',
      'X-Identity-Status',
      'X-Roles',
      'X-Service-Catalog',
      'X-User-Id',
      'X-Tenant-Id',
      'OpenStack-API-Version',
    ],
    help: 'Headers that such pages may send, in addition to those allowed to every page.',
  }),
  allowMethods: listOption({
    env: 'BERTH_PLACEMENT_CORS_ALLOW_METHODS',
    default: ['GET', 'PUT', 'POST', 'DELETE', 'PATCH'],
    help: 'Methods that such pages may use.',
  }),
  exposeHeaders: listOption({
    env: 'BERTH_PLACEMENT_CORS_EXPOSE_HEADERS',
    default: ['X-Auth-Token', 'X-Openstack-Request-Id', 'X-Subject-Token', 'X-Service-Token', 'OpenStack-API-Version'],
    help: 'Headers of answers that such pages may read.',
  }),
  allowCredentials: booleanOption({
    env: 'BERTH_PLACEMENT_CORS_ALLOW_CREDENTIALS',
    default: true,
    help: 'Lets such pages send credentials; browsers refuse * as origin then.',
  }),
  maxAgeS: intOption({
    env: 'BERTH_PLACEMENT_CORS_MAX_AGE',
    default: 3_600,
    min: 0,
    max: 86_400,
    unit: 's',
    help: 'Time for which a browser may cache a preflight answer; 0 sends none.',
  }),
} as const;

export type CorsConfig = ConfigOf<typeof corsOptions>;
