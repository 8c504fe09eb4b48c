import type { YamlDocument } from '@krmhub/yaml/read/read-yaml';
import { shorten } from '@krmhub/yaml/read/scalars';
import { defined } from '../defined.js';
import type { JsonObject } from '../documents/definition.js';
import { canonicalRelease } from '../documents/release.js';
import { parseImageReference } from '../images/image-reference.js';
import { isObject, textField } from '../json/access.js';
import { pascalCase } from '../names/gvk.js';
import type { EntryDefaults } from './complete.js';
import {
  CONVERTED_VERSION,
  type Conversion,
  type ConversionOptions,
  ConversionReport,
  convertLicense,
  definedFields,
  finishDefinition,
  oneLine,
  originOwner,
  repositoryPage,
  stringItems,
} from './conversion.js';
import { KPT_GROUP, kindOfImage } from './group.js';
import { releaseFromPath } from './release-path.js';

const KNOWN_FIELDS = new Set([
  'image',
  'description',
  'tags',
  'sourceURL',
  'examplePackageURLs',
  'emails',
  'license',
  'hidden',
  'home',
]);

/**
 * Converts function metadata of the kpt function catalog (`metadata.yaml`) to a definition. The release is the given
 * release, the image tag, or a folder name in `file`. An image without tag and digest gets the release as its tag.
 * Without a release, it reports an error.
 */
export function convertKptMetadata(document: YamlDocument, options: ConversionOptions): Conversion {
  const report = new ConversionReport(document, options.file);
  const failed = (): Conversion => ({ diagnostics: report.diagnostics });
  if (!isObject(document.value)) {
    report.add('convert/unknown-document', 'the document is not a mapping');
    return failed();
  }
  const metadata = document.value;
  const image = readImage(metadata, options, report);
  if (image === undefined) return failed();
  report.addDropped(metadata, KNOWN_FIELDS);
  if (metadata.hidden === true) report.add('convert/dropped-field', 'hidden is omitted', ['hidden']);

  const { usage, examples, home } = readLinks(metadata, options.defaults, report);
  const { sha256 } = image;
  const version = definedFields({
    name: CONVERTED_VERSION,
    runtime: { container: definedFields({ image: image.reference, sha256 }) },
    usage,
    examples,
    license: convertLicense(metadata.license),
  });
  const maintainers = stringItems(metadata.emails);
  const tags = stringItems(metadata.tags);
  const read = definedFields({
    group: options.group ?? KPT_GROUP,
    names: { kind: image.kind },
    description: readDescription(metadata, image.name, report),
    publisher: options.defaults?.publisher ?? readPublisher(metadata, image.owner, report),
    versions: [version],
    home,
    maintainers: maintainers.length === 0 ? undefined : maintainers,
    tags: tags.length === 0 ? undefined : tags,
  });
  const definition = finishDefinition(read, report, options.defaults);
  const release = image.release;
  return { definition, ...defined({ release }), diagnostics: report.diagnostics };
}

export interface Image {
  reference: string;
  host: string | undefined;
  /** The path of the image below the host. */
  repository: string;
  /** The digest in the reference, or in a separate field. */
  sha256: string | undefined;
  /** The last segment of the path. */
  name: string;
  kind: string;
  /** The host and path without the name. */
  owner: string;
  release: string | undefined;
}

/** Reads the field `image` of a mapping. Some formats have a separate digest. */
export function readImage(
  metadata: JsonObject,
  options: ConversionOptions & { digest?: string | undefined },
  report: ConversionReport,
): Image | undefined {
  const text = textField(metadata, 'image')?.trim() || options.defaults?.image;
  if (text === undefined) {
    report.add('convert/no-image', 'the metadata has no image', 'image' in metadata ? ['image'] : []);
    return undefined;
  }
  const reference = parseImageReference(text);
  if (!reference.ok) {
    report.add('convert/image', `the image ${shorten(text)} ${reference.reason}`, ['image']);
    return undefined;
  }
  const name = reference.repository.split('/').at(-1)!;
  const kind = kindOfImage(reference) ?? pascalCase(name);
  if (kind === undefined)
    report.add('convert/name', `cannot derive a kind from the name ${shorten(name)}`, ['image']);

  const ofTag =
    reference.tag !== undefined && canonicalRelease(reference.tag) !== undefined ? reference.tag : undefined;
  const release = options.release ?? ofTag ?? releaseFromPath(options.file) ?? options.fallbackRelease;
  const canonical = release === undefined ? undefined : canonicalRelease(release);
  if (release !== undefined && canonical === undefined) {
    report.add('convert/release', `the release ${shorten(release)} is not a SemVer version`);
    return undefined;
  }
  if (ofTag !== undefined && canonicalRelease(ofTag) !== canonical) {
    const message = `the release is ${release}, but the image has the tag ${shorten(ofTag)}`;
    report.add('convert/release-differs', message, ['image']);
  }
  const digest = options.digest ?? reference.digest;
  const pinned = reference.tag !== undefined || digest !== undefined;
  if (!pinned && release === undefined) {
    report.add('convert/no-release', `the image ${shorten(text)} has no tag, and the release is unknown`, [
      'image',
    ]);
    return undefined;
  }
  if (kind === undefined) return undefined;
  const owner = [reference.host, ...reference.repository.split('/').slice(0, -1)].filter(Boolean).join('/');
  return {
    reference: pinned ? text : `${text}:${release}`,
    host: reference.host,
    repository: reference.repository,
    sha256: digest?.replace(/^sha256:/, ''),
    name,
    kind,
    owner: owner === '' ? name : owner,
    release,
  };
}

/** Returns the documents in the metadata. Each of them replaces a missing other one without a default. */
function readLinks(
  metadata: JsonObject,
  defaults: EntryDefaults | undefined,
  report: ConversionReport,
): { usage: string | undefined; examples: string[] | undefined; home: string | undefined } {
  const source = textField(metadata, 'sourceURL')?.trim() || undefined;
  const examples = stringItems(metadata.examplePackageURLs);
  const usage = source ?? (defaults?.usage === undefined ? examples[0] : undefined);
  if (source === undefined && usage !== undefined)
    report.add('convert/usage', 'sourceURL is missing; the first example is used as usage');
  if (source !== undefined && examples.length === 0 && defaults?.examples === undefined) {
    report.add('convert/examples', 'examples are missing; sourceURL is used as an example', ['sourceURL']);
    examples.push(source);
  }
  return {
    usage,
    examples: examples.length === 0 ? undefined : examples,
    home: textField(metadata, 'home') ?? repositoryPage(source),
  };
}

function readDescription(metadata: JsonObject, name: string, report: ConversionReport): string {
  const description = oneLine(textField(metadata, 'description') ?? '');
  if (description !== '') return description;
  report.add('convert/description', `the description is missing; ${name} is used`);
  return name;
}

/**
 * Derives the publisher from the owner of the source, the domain of the first maintainer, or the location of the image.
 */
function readPublisher(metadata: JsonObject, imageOwner: string, report: ConversionReport): string {
  const owner = originOwner(textField(metadata, 'sourceURL') ?? '');
  if (owner !== undefined) return report.addPublisher(owner, 'sourceURL', ['sourceURL']);
  const domain = stringItems(metadata.emails)[0]?.split('@')[1];
  if (domain) return report.addPublisher(domain, 'emails', ['emails']);
  return report.addPublisher(imageOwner, 'image', ['image']);
}
