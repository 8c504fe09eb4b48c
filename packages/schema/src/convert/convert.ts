/**
 * Converts documents of kpt, Porch, and Krew, and any dialect of the KEP, to definitions in normal form.
 *
 * @module
 */

import type { YamlDocument } from '@krmhub/yaml/read/read-yaml';
import { shorten } from '@krmhub/yaml/read/scalars';
import type { Diagnostic } from '../diagnostics/diagnostic.js';
import { hasErrors } from '../diagnostics/diagnostic.js';
import { readDialect } from '../dialects/read-dialect.js';
import { detectFormat, recognizeDocument } from '../dialects/recognize.js';
import type { CatalogKind } from '../documents/catalog.js';
import type { FunctionDefinition, JsonValue } from '../documents/definition.js';
import type { ConvertSource } from '../documents/formats.js';
import { canonicalRelease } from '../documents/release.js';
import { isObject } from '../json/access.js';
import { completeDraft } from './complete-draft.js';
import { type Conversion, type ConversionOptions, ConversionReport } from './conversion.js';
import { convertKptList } from './kpt-list.js';
import { convertKptMetadata } from './kpt-metadata.js';
import { convertKrew } from './krew.js';
import { convertPorch } from './porch.js';

export { CONVERT_CODES, type ConvertCode } from './codes.js';
export { completeDefinition, type EntryDefaults } from './complete.js';
export { releaseFromPath } from './release-path.js';

/** Definitions and catalogs keep their group. */
export interface ConvertOptions extends ConversionOptions {
  /** Default `auto`: detect the type of the document. */
  from?: 'auto' | ConvertSource;
}

export interface ConvertResult {
  /** Completed, but not checked. Lint them. */
  definitions: FunctionDefinition[];
  /** The type of the document. */
  source?: ConvertSource;
  /** The name of the catalog, if it has one. */
  catalog?: { kind: CatalogKind; name: string; labels?: Record<string, string> };
  /** The release in its original spelling. */
  release?: string;
  diagnostics: Diagnostic[];
}

type Converter = (document: YamlDocument, options: ConversionOptions) => Conversion | Conversion[];

const CONVERTERS: Record<Exclude<ConvertSource, 'kep'>, Converter> = {
  'kpt-metadata': convertKptMetadata,
  'kpt-list': convertKptList,
  krew: convertKrew,
  porch: convertPorch,
};

/**
 * Converts one document to definitions in normal form: one result, or one for each function of a list. If there are no
 * definitions, the diagnostics contain the reason.
 */
export function convertDocument(document: YamlDocument, options: ConvertOptions): ConvertResult[] {
  const source =
    options.from === undefined || options.from === 'auto' ? detectSource(document.value) : options.from;
  if (source === 'kep') return [convertKep(document, options)];
  // kpt metadata has no marker, so --from is enough.
  const isMeant =
    source === 'kpt-metadata' ? isObject(document.value) : source === detectFormat(document.value);
  if (source === undefined || !isMeant) {
    const report = new ConversionReport(document, options.file);
    const { name } = recognizeDocument(document.value);
    const expected =
      source === undefined
        ? 'a definition, a catalog, kpt function metadata, a kpt function list, a Porch FunctionConfig, or a Krew plugin'
        : `--from ${source}`;
    report.add('convert/unknown-document', `this is ${name}; expected ${expected}`);
    return [{ definitions: [], diagnostics: report.diagnostics }];
  }
  return [CONVERTERS[source](document, options)].flat().map(({ definition, ...rest }) => ({
    definitions: definition === undefined ? [] : [definition],
    source,
    ...rest,
  }));
}

function detectSource(value: JsonValue): ConvertSource | undefined {
  const isKep =
    isObject(value) &&
    ['KRMFunctionDefinition', 'Catalog', 'KRMFunctionCatalog'].includes(String(value.kind));
  return isKep ? 'kep' : detectFormat(value);
}

function convertKep(document: YamlDocument, options: ConvertOptions): ConvertResult {
  const { file, release, defaults } = options;
  const { kind, drafts, catalog, diagnostics } = readDialect(document, file);
  const result: ConvertResult = { definitions: [], diagnostics };
  if (kind === undefined || hasErrors(diagnostics)) return result;
  result.source = 'kep';
  // Lint checks the shape: a field that is not completed is missing in the document.
  const completed = drafts.map((draft) => completeDraft(draft, defaults));
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
