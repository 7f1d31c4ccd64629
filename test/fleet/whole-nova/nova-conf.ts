/** Addresses that Nova's services are given. */
export interface NovaAddresses {
  readonly transportUrl: string;
  /** `mysql+pymysql://...:PORT` */
  readonly database: string;
  readonly keystone: string;
  readonly adminPassword: string;
  readonly placement: string;
  /** Glance and Neutron. */
  readonly stub: string;
  readonly apiPort: number;
}

/** Settings by section. */
export type Settings = Readonly<Record<string, Readonly<Record<string, string | number | boolean>>>>;

/** A service's settings: Nova reads files like this. */
export function iniText(sections: Settings): string {
  return Object.entries(sections)
    .map(([name, settings]) => [
      `[${name}]`,
      ...Object.entries(settings).map(([key, value]) => `${key} = ${value}`),
      '',
    ])
    .flat()
    .join('\n');
}

/** The settings that all services of Nova share; computes have no database, as in any cloud. */
export function novaConf(to: NovaAddresses, isCompute: boolean): Record<string, Settings[string]> {
  const admin = adminOf(to);
  const cell = `${to.database}/nova_cell1?charset=utf8`;
  return {
    DEFAULT: {
      my_ip: '127.0.0.1',
      transport_url: to.transportUrl,
      osapi_compute_listen: '127.0.0.1',
      osapi_compute_listen_port: to.apiPort,
      osapi_compute_workers: 1,
      enabled_apis: 'osapi_compute',
      update_resources_interval: 20,
      // A shared machine is slow: no host is taken as down, nor a call as lost, by mistake.
      service_down_time: 300,
      rpc_response_timeout: 180,
      shelved_offload_time: 0,
    },
    ...(!isCompute && {
      api_database: { connection: `${to.database}/nova_api?charset=utf8` },
      database: { connection: cell },
    }),
    wsgi: { api_paste_config: 'api-paste.ini' },
    keystone_authtoken: { ...admin, www_authenticate_uri: to.keystone, interface: 'internal' },
    placement: { ...admin, endpoint_override: to.placement },
    neutron: { ...admin, endpoint_override: `${to.stub}/network` },
    glance: { api_servers: to.stub },
    service_user: { ...admin, send_service_user_token: true },
    barbican: { auth_endpoint: `${to.keystone}/v3` },
    key_manager: { backend: 'nova.keymgr.conf_key_mgr.ConfKeyManager', fixed_key: '0'.repeat(64) },
    conductor: { workers: 1 },
    scheduler: { workers: 1, discover_hosts_in_cells_interval: -1, query_placement_for_image_type_support: true },
    // Berth lacks the weigher of failed builds, and the story wants a host on which they fail.
    filter_scheduler: { build_failure_weight_multiplier: 0 },
    quota: { instances: -1, cores: -1, ram: -1, server_group_members: -1 },
    oslo_concurrency: { lock_path: 'locks' },
    oslo_messaging_notifications: { driver: 'noop' },
    vnc: { enabled: false },
  };
}

function adminOf({ keystone, adminPassword }: NovaAddresses) {
  return {
    auth_type: 'password',
    auth_url: `${keystone}/v3`,
    username: 'admin',
    password: adminPassword,
    project_name: 'admin',
    user_domain_name: 'Default',
    project_domain_name: 'Default',
  };
}

const factory = (name: string) => ({ 'paste.filter_factory': name });

/** Nova's API of version 2.1, with Keystone's tokens. */
export const API_PASTE = iniText({
  'composite:osapi_compute': { use: 'call:nova.api.openstack.urlmap:urlmap_factory', '/v2.1': 'compute' },
  'pipeline:compute': { pipeline: 'request_id faults authtoken context app' },
  'filter:request_id': factory('nova.api.compute_req_id:ComputeReqIdMiddleware.factory'),
  'filter:faults': factory('nova.api.openstack:FaultWrapper.factory'),
  'filter:authtoken': factory('keystonemiddleware.auth_token:filter_factory'),
  'filter:context': factory('nova.api.auth:NovaKeystoneContext.factory'),
  'app:app': { 'paste.app_factory': 'nova.api.openstack.compute:APIRouterV21.factory' },
});
