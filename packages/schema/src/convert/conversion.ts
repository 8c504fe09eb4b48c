import type { YamlDocument } from '@krmhub/yaml/read/read-yaml';
import { shorten } from '@krmhub/yaml/read/scalars';
import { defined } from '../defined.js';
import { type Diagnostic, formatPath, type Path } from '../diagnostics/diagnostic.js';
import type { FunctionDefinition, JsonObject, JsonValue } from '../documents/definition.js';
import { normalizeLicense } from '../licenses/spdx-identifiers.js';
import { parseUrl } from '../names/parse-url.js';
import { CONVERT_CODES, type ConvertCode } from './codes.js';
import { completeDefinition, type EntryDefaults } from './complete.js';

/** The result of converting one document. Without a definition, the diagnostics contain an error. */
export interface Conversion {
  definition?: FunctionDefinition;
  /** The release in its original spelling, such as `v0.3`. */
  release?: string;
  diagnostics: Diagnostic[];
}

/** Information about a document that is not in the document. */
export interface ConversionOptions {
  /** Name of the file in diagnostics. One of its folders can be the release. */
  file: string;
  /** The release in the spelling of the image tag, such as `v0.3`. */
  release?: string;
  /** The release if neither the document nor a folder contains one. */
  fallbackRelease?: string;
  /** The group, instead of the derived group. */
  group?: string;
  /** Values for missing fields. */
  defaults?: EntryDefaults;
}

/** Collects the reports of a converter. Paths are those of the converted document. */
export class ConversionReport {
  readonly diagnostics: Diagnostic[];
  private readonly document: YamlDocument;
  private readonly file: string;
  private readonly base: Path;

  constructor(document: YamlDocument, file: string, base: Path = [], diagnostics: Diagnostic[] = []) {
    this.document = document;
    this.file = file;
    this.base = base;
    this.diagnostics = diagnostics;
  }

  /** Returns a report that adds to this one, with paths relative to `path`. */
  within(path: Path): ConversionReport {
    return new ConversionReport(this.document, this.file, [...this.base, ...path], this.diagnostics);
  }

  add(code: ConvertCode, message: string, at: Path = []): void {
    const { severity, fix } = CONVERT_CODES[code];
    const path = [...this.base, ...at];
    // A missing field has no position, so the whole document would be underlined.
    const range = path.length === 0 ? undefined : this.document.locate(path);
    this.diagnostics.push({
      code,
      severity,
      message,
      file: this.file,
      path: formatPath(path),
      ...defined({ range }),
      hint: fix,
    });
  }

  /** Reports the fields of a mapping that are not converted. */
  addDropped(mapping: JsonObject, known: ReadonlySet<string>, at: Path = []): void {
    for (const name of Object.keys(mapping)) {
      if (!known.has(name)) this.add('convert/dropped-field', `${shorten(name)} is omitted`, [...at, name]);
    }
  }

  /** Reports from what a group is derived, and returns it; `sources` names what was tried. */
  addGroup(group: string | undefined, source: string, at: Path, sources = source): string | undefined {
    if (group === undefined) this.add('convert/no-group', `cannot derive a group from ${sources}`, at);
    else this.add('convert/group', `the group ${group} is derived from ${source}`, at);
    return group;
  }

  /** Reports from what a publisher is derived, and returns it. */
  addPublisher(publisher: string, source: string, at: Path): string {
    this.add('convert/publisher', `the publisher ${shorten(publisher)} is derived from ${source}`, at);
    return publisher;
  }
}

/** The API version of converted definitions, because the real one is unknown. */
export const CONVERTED_VERSION = 'v1alpha1';

/** Completes a converted definition like other definitions, with a report for each completed field. */
export function finishDefinition(
  read: JsonObject,
  report: ConversionReport,
  defaults?: EntryDefaults,
): FunctionDefinition {
  const { spec, filled } = completeDefinition(read, defaults);
  // The document has other fields than a definition, so there is no position.
  for (const { code, message } of filled) report.add(code, message);
  return spec as unknown as FunctionDefinition;
}

/** Returns the license in SPDX spelling; undefined without a license. */
export function convertLicense(license: JsonValue | undefined): string | undefined {
  if (typeof license !== 'string' || license.trim() === '') return undefined;
  return normalizeLicense(license) ?? license.trim();
}

/** Returns the fields with a value. */
export function definedFields(fields: Record<string, JsonValue | undefined>): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined),
  );
}

export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

export function stringItems(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

const FORGES = /^(?:github\.com|gitlab\.com|bitbucket\.org|codeberg\.org)$/;

/** Host, owner, and repository of a URL. Owner and repository are set only for well-known git hosts. */
export function parseOrigin(link: string): { host: string; owner?: string; repository?: string } | undefined {
  const url = parseUrl(link);
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') return undefined;
  const host = url.hostname.replace(/^www\./, '');
  const [owner, repository] = url.pathname.split('/').filter((segment) => segment !== '');
  if (!FORGES.test(host) || owner === undefined) return { host };
  return repository === undefined ? { host, owner } : { host, owner, repository };
}

/** Returns the host and owner of a URL, for a publisher. */
export function originOwner(link: string): string | undefined {
  const origin = parseOrigin(link);
  return origin?.owner === undefined ? origin?.host : `${origin.host}/${origin.owner}`;
}

/** Returns the page of the repository of a link; undefined for unknown git hosts. */
export function repositoryPage(link: string | undefined): string | undefined {
  const origin = link === undefined ? undefined : parseOrigin(link);
  return origin?.repository === undefined
    ? undefined
    : `https://${origin.host}/${origin.owner}/${origin.repository}`;
}
