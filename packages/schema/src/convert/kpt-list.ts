import type { YamlDocument } from '@krmhub/yaml/read/read-yaml';
import { defined } from '../defined.js';
import type { JsonValue } from '../documents/definition.js';
import { isObject, listField, textField } from '../json/access.js';
import {
  CONVERTED_VERSION,
  type Conversion,
  type ConversionOptions,
  ConversionReport,
  definedFields,
  finishDefinition,
  oneLine,
  originOwner,
} from './conversion.js';
import { groupOfImage, groupOfLink } from './group.js';
import { type Image, readImage } from './kpt-metadata.js';

const LIST_FIELDS = new Set(['version', 'functions']);
const ITEM_FIELDS = new Set(['name', 'description', 'documentation', 'image', 'digest', 'type']);

/**
 * Converts the `catalog.json` of kpt function catalogs to one definition per item. The group is the given group, or
 * derived from the registry of the image or the URL of the documentation.
 */
export function convertKptList(document: YamlDocument, options: ConversionOptions): Conversion[] {
  const list = new ConversionReport(document, options.file);
  if (isObject(document.value)) list.addDropped(document.value, LIST_FIELDS);
  const converted = listField(document.value, 'functions').map((item, index) => {
    const report = new ConversionReport(document, options.file, ['functions', index]);
    return { report, ...convertItem(item, options, report) };
  });
  const results = omitRepeated(converted);
  return list.diagnostics.length === 0 ? results : [{ diagnostics: list.diagnostics }, ...results];
}

/** A list can have several images of a function. Without tags, their releases are unknown. */
function omitRepeated(converted: readonly (Conversion & { report: ConversionReport })[]): Conversion[] {
  const first = new Map<string, number>();
  return converted.map(({ report, ...conversion }, index) => {
    const { definition, release, diagnostics } = conversion;
    if (definition === undefined) return conversion;
    const { group, names } = definition;
    const name = `${group}/${names.kind}${release === undefined ? '' : ` ${release}`}`;
    const earlier = first.get(name);
    first.set(name, earlier ?? index);
    if (earlier === undefined) return conversion;
    report.add('convert/clash', `${name} is already functions[${earlier}] of the list`, ['image']);
    return { diagnostics };
  });
}

function convertItem(item: JsonValue, options: ConversionOptions, report: ConversionReport): Conversion {
  const { diagnostics } = report;
  if (!isObject(item)) {
    report.add('convert/no-image', 'the item is not a mapping');
    return { diagnostics };
  }
  const image = readImage(item, { ...options, digest: textField(item, 'digest') }, report);
  if (image === undefined) return { diagnostics };
  const documentation = textField(item, 'documentation')?.trim() || undefined;
  const group = options.group ?? readGroup(image, documentation, report);
  if (group === undefined) return { diagnostics };

  report.addDropped(item, ITEM_FIELDS);
  const type = textField(item, 'type')?.trim() || undefined;
  const read = definedFields({
    group,
    names: { kind: image.kind },
    description: oneLine(textField(item, 'description') ?? ''),
    publisher: options.defaults?.publisher ?? readPublisher(image, documentation, report),
    versions: [
      definedFields({
        name: CONVERTED_VERSION,
        runtime: { container: definedFields({ image: image.reference, sha256: image.sha256 }) },
        usage: documentation,
      }),
    ],
    tags: type === undefined ? undefined : [type],
  });
  return {
    definition: finishDefinition(read, report, options.defaults),
    ...defined({ release: image.release }),
    diagnostics,
  };
}

function readGroup(
  image: Image,
  documentation: string | undefined,
  report: ConversionReport,
): string | undefined {
  const ofImage = groupOfImage(image);
  const group = ofImage ?? groupOfLink(documentation ?? '');
  const from = ofImage === undefined ? 'documentation' : 'image';
  const at = group === undefined ? 'image' : from;
  return report.addGroup(group, from, [at], 'the image or the documentation');
}

function readPublisher(image: Image, documentation: string | undefined, report: ConversionReport): string {
  const owner = originOwner(documentation ?? '');
  const from = owner === undefined ? 'image' : 'documentation';
  return report.addPublisher(owner ?? image.owner, from, [from]);
}
