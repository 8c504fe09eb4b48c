import type { ExecPlatform, FunctionDefinition, JsonObject, JsonValue } from '../documents/definition.js';
import { canonicalRelease } from '../documents/release.js';
import { field, isObject, listField, objectField, textField } from '../json/access.js';
import { isGroup } from '../names/gvk.js';
import type { YamlDocument } from '../yaml/read-yaml.js';
import { shorten } from '../yaml/scalars.js';
import {
  type Conversion,
  ConversionReport,
  convertLicense,
  oneLine,
  parseOrigin,
  pascalCase,
  placeholderVersion,
} from './conversion.js';
import { describeSelector, selectPlatforms } from './selector.js';

/** Pages of an owner, whose domain is a group that only this owner can hold. */
const PAGES: Readonly<Record<string, string>> = { 'github.com': 'github.io', 'gitlab.com': 'gitlab.io' };

/**
 * A Krew plugin manifest as a definition with an exec runtime. The group is the one given, else the domain of the
 * owner's pages for a home page on GitHub or GitLab (`owner.github.io`), else the host of the home page.
 */
export function convertKrew(
  document: YamlDocument,
  options: { file: string; release?: string; group?: string },
): Conversion {
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

  const release = options.release ?? textField(spec, 'version');
  if (release === undefined || canonicalRelease(release) === undefined) {
    const what =
      release === undefined
        ? 'the plugin has no version'
        : `the version ${shorten(release)} is not a SemVer version`;
    report.add('convert/release', what, options.release === undefined ? ['spec', 'version'] : []);
  }
  const homepage = textField(spec, 'homepage')?.trim() || undefined;
  const group = options.group ?? deriveGroup(homepage, report);
  const platforms = readPlatforms(spec, report);
  if (homepage === undefined)
    report.add('convert/no-document', 'the plugin has no homepage', ['spec', 'homepage']);
  if (platforms.length === 0)
    report.add('convert/no-platform', 'no supported platform', ['spec', 'platforms']);
  if (report.diagnostics.some(({ severity }) => severity === 'error')) return failed();
  if (kind === undefined || group === undefined || homepage === undefined || release === undefined)
    return failed();

  report.add(
    'convert/not-a-function',
    'the manifest does not state that this kubectl plugin is a KRM function',
    ['kind'],
  );
  report.add('convert/usage', 'the homepage is used as usage', ['spec', 'homepage']);
  report.add('convert/examples', 'the homepage is used as an example', ['spec', 'homepage']);
  const definition: FunctionDefinition = {
    group,
    names: { kind },
    description: readDescription(spec, name, report),
    publisher: derivePublisher(homepage, report),
    versions: [
      {
        ...placeholderVersion(report),
        runtime: { exec: { platforms } },
        usage: homepage,
        examples: [homepage],
        license: convertLicense(readLicense(document.value), report),
      },
    ],
    home: homepage,
  };
  return { definition, release, diagnostics: report.diagnostics };
}

function deriveGroup(homepage: string | undefined, report: ConversionReport): string | undefined {
  const origin = homepage === undefined ? undefined : parseOrigin(homepage);
  const pages = origin === undefined ? undefined : PAGES[origin.host];
  const group = (pages === undefined ? origin?.host : `${origin?.owner}.${pages}`)?.toLowerCase();
  const path = ['spec', 'homepage'];
  // The host of a forge belongs to no one who publishes on it.
  const shared = origin?.owner !== undefined && pages === undefined;
  if (
    group === undefined ||
    shared ||
    !isGroup(group) ||
    (pages !== undefined && origin?.owner === undefined)
  ) {
    report.add('convert/no-group', 'cannot derive a group from the homepage', path);
    return undefined;
  }
  report.add('convert/group', `the group ${group} is derived from the homepage`, path);
  return group;
}

function derivePublisher(homepage: string, report: ConversionReport): string {
  const origin = parseOrigin(homepage);
  const publisher =
    origin?.owner === undefined ? (origin?.host ?? homepage) : `${origin.host}/${origin.owner}`;
  report.add('convert/publisher', `the publisher ${shorten(publisher)} is derived from the homepage`, [
    'spec',
    'homepage',
  ]);
  return publisher;
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

/** Krew has no license; authors who also list their plugin on Artifact Hub name it in an annotation. */
function readLicense(value: JsonValue): JsonValue | undefined {
  return field(objectField(objectField(value, 'metadata'), 'annotations'), 'artifacthub.io/license');
}

/** As in Krew, the first entry that matches a platform is the one for it. */
function readPlatforms(spec: JsonObject, report: ConversionReport): ExecPlatform[] {
  const platforms: ExecPlatform[] = [];
  const taken = new Set<string>();
  listField(spec, 'platforms').forEach((entry, index) => {
    const path = ['spec', 'platforms', index];
    if (!isObject(entry)) return;
    const selected = selectPlatforms(entry.selector);
    if (selected.length === 0) {
      const message = `a definition cannot express ${shorten(describeSelector(entry.selector))}`;
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

/** Krew copies `files` out of the archive first; a definition names the program as it lies in the archive. */
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
  report.add('convert/bin', `where ${shorten(bin)} lies in the archive is not known for sure`, [
    ...path,
    'bin',
  ]);
  return bin;
}

function normalizePath(path: string): string {
  return path.replace(/^(?:\.?\/)+(?=.)/, '');
}
