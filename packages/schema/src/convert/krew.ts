import type { YamlDocument } from '@krmhub/yaml/read/read-yaml';
import { shorten } from '@krmhub/yaml/read/scalars';
import type { Path } from '../diagnostics/diagnostic.js';
import type { ExecPlatform, JsonObject, JsonValue } from '../documents/definition.js';
import { canonicalRelease } from '../documents/release.js';
import { field, isObject, listField, objectField, textField } from '../json/access.js';
import { pascalCase } from '../names/gvk.js';
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
} from './conversion.js';
import { groupOfLink } from './group.js';
import { describeSelector, selectPlatforms } from './selector.js';

/**
 * Converts a Krew plugin manifest to a definition with an exec runtime. The group is the given group, or derived from
 * the home page: the pages domain of its owner on GitHub or GitLab (`owner.github.io`), or its host. Without a home
 * page, it is derived from the download URL.
 */
export function convertKrew(document: YamlDocument, options: ConversionOptions): Conversion {
  const report = new ConversionReport(document, options.file);
  const failed = (): Conversion => ({ diagnostics: report.diagnostics });
  const spec = objectField(document.value, 'spec') ?? {};
  const name = textField(objectField(document.value, 'metadata'), 'name') ?? '';
  const kind = pascalCase(name);
  if (kind === undefined)
    report.add('convert/name', `cannot derive a kind from the name ${JSON.stringify(shorten(name))}`, [
      'metadata',
      'name',
    ]);

  const release = options.release ?? textField(spec, 'version') ?? options.fallbackRelease;
  if (release === undefined || canonicalRelease(release) === undefined) {
    const what =
      release === undefined
        ? 'the plugin has no version'
        : `the version ${shorten(release)} is not a SemVer version`;
    report.add('convert/release', what, options.release === undefined ? ['spec', 'version'] : []);
  }
  const platforms = readPlatforms(spec, report);
  const link = readLink(spec, platforms);
  const group = options.group ?? deriveGroup(link, report);
  if (platforms.length === 0)
    report.add('convert/no-platform', 'the plugin has no supported platform', ['spec', 'platforms']);
  if (report.diagnostics.some(({ severity }) => severity === 'error')) return failed();
  if (kind === undefined || group === undefined || release === undefined) return failed();

  report.add(
    'convert/not-a-function',
    'the manifest does not state that this kubectl plugin is a KRM function',
    ['kind'],
  );
  const { page } = link;
  const usage = options.defaults?.usage === undefined ? page : undefined;
  const example = options.defaults?.examples === undefined ? page : undefined;
  if (usage !== undefined) report.add('convert/usage', `${link.name} is used as usage`, link.path);
  if (example !== undefined) report.add('convert/examples', `${link.name} is used as an example`, link.path);
  const version = definedFields({
    name: CONVERTED_VERSION,
    runtime: { exec: { platforms: platforms.map((platform) => definedFields({ ...platform })) } },
    usage,
    examples: example === undefined ? undefined : [example],
    license: convertLicense(readLicense(document.value)),
  });
  const read = definedFields({
    group,
    names: { kind },
    description: readDescription(spec, name, report),
    publisher: options.defaults?.publisher ?? derivePublisher(link, report),
    versions: [version],
    home: page,
  });
  return {
    definition: finishDefinition(read, report, options.defaults),
    release,
    diagnostics: report.diagnostics,
  };
}

/** The origin of a plugin: its home page, or its first download. */
interface PluginLink {
  url: string | undefined;
  /** The home page, or the repository of the download on a well-known git host. */
  page: string | undefined;
  path: Path;
  /** The name of the origin in messages. */
  name: string;
}

function readLink(spec: JsonObject, platforms: readonly ExecPlatform[]): PluginLink {
  const homepage = textField(spec, 'homepage')?.trim() || undefined;
  if (homepage !== undefined) {
    return { url: homepage, page: homepage, path: ['spec', 'homepage'], name: 'the homepage' };
  }
  const url = platforms[0]?.uri;
  return {
    url,
    page: repositoryPage(url),
    path: ['spec', 'platforms'],
    name: 'the repository of the download',
  };
}

function deriveGroup({ url, page, path }: PluginLink, report: ConversionReport): string | undefined {
  const group = url === undefined ? undefined : groupOfLink(url);
  const source = url === undefined || url === page ? 'the homepage' : 'the download URL';
  return report.addGroup(group, source, path);
}

/** Returns the origin; undefined if the manifest has no link. */
function derivePublisher({ url, page, path }: PluginLink, report: ConversionReport): string | undefined {
  if (url === undefined) return undefined;
  const source = url === page ? 'the homepage' : 'the download URL';
  return report.addPublisher(originOwner(url) ?? url, source, path);
}

function readDescription(spec: JsonObject, name: string, report: ConversionReport): string {
  const description = oneLine(textField(spec, 'shortDescription') ?? '');
  if (description !== '') return description;
  report.add('convert/description', `shortDescription is missing; ${name} is used`, [
    'spec',
    'shortDescription',
  ]);
  return name;
}

/** Returns the license in the annotation of Artifact Hub. Krew has no license field. */
function readLicense(value: JsonValue): JsonValue | undefined {
  return field(objectField(objectField(value, 'metadata'), 'annotations'), 'artifacthub.io/license');
}

/** Reads the platforms. As in Krew, the first matching entry counts. */
function readPlatforms(spec: JsonObject, report: ConversionReport): ExecPlatform[] {
  const platforms: ExecPlatform[] = [];
  const taken = new Set<string>();
  listField(spec, 'platforms').forEach((entry, index) => {
    const path = ['spec', 'platforms', index];
    if (!isObject(entry)) return;
    const selected = selectPlatforms(entry.selector);
    if (selected.length === 0) {
      const message = `definitions do not support the platform ${shorten(describeSelector(entry.selector))}`;
      report.add('convert/platform', message, [...path, 'selector']);
      return;
    }
    const bin = readBin(entry, path, report);
    const uri = textField(entry, 'uri') ?? '';
    const sha256 = (textField(entry, 'sha256') ?? '').toLowerCase();
    for (const { os, arch } of selected) {
      const key = `${os}/${arch}`;
      if (taken.has(key)) continue;
      taken.add(key);
      platforms.push({ bin, os, arch, uri, sha256 });
    }
  });
  return platforms;
}

/** Returns the path of the executable in the archive. Krew copies `files` out of the archive first. */
function readBin(entry: JsonObject, path: readonly (string | number)[], report: ConversionReport): string {
  const bin = normalizePath(textField(entry, 'bin') ?? '');
  const files = listField(entry, 'files');
  if (files.length === 0) return bin;
  for (const file of files) {
    const from = normalizePath(textField(file, 'from') ?? '');
    const to = normalizePath(textField(file, 'to') ?? '');
    const base = from.split('/').at(-1)!;
    const copied = to === '' || to === '.' ? base : `${to}/${base}`;
    if ((copied === bin || to === bin) && !from.includes('*')) return from;
  }
  report.add('convert/bin', `cannot determine the path of ${shorten(bin)} in the archive`, [...path, 'bin']);
  return bin;
}

function normalizePath(path: string): string {
  return path.replace(/^(?:\.?\/)+(?=.)/, '');
}
