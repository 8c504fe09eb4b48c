import path from 'node:path';
import {
  type CatalogHeader,
  compareFunctionNames,
  renderCatalog,
  renderDefinition,
  renderEntry,
  renderProfile,
} from '@krmhub/catalog';
import { readFileUpTo } from '@krmhub/consume/files/read-file';
import { writeFileAtomically } from '@krmhub/consume/files/write-file';
import {
  type ConvertResult,
  type ConvertSource,
  canonicalRelease,
  convertDocument,
  type Diagnostic,
  type EntryDefaults,
  type FunctionDefinition,
  hasErrors,
  isGroup,
  KrmhubError,
  lint,
  lintDefinition,
  PROFILES,
  type Profile,
  type ProfileReport,
  readYaml,
} from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { escapeControls, plural } from '@krmhub/schema/text';
import { type DocumentFile, readDocumentFiles } from '../documents/document-files.js';
import { checkOutput } from '../io/check-output.js';
import { printDiagnostics } from '../io/diagnostics.js';
import { editedText } from '../io/edited-text.js';
import { FINDINGS } from '../io/exit-code.js';
import { type Io, writeData } from '../io/io.js';
import { type OutputFormat, printData, printLine } from '../io/print.js';
import { Progress } from '../io/progress.js';
import { printUnsupportedFields, reportText } from '../io/unsupported-fields.js';
import { printCorrections, printWarnings } from '../io/warnings.js';
import { type Converted, type Distinct, distinctDefinitions } from './distinct-definitions.js';
import { checkSupplied, readSupplied, type SuppliedValues, suppliedHint } from './supplied-values.js';

export interface ConvertFilesOptions extends SuppliedValues {
  from: 'auto' | ConvertSource;
  to: 'definition' | 'catalog' | 'krmfunctioncatalog' | Profile;
  losses?: string;
  out?: string;
  release?: string;
  group?: string;
  name?: string;
  overwrite?: boolean;
  output: OutputFormat;
}

interface Conversion {
  converted: Converted[];
  diagnostics: Diagnostic[];
  sources: Map<string, Uint8Array>;
  /** Names and labels of the input catalogs. */
  catalogs: CatalogHeader[];
  skipped: number;
}

/** Converts files, prints the problems, and sets the exit code. */
export async function convertFiles(
  io: Io,
  names: readonly string[],
  options: ConvertFilesOptions,
): Promise<void> {
  checkOutput('converted', options);
  checkOptions(options);
  const conversion = await readAll(io, names, options);
  const { sources, skipped } = conversion;
  await checkSupplied(io, conversion.converted, options);
  const found = distinctDefinitions(conversion.converted, options.to === 'definition');
  const converted = found.distinct;
  const diagnostics = [...conversion.diagnostics, ...found.clashes];
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  await printDiagnostics(io, io.stderr, errors, sources);
  await printCorrections(io, diagnostics, sources);
  const place = options.out === undefined ? '' : ` ${options.out}`;
  await printWarnings(
    io,
    diagnostics,
    sources,
    escapeControls(`list them with \`krmhub lint${place} -o json\``),
  );
  const hint = suppliedHint(errors, options);
  if (hint !== undefined) await printLine(io, hint);
  if (skipped > 0) await printLine(io, `${plural(skipped, 'file')} of other kinds skipped`);
  if (errors.length > 0) io.exitCode = FINDINGS;
  const report = (files: readonly WrittenFile[]) =>
    printData(
      io,
      options.output,
      { definitions: converted.length, files, diagnostics },
      async () => undefined,
    );
  if (converted.length === 0) {
    if (errors.length > 0) {
      await printLine(io, 'converted no files');
      return report([]);
    }
    throw new KrmhubError('not-found', `nothing to convert in ${names.join(', ')}`, {
      hint: 'Use definitions, catalogs, kpt function metadata, kpt function lists, Porch FunctionConfigs, or Krew plugins.',
    });
  }
  const { files, losses } =
    options.to === 'definition'
      ? { files: buildDefinitionFiles(converted) }
      : buildCatalogFile(converted, conversion.catalogs, options.to, options.name);
  const failed = failureSummary([...errors.map(({ file }) => file), ...found.clashing], converted);
  const what = plural(converted.length, 'definition');
  if (options.out === undefined) {
    const separator = options.to === 'definition' && files.length > 1 ? '---\n' : '';
    for (const { text } of files) await writeData(io.stdout, separator + text);
    if (failed !== '') await printLine(io, `converted ${what}${failed}`);
    if (losses !== undefined) await reportUnsupportedFields(io, losses, options.losses);
    return;
  }
  const written = await writeAll(io, options.out, files, options);
  const unchanged = written.filter(({ outcome }) => outcome === 'unchanged').length;
  const same = unchanged === 0 ? '' : `, ${plural(unchanged, 'file')} unchanged`;
  await printLine(io, escapeControls(`wrote ${what} to ${options.out}${same}${failed}`));
  if (losses !== undefined) await reportUnsupportedFields(io, losses, options.losses);
  await report(written);
}

async function reportUnsupportedFields(
  io: Io,
  report: ProfileReport,
  file: string | undefined,
): Promise<void> {
  if (file !== undefined) {
    await writeFileAtomically(path.resolve(io.cwd, file), reportText(report), { overwrite: true });
  }
  await printUnsupportedFields(
    io,
    report,
    file === undefined ? 'list them with --losses FILE' : `see ${file}`,
  );
}

/** Summarizes the files with errors: some give no definition, some give a definition with errors. */
function failureSummary(files: readonly string[], converted: readonly Converted[]): string {
  const faulty = new Set(files);
  const given = new Set(converted.map(({ file }) => file));
  const without = [...faulty].filter((file) => !given.has(file)).length;
  const within = faulty.size - without;
  const nothing = without === 0 ? '' : `; ${plural(without, 'file')} not converted`;
  return within === 0 ? nothing : `${nothing}; fix the errors in ${plural(within, 'file')}`;
}

function checkOptions({ release, group, name, to, losses }: ConvertFilesOptions): void {
  if (losses !== undefined && !isProfile(to)) {
    throw new KrmhubError('usage', '--losses requires a profile in --to', {
      hint: `Use --to with one of: ${PROFILES.join(', ')}`,
    });
  }
  if (release !== undefined && canonicalRelease(release) === undefined) {
    throw new KrmhubError(
      'usage',
      `--release ${release} is not a SemVer version, or has build metadata (+…)`,
      {
        hint: 'Use a release such as 1.2.3 or v0.3, for example: --release v0.3',
      },
    );
  }
  if (group !== undefined && !isGroup(group)) {
    throw new KrmhubError('usage', `--group ${group} is not a valid group`, {
      hint: 'Use a lower-case DNS name with a dot, for example: --group example.com',
    });
  }
  if (name !== undefined && to === 'definition') {
    throw new KrmhubError('usage', '--name requires the output of a catalog', {
      hint: 'Add --to catalog.',
    });
  }
}

async function readAll(io: Io, names: readonly string[], options: ConvertFilesOptions): Promise<Conversion> {
  const defaults = readSupplied(options);
  const conversion: Conversion = {
    converted: [],
    diagnostics: [],
    sources: new Map(),
    catalogs: [],
    skipped: 0,
  };
  const progress = new Progress(io);
  for await (const source of readDocumentFiles(io, names)) {
    if (conversion.sources.has(source.name)) continue;
    await progress.show(`converting ${source.name}`);
    convertSource(source, options, defaults, conversion);
  }
  await progress.clear();
  return conversion;
}

function convertSource(
  { name: file, bytes, explicit }: DocumentFile,
  options: ConvertFilesOptions,
  defaults: EntryDefaults,
  into: Conversion,
): void {
  const { documents, diagnostics } = readYaml(bytes, { file });
  const { from, release, group } = options;
  const results = documents.flatMap((document) =>
    convertDocument(document, {
      file,
      // A named file must have the requested type; a file in a folder is skipped if it has another type.
      from: explicit ? from : 'auto',
      ...defined({ release, group }),
      defaults,
    }),
  );
  const foreign =
    !hasErrors(diagnostics.filter(({ code }) => code !== 'yaml/empty')) &&
    results.every((result) => isOther(result, from));
  if (foreign && !explicit) {
    into.skipped++;
    return;
  }
  into.sources.set(file, bytes);
  into.diagnostics.push(...diagnostics);
  if (results.some(({ source }) => source === 'kep')) addLinted(file, bytes, release, defaults, into);
  for (const result of results) {
    if (result.source === 'kep') continue;
    into.diagnostics.push(...result.diagnostics);
    for (const definition of result.definitions) {
      into.diagnostics.push(...lintDefinition(definition, { file }));
      into.converted.push(toConverted(file, definition, result.release));
    }
  }
}

/** Reports whether a document has an unknown type, or another type than the requested one. */
function isOther({ source, diagnostics }: ConvertResult, from: ConvertFilesOptions['from']): boolean {
  if (diagnostics.some(({ code }) => code === 'convert/unknown-document')) return true;
  return from !== 'auto' && source !== undefined && source !== from;
}

/**
 * Adds definitions and catalogs of the KEP, completed. Lint reports positions and returns only those without errors.
 */
function addLinted(
  file: string,
  bytes: Uint8Array,
  release: string | undefined,
  complete: EntryDefaults,
  into: Conversion,
): void {
  const { diagnostics, documents } = lint(bytes, { file, complete });
  // Other documents of the file are converted separately.
  into.diagnostics.push(
    ...diagnostics.filter(
      ({ code }) =>
        code !== 'dialect/unknown-document' &&
        code !== 'dialect/misspelled-document' &&
        !code.startsWith('yaml/'),
    ),
  );
  for (const document of documents) {
    const isCatalog = document.kind !== 'KRMFunctionDefinition';
    if (isCatalog) {
      const { name, labels } = document.catalog;
      into.catalogs.push({ name, ...defined({ labels }) });
    }
    const definitions = isCatalog ? document.catalog.functions : [document.definition];
    into.converted.push(...definitions.map((definition) => toConverted(file, definition, release)));
  }
}

function toConverted(file: string, definition: FunctionDefinition, release: string | undefined): Converted {
  const canonical = release === undefined ? undefined : canonicalRelease(release);
  return { file, definition, ...defined({ release: canonical }) };
}

interface OutputFile {
  /** Relative to the output folder. */
  name: string;
  text: string;
}

interface WrittenFile {
  file: string;
  outcome: 'written' | 'unchanged';
}

function buildDefinitionFiles(converted: Distinct['distinct']): OutputFile[] {
  return converted.map(({ name, definition }) => ({
    name: path.join(...name.split('/')),
    text: renderDefinition(definition),
  }));
}

function isProfile(to: ConvertFilesOptions['to']): to is Profile {
  return (PROFILES as readonly string[]).includes(to);
}

function buildCatalogFile(
  converted: readonly Converted[],
  catalogs: readonly CatalogHeader[],
  to: Exclude<ConvertFilesOptions['to'], 'definition'>,
  given: string | undefined,
): { files: OutputFile[]; losses?: ProfileReport } {
  const definitions = converted
    .map(({ definition }) => ({ group: definition.group, kind: definition.names.kind, definition }))
    .sort(compareFunctionNames)
    .map(({ definition }) => definition);
  const only = catalogs.length === 1 ? catalogs[0] : undefined;
  const header = { name: 'converted', ...only, ...defined({ name: given }) };
  const name = 'catalog.yaml';
  if (isProfile(to)) {
    const { text, report } = renderProfile(to, header, definitions);
    return { files: [{ name, text }], losses: report };
  }
  const rendition = to === 'catalog' ? 'catalog.yaml' : 'krmfunctioncatalog.yaml';
  return {
    files: [{ name, text: [...renderCatalog(rendition, header, definitions.map(renderEntry))].join('') }],
  };
}

async function writeAll(
  io: Io,
  folder: string,
  files: readonly OutputFile[],
  { overwrite = false, to }: ConvertFilesOptions,
): Promise<WrittenFile[]> {
  const present: string[] = [];
  for (const { name, text } of overwrite ? [] : files) {
    if (await differs(io, path.join(folder, name), text)) present.push(path.join(folder, name));
  }
  if (present.length > 0) {
    throw new KrmhubError('conflict', `cannot write existing files that differ: ${present.join(', ')}`, {
      hint: 'Nothing was written. Replace the files with --overwrite, or use another folder with --out.',
    });
  }
  const written: WrittenFile[] = [];
  for (const { name, text } of files) {
    // The bytes of a catalog are its digest; a definition is a file that someone writes.
    const wanted =
      overwrite && to === 'definition' ? await editedText(io, path.join(folder, name), text) : text;
    const outcome = await writeFileAtomically(path.resolve(io.cwd, folder, name), wanted, { overwrite });
    written.push({ file: path.join(folder, name), outcome });
  }
  return written;
}

/** Reports whether a file exists with other bytes. */
async function differs(io: Io, name: string, text: string): Promise<boolean> {
  const wanted = Buffer.from(text);
  try {
    return !wanted.equals(await readFileUpTo(io, name, wanted.length));
  } catch (error) {
    if (error instanceof KrmhubError && error.code === 'not-found') return false;
    throw error;
  }
}
