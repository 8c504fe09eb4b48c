import type { YamlDocument } from '@krmhub/yaml/read/read-yaml';
import { shorten } from '@krmhub/yaml/read/scalars';
import { defined } from '../defined.js';
import type { JsonObject } from '../documents/definition.js';
import { parseImageReference } from '../images/image-reference.js';
import { field, objectField, textField } from '../json/access.js';
import { isGroup } from '../names/gvk.js';
import {
  CONVERTED_VERSION,
  type Conversion,
  type ConversionOptions,
  ConversionReport,
  definedFields,
  finishDefinition,
  stringItems,
} from './conversion.js';
import { groupOfImage } from './group.js';
import { type Image, readImage } from './kpt-metadata.js';

/** Maximum number of tags of one object. Real objects have one or two. */
const MAX_TAGS = 100;
/** Porch executors without an image. Their tags are also image tags. */
const OTHER_EXECUTORS = ['binaryExecutor', 'goExecutor'];
const KNOWN_FIELDS = new Set(['image', 'prefixes', 'podExecutor', ...OTHER_EXECUTORS]);

/**
 * Converts a Porch FunctionConfig to one definition per image tag, with the tag as release. The group is the given
 * group, the group in the name of an object from krmhub, or derived from the registry.
 */
export function convertPorch(document: YamlDocument, options: ConversionOptions): Conversion[] {
  const report = new ConversionReport(document, options.file);
  const { diagnostics } = report;
  const spec = objectField(document.value, 'spec') ?? {};
  const path = readImagePath(spec, report);
  const tags = path === undefined ? [] : readTags(spec, report);
  const within = report.within(['spec']);
  const images = tags.flatMap((tag) => readImage({ image: `${path}:${tag}` }, options, within) ?? []);
  const [first] = images;
  const group = first && (options.group ?? readGroup(document, first, report));
  if (first === undefined || group === undefined) return [{ diagnostics }];
  reportUnsupported(spec, report);
  const publisher = options.defaults?.publisher ?? within.addPublisher(first.owner, 'the image', ['image']);
  return images.map(({ reference, release }, index) => ({
    definition: finishDefinition(
      definedFields({
        group,
        names: { kind: first.kind },
        publisher,
        versions: [{ name: CONVERTED_VERSION, runtime: { container: { image: reference } } }],
      }),
      // Reports about one release apply to all.
      index === 0 ? report : new ConversionReport(document, options.file),
      options.defaults,
    ),
    ...defined({ release }),
    diagnostics: index === 0 ? diagnostics : [],
  }));
}

/** Returns the host and path of the image. Porch adds each of the prefixes; an empty prefix means its default. */
function readImagePath(spec: JsonObject, report: ConversionReport): string | undefined {
  const image = textField(spec, 'image')?.trim() ?? '';
  if (image === '') {
    report.add('convert/no-image', 'the object has no image', ['spec']);
    return undefined;
  }
  const prefixes = stringItems(spec.prefixes);
  const paths = (prefixes.length === 0 ? [''] : prefixes).map((prefix) =>
    prefix === '' ? image : `${prefix.replace(/\/+$/, '')}/${image}`,
  );
  const chosen = paths.findIndex((path) => {
    const reference = parseImageReference(path);
    return reference.ok && reference.host !== undefined;
  });
  if (chosen === -1) {
    const message = `no prefix of ${shorten(image)} has a registry, and the default registry of Porch is unknown`;
    report.add('convert/image', message, ['spec', 'image']);
    return undefined;
  }
  for (const [index, prefix] of prefixes.entries()) {
    if (prefix === '' || index === chosen) continue;
    const message = `the prefix ${shorten(prefix)} is omitted: a definition has only one image`;
    report.add('convert/dropped-field', message, ['spec', 'prefixes', index]);
  }
  return paths[chosen];
}

function readTags(spec: JsonObject, report: ConversionReport): string[] {
  const executorTags = (executor: string) => stringItems(field(objectField(spec, executor), 'tags'));
  const ofPods = executorTags('podExecutor');
  const tags = [...new Set(ofPods.length > 0 ? ofPods : OTHER_EXECUTORS.flatMap(executorTags))];
  if (tags.length === 0) report.add('convert/no-release', 'the object has no image tag', ['spec']);
  if (tags.length > MAX_TAGS) {
    report.add('convert/dropped-field', `${tags.length - MAX_TAGS} of ${tags.length} tags are omitted`, [
      'spec',
      'podExecutor',
      'tags',
    ]);
  }
  return tags.slice(0, MAX_TAGS);
}

/** Reads the group from the name of an object. krmhub uses the name `kind.group`. */
function readGroup(document: YamlDocument, image: Image, report: ConversionReport): string | undefined {
  const name = textField(objectField(document.value, 'metadata'), 'name') ?? '';
  const inName = name.slice(name.indexOf('.') + 1);
  const isInName = name.includes('.') && isGroup(inName);
  const group = isInName ? inName : groupOfImage(image);
  const from = isInName ? ['metadata', 'name'] : ['spec', 'image'];
  return report.addGroup(group, from.join('.'), from, 'metadata.name or the image');
}

function reportUnsupported(spec: JsonObject, report: ConversionReport): void {
  report.addDropped(spec, KNOWN_FIELDS, ['spec']);
  const pods = objectField(spec, 'podExecutor');
  for (const name of Object.keys(pods ?? {})) {
    if (name === 'tags') continue;
    const message = `podExecutor.${shorten(name)} is omitted: it configures Porch, not the function`;
    report.add('convert/dropped-field', message, ['spec', 'podExecutor', name]);
  }
  for (const executor of OTHER_EXECUTORS) {
    if (spec[executor] === undefined) continue;
    const tags = stringItems(field(objectField(spec, executor), 'tags')).join(', ');
    const message = `${executor} (${shorten(tags)}) is omitted: its program is part of Porch`;
    report.add('convert/dropped-field', message, ['spec', executor]);
  }
}
