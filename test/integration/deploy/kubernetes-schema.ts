import { Deployment, StatefulSet } from 'kubernetes-models/apps/v1';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { ConfigMap, Namespace, Secret, Service } from 'kubernetes-models/v1';

/** A Kubernetes object in a manifest. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

type Model = new (manifest: never) => { validate(): void };

const MODELS: Readonly<Record<string, Model>> = {
  'v1/ConfigMap': ConfigMap,
  'v1/Namespace': Namespace,
  'v1/Secret': Secret,
  'v1/Service': Service,
  'apps/v1/Deployment': Deployment,
  'apps/v1/StatefulSet': StatefulSet,
  'networking.k8s.io/v1/NetworkPolicy': NetworkPolicy,
  'policy/v1/PodDisruptionBudget': PodDisruptionBudget,
};

/** `apiVersion/kind` of an object; Kubernetes itself has no schema of an operator's types. */
export function typeOf({ apiVersion, kind }: Manifest): string {
  return `${apiVersion}/${kind}`;
}

/** True when `schemaProblems` knows the type. */
export function hasSchema(manifest: Manifest): boolean {
  return MODELS[typeOf(manifest)] !== undefined;
}

/**
 * The problems of a manifest by Kubernetes' own schema, including fields that the schema lacks. (Those are not refused,
 * but the check has not covered them.)
 */
export function schemaProblems(manifest: Manifest): string[] {
  const model = MODELS[typeOf(manifest)];
  if (model === undefined) return [`no schema of ${typeOf(manifest)}`];
  const unread = new Set<string>();
  try {
    watched(new model(manifest as never), '', unread).validate();
  } catch (error) {
    return [(error as Error).message];
  }
  return [...unread].map((path) => `${path} is no field`);
}

/** The same value, with the paths of its unread parts in `unread`. */
function watched<T extends object>(value: T, path: string, unread: Set<string>): T {
  const children = new Map<PropertyKey, unknown>();
  for (const [key, child] of Object.entries(value)) {
    const isObject = typeof child === 'object' && child !== null;
    children.set(key, isObject ? watched(child as object, `${path}/${key}`, unread) : child);
    unread.add(`${path}/${key}`);
  }
  return new Proxy(value, {
    get(target, key) {
      unread.delete(`${path}/${String(key)}`);
      return children.has(key) ? children.get(key) : Reflect.get(target, key);
    },
  });
}
