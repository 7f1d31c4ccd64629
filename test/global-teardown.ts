import { releaseServers } from './shared-servers';

/** Ends what the global setup started. */
export default releaseServers;
