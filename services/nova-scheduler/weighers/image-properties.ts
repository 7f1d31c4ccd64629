import type { ImageProperties } from '../facts/instance-images';
import type { SpecObject } from '../objects/tables';
import type { Weigher } from './weigher';

/** A property of the requested image, and what an instance with the same adds to its host. */
interface WantedProperty {
  readonly name: string;
  readonly inPython: string;
  readonly ratio: number;
}

/** Hosts by how many of their instances have the properties of the requested image; a negative multiplier spreads them. */
export const imagePropertiesWeigher: Weigher = {
  name: 'ImagePropertiesWeigher',
  multiplier: 'image_props_weight_multiplier',
  prepare({ request: { spec }, settings: { imagePropertyRatios } }) {
    const wanted = wantedProperties(spec, imagePropertyRatios);
    if (wanted.length === 0) return undefined;
    return (host) => {
      let weight = 0;
      for (const image of host.images) weight += likenessOf(image, wanted);
      return weight;
    };
  },
};

function wantedProperties({ image }: SpecObject, ratios: ReadonlyMap<string, number>): WantedProperty[] {
  return Object.entries(image?.properties ?? {}).flatMap(([name, value]) => {
    const ratio = ratios.size === 0 ? 1 : (ratios.get(name) ?? 0);
    const inPython = writtenInPython(value);
    return ratio === 0 || inPython === undefined ? [] : { name, inPython, ratio };
  });
}

/** Undefined for what is not set, and for lists, which Nova's database has in other words. */
function writtenInPython(value: unknown): string | undefined {
  const isCompared = typeof value === 'object' && value !== null && 'inPython' in value;
  const text = isCompared ? value.inPython : value;
  if (typeof text !== 'string' || text.startsWith('[')) return undefined;
  return BOOLEANS[text] ?? text;
}

/** Booleans that Berth reads itself are texts. */
const BOOLEANS: Readonly<Record<string, string>> = { true: 'True', false: 'False' };

function likenessOf(image: ImageProperties, wanted: readonly WantedProperty[]): number {
  let sum = 0;
  for (const { name, inPython, ratio } of wanted) {
    const text = image.get(name);
    if (text !== undefined && isSame(text, inPython)) sum += ratio;
  }
  return sum;
}

const TRUE_WORD = /^(1|t|true|on|y|yes)$/i;

/** A boolean is any of several words in the database. */
function isSame(text: string, inPython: string): boolean {
  if (inPython === 'True') return TRUE_WORD.test(text.trim());
  if (inPython === 'False') return !TRUE_WORD.test(text.trim());
  return text === inPython;
}
