import type { Diagnostic } from '../diagnostics/diagnostic.js';
import { hasErrors } from '../diagnostics/diagnostic.js';
import { readDialect } from '../dialects/read-dialect.js';
import { isKptMetadata, isKrewPlugin, recognizeDocument } from '../dialects/recognize.js';
import type { CatalogKind } from '../documents/catalog.js';
import type { FunctionDefinition } from '../documents/definition.js';
import { canonicalRelease } from '../documents/release.js';
import { isObject } from '../json/access.js';
import type { YamlDocument } from '../yaml/read-yaml.js';
import { shorten } from '../yaml/scalars.js';
import { completeDraft } from './complete-draft.js';
import { type Conversion, ConversionReport } from './conversion.js';
import { convertKptMetadata } from './kpt-metadata.js';
import { convertKrew } from './krew.js';

export { CONVERT_CODES, type ConvertCode } from './codes.js';
export { completeDefinition, type EntryDefaults } from './complete.js';
export { releaseFromPath } from './release-path.js';

/** The kinds of document that can be converted. */
export const CONVERT_SOURCES = ['kep', 'kpt-metadata', 'krew'] as const;
export type ConvertSource = (typeof CONVERT_SOURCES)[number];

export interface ConvertOptions {
  /** Name of the file in diagnostics; a folder of it may name the release. */
  file: string;
  /** Default `auto`: what the document looks like. */
  from?: 'auto' | ConvertSource;
  /** Spelled as the image's tag is to be, such as `v0.3`. */
  release?: string;
  /** Instead of the group that the converter would choose. Definitions and catalogs keep theirs. */
  group?: string;
}

export interface ConvertResult {
  /** Completed, but not checked: lint them. */
  definitions: FunctionDefinition[];
  /** What the document was. */
  source?: ConvertSource;
  /** Of a catalog that has a name. */
  catalog?: { kind: CatalogKind; name: string; labels?: Record<string, string> };
  /** As it is spelled in the options, the document or the path. */
  release?: string;
  diagnostics: Diagnostic[];
}

/** Converts one document into definitions in the normal form. Without definitions the diagnostics say why. */
export function convertDocument(document: YamlDocument, options: ConvertOptions): ConvertResult {
  const source =
    options.from === undefined || options.from === 'auto' ? detectSource(document) : options.from;
  if (source === 'kep') return convertKep(document, options);
  const known =
    source === 'krew' ? isKrewPlugin(document.value) : source !== undefined && isObject(document.value);
  if (source === undefined || !known) {
    const report = new ConversionReport(document, options.file);
    const { name } = recognizeDocument(document.value);
    const expected =
      source === undefined
        ? 'a definition, a catalog, function metadata of kpt or a Krew plugin'
        : `--from ${source}`;
    report.add('convert/unknown-document', `this is ${name}; expected ${expected}`);
    return { definitions: [], diagnostics: report.diagnostics };
  }
  const { definition, ...rest }: Conversion =
    source === 'krew' ? convertKrew(document, options) : convertKptMetadata(document, options);
  return { definitions: definition === undefined ? [] : [definition], source, ...rest };
}

function detectSource({ value }: YamlDocument): ConvertSource | undefined {
  if (isKptMetadata(value)) return 'kpt-metadata';
  if (isKrewPlugin(value)) return 'krew';
  if (!isObject(value)) return undefined;
  return ['KRMFunctionDefinition', 'Catalog', 'KRMFunctionCatalog'].includes(String(value.kind))
    ? 'kep'
    : undefined;
}

function convertKep(document: YamlDocument, { file, release }: ConvertOptions): ConvertResult {
  const { kind, drafts, catalog, diagnostics } = readDialect(document, file);
  const result: ConvertResult = { definitions: [], diagnostics };
  if (kind === undefined || hasErrors(diagnostics)) return result;
  result.source = 'kep';
  // The shape is lint's to check: what cannot be completed is missing in the author's document.
  const completed = drafts.map((draft) => completeDraft(draft));
  result.definitions = completed.map(({ draft }) => draft.spec as unknown as FunctionDefinition);
  result.diagnostics = [...diagnostics, ...completed.flatMap((one) => one.diagnostics)];
  if (kind !== 'KRMFunctionDefinition' && catalog !== undefined) result.catalog = { kind, ...catalog };
  if (release === undefined) return result;
  result.release = release;
  if (canonicalRelease(release) === undefined) {
    const report = new ConversionReport(document, file);
    report.add('convert/release', `the release ${shorten(release)} is not a SemVer version`);
    result.diagnostics.push(...report.diagnostics);
  }
  return result;
}
