import { releaseServers } from './shared-servers';

/** Stops the servers of the global setup. */
export default releaseServers;
