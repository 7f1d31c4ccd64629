/*
 * Rows of kube-scheduler's `scheduler_perf` (kubernetes/kubernetes, test/integration/scheduler_perf, `performance-config.yaml`
 * of its folders) and of Kueue's configurations (kubernetes-sigs/kueue, test/performance/scheduler/configs): names, counts and
 * thresholds as published there, late in 2026. A threshold is the average of pods a second that their CI asks for.
 */

/** A published row that is a request to Berth as well. */
export interface Row {
  readonly name: string;
  readonly hosts: number;
  /** Instances that are there before, and those that are measured. */
  readonly placedBefore: number;
  readonly measured: number;
  /** Pods a second; undefined where none is published. */
  readonly threshold: number | undefined;
  /** Units of 100m of a processor, and mebibytes. */
  readonly processor: number;
  readonly memoryMb: number;
  readonly kind: 'plain' | 'anti_affinity' | 'named_host';
  /** Parts of the row without a translation here. */
  readonly without?: string;
}

/** Their `node-default`: 4 processors, 32 GiB. Its 110 pods never bind in these rows. */
export const HOST = { processor: 40, memoryMb: 32_768 } as const;
const POD = { processor: 1, memoryMb: 500 } as const;

export const ROWS: readonly Row[] = [
  {
    name: 'SchedulingBasic/5000Nodes_10000Pods',
    hosts: 5_000,
    placedBefore: 1_000,
    measured: 10_000,
    threshold: 680,
    ...POD,
    kind: 'plain',
  },
  {
    name: 'SchedulingBasic/5000Nodes_50000Pods',
    hosts: 5_000,
    placedBefore: 5_000,
    measured: 50_000,
    threshold: 810,
    ...POD,
    kind: 'plain',
  },
  {
    name: 'SchedulingDaemonset/15000Nodes',
    hosts: 15_001,
    placedBefore: 0,
    measured: 30_000,
    threshold: 1_100,
    processor: 1,
    memoryMb: 1,
    kind: 'named_host',
    without: 'pods that ask for nothing: each asks for the smallest amounts, of one host that has enough',
  },
  {
    name: 'SchedulingPodAntiAffinity/5000Nodes_2000Pods',
    hosts: 5_000,
    placedBefore: 1_000,
    measured: 2_000,
    threshold: 60,
    ...POD,
    kind: 'anti_affinity',
    without: 'selectors of labels: those before and those measured are one server group of a project',
  },
  {
    name: 'SchedulingWithMixedChurn/5000Nodes_10000Pods',
    hosts: 5_000,
    placedBefore: 0,
    measured: 10_000,
    threshold: 710,
    ...POD,
    kind: 'plain',
    without: 'the churn: a node, a service and a pod too large that come and go each second',
  },
  {
    name: 'ResourceSaturation/20000Nodes_20000Pods',
    hosts: 20_000,
    placedBefore: 0,
    measured: 20_000,
    threshold: undefined,
    processor: 30,
    memoryMb: 500,
    kind: 'plain',
    without: 'sizes of batches: each request is one instance',
  },
];

/** Published rows that are not translated, with their thresholds, and why. */
export const NOT_TRANSLATED: Readonly<Record<string, string>> = {
  'TopologySpreading/5000Nodes_5000Pods': '460/s; needs zones by aggregates: not done yet',
  'PreferredTopologySpreading/5000Nodes_5000Pods': '340/s; no preferred spread here',
  'DefaultTopologySpreading/5000Nodes_50000Pods': '160/s; no spread by service here',
  'SchedulingWithNodeInclusionPolicy/5000Nodes': '270/s; no taints here',
  'SchedulingPodAffinity/5000Nodes_5000Pods': '35/s; affinity here is to a host, not to a zone',
  'SchedulingPreferredPodAffinity/5000Nodes_5000Pods': '90/s; no preferred affinity to a group of labels',
  'SchedulingNodeAffinity/5000Nodes_10000Pods': '220/s; would be an availability zone: not done yet',
  'PreemptionAsync/5000Nodes': '570/s; needs builds with priorities beside the selects: not done yet',
  'Unschedulable/5kNodes/20kInit/10kPods': '600/s; likewise',
  'SchedulingWhileGated/1Node_10000GatedPods': '910/s; no gates here',
  'SchedulingWithExtendedResource/5000pods_5000nodes': '180/s; a class for each host: not done yet',
  'dra rows': '56 to 70/s; devices are nested providers here: not done yet',
  'Kueue baseline':
    '15,000 workloads in at most 425 s; needs run times of instances beside quotas and cohorts: not done yet',
  'Kueue large-scale': '60,000 workloads in at most 900 s (a placeholder, as its file says); likewise',
};
