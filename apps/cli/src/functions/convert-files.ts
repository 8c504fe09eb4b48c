import path from 'node:path';
import {
  type CatalogHeader,
  compareFunctionNames,
  renderCatalog,
  renderDefinition,
  renderEntry,
  renderProfile,
} from '@krmhub/catalog';
import {
  type ConvertResult,
  type ConvertSource,
  canonicalRelease,
  convertDocument,
  type Diagnostic,
  type FunctionDefinition,
  hasErrors,
  isGroup,
  KrmhubError,
  kebabCase,
  lint,
  lintDefinition,
  PROFILES,
  type Profile,
  type ProfileReport,
  readYaml,
} from '@krmhub/schema';
import { type DocumentFile, readDocumentFiles } from '../documents/document-files.js';
import { readFileUpTo } from '../files/read-file.js';
import { writeFileAtomically } from '../files/write-file.js';
import { printDiagnostics } from '../io/diagnostics.js';
import { FINDINGS } from '../io/exit-code.js';
import { type Io, write } from '../io/io.js';
import { printLine } from '../io/print.js';
import { Progress } from '../io/progress.js';
import { plural, visible } from '../io/text.js';
import { printUnsupportedFields, reportText } from '../io/unsupported-fields.js';
import { printCorrections, printWarnings } from '../io/warnings.js';

export interface ConvertFilesOptions {
  from: 'auto' | ConvertSource;
  to: 'definition' | 'catalog' | 'krmfunctioncatalog' | Profile;
  losses?: string;
  out?: string;
  release?: string;
  group?: string;
  name?: string;
  force?: boolean;
}

interface Converted {
  file: string;
  definition: FunctionDefinition;
  /** Canonical. */
  release?: string;
}

interface Conversion {
  converted: Converted[];
  diagnostics: Diagnostic[];
  sources: Map<string, Uint8Array>;
  /** Names and labels that catalogs among the files have. */
  catalogs: CatalogHeader[];
  passedOver: number;
}

/** Converts what can be converted, says what cannot, and sets the exit code. */
export async function convertFiles(
  io: Io,
  names: readonly string[],
  options: ConvertFilesOptions,
): Promise<void> {
  checkOptions(options);
  const conversion = await readAll(io, names, options);
  const { converted, diagnostics, sources, passedOver } = conversion;
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  await printDiagnostics(io, io.stderr, errors, sources);
  await printCorrections(io, diagnostics, sources);
  const place = options.out === undefined ? '' : ` ${options.out}`;
  await printWarnings(io, diagnostics, sources, visible(`\`krmhub lint${place}\` shows those that stay`));
  if (passedOver > 0) await printLine(io, `${plural(passedOver, 'file')} of other kinds skipped`);
  if (errors.length > 0) io.exitCode = FINDINGS;
  if (converted.length === 0) {
    if (errors.length > 0) return printLine(io, 'nothing converted');
    throw new KrmhubError('not-found', `there is nothing to convert in ${names.join(', ')}`, {
      hint: 'Convert reads definitions, catalogs, function metadata of kpt and Krew plugins.',
    });
  }
  const { files, report } =
    options.to === 'definition'
      ? { files: definitionFiles(converted) }
      : catalogFile(conversion, options.to, options.name);
  const failed = failures(errors, converted);
  const what = plural(converted.length, 'definition');
  if (options.out === undefined) {
    const separator = options.to === 'definition' && files.length > 1 ? '---\n' : '';
    for (const { text } of files) await write(io.stdout, separator + text);
    if (failed !== '') await printLine(io, `${what} converted${failed}`);
    if (report !== undefined) await reportUnsupportedFields(io, report, options.losses);
    return;
  }
  const written = await writeAll(io, options.out, files, options.force === true);
  const unchanged = files.length - written;
  const same = unchanged === 0 ? '' : `, ${plural(unchanged, 'file')} unchanged`;
  await printLine(io, visible(`${what} written to ${options.out}${same}${failed}`));
  if (report !== undefined) await reportUnsupportedFields(io, report, options.losses);
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
    file === undefined ? '--losses FILE has all of them' : `${file} has all`,
  );
}

/** What came of the files with errors: some give no definition, some give one with faults. */
function failures(errors: readonly Diagnostic[], converted: readonly Converted[]): string {
  const faulty = new Set(errors.map(({ file }) => file));
  const given = new Set(converted.map(({ file }) => file));
  const without = [...faulty].filter((file) => !given.has(file)).length;
  const within = faulty.size - without;
  const nothing = without === 0 ? '' : `; ${plural(without, 'file')} not converted`;
  return within === 0 ? nothing : `${nothing}; errors in ${plural(within, 'file')} that must be mended`;
}

function checkOptions({ release, group, name, to, losses }: ConvertFilesOptions): void {
  if (losses !== undefined && !isProfile(to)) {
    throw new KrmhubError('usage', '--losses is of a profile, and goes with --to and its name', {
      hint: `The profiles are ${PROFILES.join(', ')}.`,
    });
  }
  if (release !== undefined && canonicalRelease(release) === undefined) {
    throw new KrmhubError('usage', `--release ${release} is not a SemVer version without build metadata`, {
      hint: 'Name the release like 1.2.3 or v0.3.',
    });
  }
  if (group !== undefined && !isGroup(group)) {
    throw new KrmhubError('usage', `--group ${group} is no group: a lower-case DNS name with a dot`);
  }
  if (name !== undefined && to === 'definition') {
    throw new KrmhubError('usage', '--name is the name of a catalog, and goes with --to catalog');
  }
}

async function readAll(io: Io, names: readonly string[], options: ConvertFilesOptions): Promise<Conversion> {
  const conversion: Conversion = {
    converted: [],
    diagnostics: [],
    sources: new Map(),
    catalogs: [],
    passedOver: 0,
  };
  const progress = new Progress(io);
  for await (const source of readDocumentFiles(io, names)) {
    if (conversion.sources.has(source.name)) continue;
    await progress.show(`converting ${source.name}`);
    convertSource(source, options, conversion);
  }
  await progress.clear();
  return conversion;
}

function convertSource(
  { name: file, bytes, explicit }: DocumentFile,
  options: ConvertFilesOptions,
  into: Conversion,
): void {
  const { documents, diagnostics } = readYaml(bytes, { file });
  const { from, release, group } = options;
  const results = documents.map((document) =>
    convertDocument(document, {
      file,
      // What was found in a folder is converted if it is what was asked for; what was named has to be that.
      from: explicit ? from : 'auto',
      ...(release === undefined ? {} : { release }),
      ...(group === undefined ? {} : { group }),
    }),
  );
  const foreign =
    !hasErrors(diagnostics.filter(({ code }) => code !== 'yaml/empty')) &&
    results.every((result) => isOther(result, from));
  if (foreign && !explicit) {
    into.passedOver++;
    return;
  }
  into.sources.set(file, bytes);
  into.diagnostics.push(...diagnostics);
  if (results.some(({ source }) => source === 'kep')) addLinted(file, bytes, release, into);
  for (const result of results) {
    if (result.source === 'kep') continue;
    into.diagnostics.push(...result.diagnostics);
    for (const definition of result.definitions) {
      into.diagnostics.push(...lintDefinition(definition, { file }));
      into.converted.push(named(file, definition, result.release));
    }
  }
}

/** Whether a document is of no kind that is converted, or of another one than was asked for. */
function isOther({ source, diagnostics }: ConvertResult, from: ConvertFilesOptions['from']): boolean {
  if (diagnostics.some(({ code }) => code === 'convert/unknown-document')) return true;
  return from !== 'auto' && source !== undefined && source !== from;
}

/** Definitions and catalogs of the KEP: lint knows their places, and gives only what is complete. */
function addLinted(file: string, bytes: Uint8Array, release: string | undefined, into: Conversion): void {
  const { diagnostics, documents } = lint(bytes, { file });
  // Other documents of the file are converted on their own.
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
      into.catalogs.push({ name, ...(labels === undefined ? {} : { labels }) });
    }
    const definitions = isCatalog ? document.catalog.functions : [document.definition];
    into.converted.push(...definitions.map((definition) => named(file, definition, release)));
  }
}

function named(file: string, definition: FunctionDefinition, release: string | undefined): Converted {
  const canonical = release === undefined ? undefined : canonicalRelease(release);
  return { file, definition, ...(canonical === undefined ? {} : { release: canonical }) };
}

interface OutputFile {
  /** Relative to the folder that was named. */
  name: string;
  text: string;
}

function definitionFiles(converted: readonly Converted[]): OutputFile[] {
  const byName = new Map<string, Converted & { text: string }>();
  const clashes: string[] = [];
  for (const one of converted) {
    const kind = kebabCase(one.definition.names.kind);
    const name = one.release === undefined ? `${kind}.yaml` : path.join(kind, `${one.release}.yaml`);
    const text = renderDefinition(one.definition);
    const first = byName.get(name);
    if (first === undefined) byName.set(name, { ...one, text });
    else if (first.text !== text) clashes.push(`${name} from ${first.file} and from ${one.file}`);
  }
  if (clashes.length > 0) {
    throw new KrmhubError('usage', `two definitions would be written to one file: ${clashes.join('; ')}`, {
      hint: 'Convert them one at a time into different folders, or name their releases.',
    });
  }
  return [...byName].map(([name, { text }]) => ({ name, text }));
}

function isProfile(to: ConvertFilesOptions['to']): to is Profile {
  return (PROFILES as readonly string[]).includes(to);
}

function catalogFile(
  { converted, catalogs }: Conversion,
  to: Exclude<ConvertFilesOptions['to'], 'definition'>,
  given: string | undefined,
): { files: OutputFile[]; report?: ProfileReport } {
  const byFunction = new Map<string, Converted>();
  const clashes: string[] = [];
  for (const one of converted) {
    const key = `${one.definition.group}/${one.definition.names.kind}`;
    const first = byFunction.get(key);
    if (first === undefined) byFunction.set(key, one);
    else clashes.push(`${key} (${first.file}, ${one.file})`);
  }
  if (clashes.length > 0) {
    throw new KrmhubError(
      'usage',
      `a catalog has one entry for a function, and there are two of ${clashes.join('; ')}`,
      {
        hint: 'Leave one out. To choose among releases, publish them and let a catalog recipe do it.',
      },
    );
  }
  const definitions = [...byFunction.values()]
    .map(({ definition }) => ({ group: definition.group, kind: definition.names.kind, definition }))
    .sort(compareFunctionNames)
    .map(({ definition }) => definition);
  const only = catalogs.length === 1 ? catalogs[0] : undefined;
  const header = { name: 'converted', ...only, ...(given === undefined ? {} : { name: given }) };
  const name = 'catalog.yaml';
  if (isProfile(to)) {
    const { text, report } = renderProfile(to, header, definitions);
    return { files: [{ name, text }], report };
  }
  const form = to === 'catalog' ? 'catalog.yaml' : 'krmfunctioncatalog.yaml';
  return { files: [{ name, text: [...renderCatalog(form, header, definitions.map(renderEntry))].join('') }] };
}

async function writeAll(
  io: Io,
  folder: string,
  files: readonly OutputFile[],
  overwrite: boolean,
): Promise<number> {
  const present: string[] = [];
  for (const { name, text } of overwrite ? [] : files) {
    if (await differs(io, path.join(folder, name), text)) present.push(path.join(folder, name));
  }
  if (present.length > 0) {
    const [are, first] = present.length === 1 ? ['is', present[0]!] : ['are', present.join(', ')];
    throw new KrmhubError('conflict', `${first} ${are} there already, with other content`, {
      hint: 'Nothing is written. Replace what is there with --force, or name another folder.',
    });
  }
  let written = 0;
  for (const { name, text } of files) {
    const outcome = await writeFileAtomically(path.resolve(io.cwd, folder, name), text, { overwrite });
    if (outcome === 'written') written++;
  }
  return written;
}

/** Whether a file is there with other content. */
async function differs(io: Io, name: string, text: string): Promise<boolean> {
  const wanted = Buffer.from(text);
  try {
    return !wanted.equals(await readFileUpTo(io, name, wanted.length));
  } catch (error) {
    if (error instanceof KrmhubError && error.code === 'not-found') return false;
    throw error;
  }
}
