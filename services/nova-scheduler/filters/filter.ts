import type { HostState } from '../decision/host-state';
import type { FitSettings } from '../hardware/fit-topology';
import type { NovaRequest } from '../request/nova-request';

/** Why a host does not suit, as operators of Nova say it; undefined when it does. */
export type Refusal = string | undefined;
export type CheckHost = (host: HostState) => Refusal;

/** Settings of filters, by their names in nova.conf. */
export interface FilterSettings extends FitSettings {
  readonly maxInstancesPerHost: number;
  readonly maxIoOpsPerHost: number;
  readonly defaultAvailabilityZone: string;
  readonly isolatedHosts: readonly string[];
  /** UUIDs. */
  readonly isolatedImages: readonly string[];
  readonly restrictIsolatedHosts: boolean;
  readonly imageIsolationNamespace: string;
  readonly imageIsolationSeparator: string;
  /** Factors of metrics, by name. */
  readonly metricRatios: ReadonlyMap<string, number>;
  /** Factors of image properties, by name; empty counts each once. */
  readonly imagePropertyRatios: ReadonlyMap<string, number>;
  /** True where a host that lacks a metric fails the request. */
  readonly metricsRequired: boolean;
  /** Raw weight of a host that lacks a metric, where none is required. */
  readonly metricsWeightOfUnavailable: number;
}

/** Input of a filter besides the host. */
export interface FilterContext {
  readonly request: NovaRequest;
  /** The instance that is placed now. */
  readonly instanceUuid: string | undefined;
  readonly locate: LocateInstances;
  /** Service hosts that got an instance of the request before. */
  readonly placedHosts: ReadonlySet<string>;
  /** Roots of hosts where other members of the server group got claims, sooner than Nova knows. */
  readonly claimedRoots: () => ReadonlySet<string>;
  readonly settings: FilterSettings;
}

/** For some instances, which of them are on a host: by the mirror, by Nova, or by this decision. */
export type LocateInstances = (uuids: Iterable<string>) => (host: HostState) => ReadonlySet<string>;

/** One of Nova's filters. */
export interface HostFilter {
  /** Its class in Nova: `ComputeFilter`. */
  readonly name: string;
  /** True when a rebuild on the same host must pass it. */
  readonly runsOnRebuild: boolean;
  /** The check for one request; undefined when the request asks nothing of it. */
  prepare(context: FilterContext): CheckHost | undefined;
}
