import { type WantedHardware, wantedHardware } from '../hardware/wanted-hardware';
import type { SpecObject } from '../objects/tables';
import { type ServerGroup, serverGroupOf } from './server-group';

/** Nova's request, read of a spec; fields that are not set are empty. */
export interface NovaRequest {
  readonly spec: SpecObject;
  readonly projectId: string;
  readonly userId: string;
  readonly extraSpecs: ReadonlyMap<string, string>;
  /** Image properties by name; of none where there is no image. */
  readonly imageProperty: (name: ImageProperty) => string | undefined;
  readonly hint: (name: string) => readonly string[];
  readonly group: ServerGroup | undefined;
  readonly hardware: WantedHardware;
  /** A rebuild asks whether the host still suits: nothing is claimed. */
  readonly isRebuild: boolean;
}

type Properties = NonNullable<NonNullable<SpecObject['image']>['properties']>;
export type ImageProperty = keyof Properties;

/** @param fallbackUserId  of the caller's context: specs before Rocky have no user */
export function novaRequest(spec: SpecObject, fallbackUserId: string): NovaRequest {
  const properties = spec.image?.properties;
  const hint = (name: string) => spec.scheduler_hints?.get(name) ?? [];
  return {
    spec,
    projectId: spec.project_id ?? '',
    userId: spec.user_id ?? fallbackUserId,
    extraSpecs: spec.flavor?.extra_specs ?? new Map(),
    imageProperty: (name) => {
      const value = properties?.[name];
      return typeof value === 'string' ? value : undefined;
    },
    hint,
    group: serverGroupOf(spec),
    hardware: wantedHardware(spec),
    isRebuild: hint(CHECK_TYPE).join() === 'rebuild',
  };
}

/** By this hint Nova's own checks say what they are. */
export const CHECK_TYPE = '_nova_check_type';
