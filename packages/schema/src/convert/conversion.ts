import { type Diagnostic, formatPath, type Path } from '../diagnostics/diagnostic.js';
import type { FunctionDefinition, JsonObject, JsonValue } from '../documents/definition.js';
import { normalizeLicense } from '../licenses/spdx-identifiers.js';
import { parseUrl } from '../names/parse-url.js';
import type { YamlDocument } from '../yaml/read-yaml.js';
import { CONVERT_CODES, type ConvertCode } from './codes.js';
import { completeDefinition, type EntryDefaults } from './complete.js';

/** What a converter makes of one document; without a definition there is an error among the diagnostics. */
export interface Conversion {
  definition?: FunctionDefinition;
  /** As it is spelled in the document, the path or the option, such as `v0.3`. */
  release?: string;
  diagnostics: Diagnostic[];
}

/** What is known of a document besides what it says. */
export interface ConversionOptions {
  /** Name of the file in diagnostics; a folder of it may name the release. */
  file: string;
  /** Spelled as the image's tag is to be, such as `v0.3`. */
  release?: string;
  /** Where neither the document nor a folder names the release. */
  fallbackRelease?: string;
  /** Instead of the group that the converter would choose. */
  group?: string;
  /** Values for fields that the document lacks. */
  defaults?: EntryDefaults;
}

/** Reports of what a converter could not know; paths are those of the converted document. */
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

  /** Adds to the same reports, with paths relative to `path`. */
  within(path: Path): ConversionReport {
    return new ConversionReport(this.document, this.file, [...this.base, ...path], this.diagnostics);
  }

  add(code: ConvertCode, message: string, at: Path = []): void {
    const { severity, fix } = CONVERT_CODES[code];
    const path = [...this.base, ...at];
    // A field that is missing has no place of its own: the whole document would be underlined.
    const range = path.length === 0 ? undefined : this.document.locate(path);
    this.diagnostics.push({
      code,
      severity,
      message,
      file: this.file,
      path: formatPath(path),
      ...(range === undefined ? {} : { range }),
      hint: fix,
    });
  }
}

/** The API version that converted definitions have: nothing is known of the real one. */
export const CONVERTED_VERSION = 'v1alpha1';

/** Completes what a converter read, as definitions of others are completed: with a report of each field that it fills. */
export function finishDefinition(
  read: JsonObject,
  report: ConversionReport,
  defaults?: EntryDefaults,
): FunctionDefinition {
  const { spec, filled } = completeDefinition(read, defaults);
  // The document has other fields than a definition, so there is nothing to point at.
  for (const { code, message } of filled) report.add(code, message);
  return spec as unknown as FunctionDefinition;
}

/** As SPDX spells it; undefined where there is none. */
export function convertLicense(license: JsonValue | undefined): string | undefined {
  if (typeof license !== 'string' || license.trim() === '') return undefined;
  return normalizeLicense(license) ?? license.trim();
}

/** `set-labels` as `SetLabels`; undefined where no valid kind comes out. */
export function pascalCase(name: string): string | undefined {
  const kind = name
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
  return /^[A-Z][A-Za-z0-9]{0,62}$/.test(kind) ? kind : undefined;
}

/** The fields that have a value. */
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

/** Host, owner and repository of a URL; owner and repository only on the well-known forges. */
export function parseOrigin(link: string): { host: string; owner?: string; repository?: string } | undefined {
  const url = parseUrl(link);
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') return undefined;
  const host = url.hostname.replace(/^www\./, '');
  const [owner, repository] = url.pathname.split('/').filter((segment) => segment !== '');
  if (!FORGES.test(host) || owner === undefined) return { host };
  return repository === undefined ? { host, owner } : { host, owner, repository };
}

/** The page of the repository that a link leads into; undefined outside the well-known forges. */
export function repositoryOf(link: string | undefined): string | undefined {
  const origin = link === undefined ? undefined : parseOrigin(link);
  return origin?.repository === undefined
    ? undefined
    : `https://${origin.host}/${origin.owner}/${origin.repository}`;
}
