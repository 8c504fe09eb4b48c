import type { Release, ReleaseSummary, ServedEntry, Takedown, Verdict } from '@krmhub/api/model';
import type { UsageTopic } from '@krmhub/catalog';
import type { FunctionDefinition, FunctionVersion } from '@krmhub/schema';
import { compareApiVersions } from '@krmhub/schema/gvk';
import { columnsOf, type Io, write } from '../io/io.js';
import { bold } from '../io/print.js';
import { oneLine, pad, textWidth, visible, wrap } from '../io/text.js';
import { relativeTime } from '../io/time.js';
import { type ConfigRows, configRows } from './config-rows.js';

export interface FunctionPage {
  group: string;
  kind: string;
  /** Of the release; where none is known, as the first of the catalogs serves it. */
  definition: FunctionDefinition;
  /** Absent for a function that only catalogs elsewhere have. */
  known?: {
    release: Release;
    /** The release that the registry shows for the function. */
    newest: string;
    /** Where the definition is read; the README stands beside it. */
    releaseUrl: string;
  };
  /** Newest first. */
  releases: readonly ReleaseSummary[];
  /** Oldest first. */
  takedowns: readonly Takedown[];
  catalogs: readonly string[];
  /** What catalogs take of it from elsewhere. */
  entries: readonly ServedEntry[];
  schemaUrl(version: string): string;
}

const TOPICS: Record<UsageTopic, string> = {
  config: 'CONFIGURE',
  kustomize: 'USE IT WITH KUSTOMIZE',
  kpt: 'USE IT WITH KPT',
  container: 'CONTAINER',
  executables: 'EXECUTABLES',
  starlark: 'STARLARK',
};

const MAX_WIDTH = 100;
/** Releases that are listed; the rest is counted. */
const MAX_RELEASES = 20;

/** What a person needs to judge and use a function. Nothing is cut; at a terminal, prose is wrapped to its columns. */
export async function printFunctionPage(io: Io, page: FunctionPage): Promise<void> {
  // They know the schema of functionConfigs, which takes a moment to load.
  const [{ functionUsage, describePermissions: reachOf }, { describeConfig }] = await Promise.all([
    import('@krmhub/catalog'),
    import('@krmhub/schema'),
  ]);
  const sheet = new Sheet(io);
  const { definition, known } = page;
  const versions = [...definition.versions].sort((a, b) => compareApiVersions(a.name, b.name));
  const name = `${page.group}/${page.kind}`;
  const [release, standing] = standingOf(page);
  sheet.line(`${bold(io, oneLine(name))}  ${oneLine(release)}  (${oneLine(standing)})`);
  if (known !== undefined) banners(sheet, known, name);
  sheet.blank();
  sheet.prose(definition.description);
  const [preferred] = versions;
  if (known?.release.yanked === undefined && preferred !== undefined) {
    const { sections } = functionUsage(definition, preferred, page.schemaUrl(preferred.name));
    for (const { topic, parts } of sections) {
      sheet.title(TOPICS[topic]);
      for (const { text: words, snippet } of parts) {
        sheet.prose(words);
        if (snippet !== undefined) sheet.snippet(snippet);
      }
    }
  }
  for (const version of versions) {
    const rows = configRows(describeConfig(definition, version.name));
    versionSections(sheet, page, version, { rows, reach: reachOf(version) });
  }
  about(sheet, page);
  entryList(sheet, page);
  releaseList(sheet, page);
  await write(io.stdout, sheet.text());
}

function standingOf({ known, entries }: FunctionPage): [release: string, standing: string] {
  if (known === undefined) {
    const places = entries.flatMap(({ catalog, versions }) => [
      ...new Set(upstreamOnly(versions).map(({ source }) => `from ${source} in the catalog ${catalog}`)),
    ]);
    return ['release unknown', places.join(', ')];
  }
  const { release, newest } = known;
  return [release.release, release.release === newest ? 'newest' : `newest is ${newest}`];
}

function upstreamOnly(versions: ServedEntry['versions']): ServedEntry['versions'] {
  return versions.filter(({ release }) => release === undefined);
}

function banners(sheet: Sheet, { release, newest }: NonNullable<FunctionPage['known']>, name: string): void {
  const { yanked, deprecated } = release;
  const instead = release.release === newest ? '' : ` Use ${name}@${newest}.`;
  if (yanked !== undefined || deprecated !== undefined) sheet.blank();
  if (yanked !== undefined) {
    sheet.prose(`YANKED ${sheet.time(yanked.at)} by ${yanked.by}: ${yanked.reason}`);
    sheet.prose(`Do not use this release: catalogs no longer have it.${instead}`);
  }
  const { trusted, policy, reason } = release.signature;
  // A policy wanted a signature, and it does not hold any more.
  if (!trusted && policy !== undefined) {
    sheet.blank();
    sheet.prose(`NOT TRUSTED: ${reason}`);
  }
  if (deprecated !== undefined) {
    sheet.prose(`DEPRECATED ${sheet.time(deprecated.at)} by ${deprecated.by}: ${deprecated.reason}`);
    if (yanked === undefined && instead !== '') sheet.prose(instead.trim());
  }
}

function versionSections(
  sheet: Sheet,
  page: FunctionPage,
  version: FunctionVersion,
  { rows, reach }: { rows: ConfigRows; reach: string[] },
): void {
  sheet.title(`API VERSION ${version.name}`);
  const { container } = version.runtime;
  sheet.facts([
    ['image', container?.image],
    ['may touch', reach.join('; ')],
    ['idempotent', version.idempotent ? 'yes' : 'no, or not known'],
    ['licence', version.license],
    ['maintainers', version.maintainers?.join(', ')],
    ['usage', version.usage],
    ...version.examples.map((uri): [string, string] => ['example', uri]),
    ['schema', page.schemaUrl(version.name)],
  ]);
  sheet.blank();
  sheet.table(['FIELD', 'TYPE', 'REQUIRED', 'DESCRIPTION'], rows.fields);
  for (const note of rows.notes) sheet.prose(note);
  if (version.configMap === true) sheet.prose('It also takes a ConfigMap, with its settings under data.');
}

function about(sheet: Sheet, { definition, known, catalogs }: FunctionPage): void {
  sheet.title('ABOUT');
  const holding = catalogs.length === 0 ? 'none' : catalogs.join(', ');
  sheet.facts([
    ['publisher', definition.publisher],
    ['maintainers', definition.maintainers?.join(', ')],
    ['tags', definition.tags?.join(', ')],
    ['home', definition.home],
    ...(known === undefined ? [] : releaseFacts(sheet, known)),
    // Which release a catalog has is its recipe's to say.
    [
      'catalogs',
      known === undefined || catalogs.length === 0 || known.release.release === known.newest
        ? holding
        : `${holding} (with the release that each chooses)`,
    ],
  ]);
}

function releaseFacts(
  sheet: Sheet,
  { release, releaseUrl }: NonNullable<FunctionPage['known']>,
): [string, string][] {
  return [
    ['published', `${sheet.time(release.publishedAt)} by ${release.publishedBy}`],
    ['digest', release.digest],
    ['signature', verdictText(release.signature)],
    ...release.bundles
      .filter(({ claim }) => claim === 'attestation')
      .map(({ predicateType, signer }): [string, string] => [
        'attestation',
        `${predicateType}, by ${signer ?? 'a key that the registry does not know'}`,
      ]),
    ['definition', `${releaseUrl}/definition.yaml`],
    ['readme', release.readme ? `${releaseUrl}/readme.md` : 'none'],
  ];
}

/** What catalogs take from elsewhere; of several, the first is what the page shows where no release is known. */
function entryList(sheet: Sheet, { known, entries }: FunctionPage): void {
  if (entries.length === 0) return;
  sheet.title('FROM OTHER CATALOGS');
  if (known !== undefined) sheet.prose('These catalogs serve it from elsewhere, and not as shown above:');
  const rows = entries.flatMap(({ catalog, serial, versions }) =>
    upstreamOnly(versions).map(({ name, source, definition, signedBy, rewritten }) => [
      catalog,
      String(serial),
      name,
      source,
      shortDigest(definition),
      [
        ...(signedBy === undefined ? [] : [`signed by ${signedBy}`]),
        ...(rewritten === true ? ['references rewritten to a mirror'] : []),
      ].join('; '),
    ]),
  );
  const noted = rows.some((row) => row.at(-1) !== '');
  sheet.table(['CATALOG', 'SERIAL', 'VERSION', 'SOURCE', 'DIGEST', noted ? 'NOTE' : ''], rows);
}

function shortDigest(digest: string): string {
  return digest.slice(0, 'sha256:'.length + 12);
}

function releaseList(sheet: Sheet, { known, releases, takedowns }: FunctionPage): void {
  sheet.title('RELEASES');
  if (known === undefined) {
    sheet.prose('Not known: the catalog elsewhere does not say which release its entry is from.');
  }
  const rows = releases.slice(0, MAX_RELEASES).map(({ release, publishedAt, digest, yanked, deprecated }) => {
    const marks = [
      ...(yanked === undefined ? [] : [`yanked: ${yanked.reason}`]),
      ...(deprecated === undefined ? [] : [`deprecated: ${deprecated.reason}`]),
    ];
    return [release, sheet.time(publishedAt), shortDigest(digest), marks.join('; ')];
  });
  const noted = rows.some((row) => row.at(-1) !== '');
  sheet.table(['RELEASE', 'PUBLISHED', 'DIGEST', noted ? 'NOTE' : ''], rows);
  if (releases.length > MAX_RELEASES)
    sheet.prose(`and ${releases.length - MAX_RELEASES} older; -o json has them all`);
  if (takedowns.length === 0) return;
  sheet.title('TAKEN DOWN');
  const gone = takedowns.map(({ release, at, by, reason }) => [release, sheet.time(at), by, reason]);
  sheet.table(['RELEASE', 'WHEN', 'BY', 'REASON'], gone);
}

/** What the registry's policies say of a release; who uses it judges by their own (`krmhub trust`). */
function verdictText({ trusted, signer, policy, reason }: Verdict): string {
  return trusted
    ? `verified as ${signer} by the policy ${policy} of the registry`
    : `not verified: ${reason ?? 'the registry does not say why'}`;
}

const GAP = '  ';
/** Columns below which the last cell of a row gets lines of its own. */
const MIN_LAST = 24;

/** Lines of the page. Everything from the registry passes through here, and is made harmless here. */
class Sheet {
  readonly #io: Io;
  readonly #width: number;
  readonly #lines: string[] = [];

  constructor(io: Io) {
    this.#io = io;
    this.#width =
      io.stdout.isTTY === true ? Math.min(columnsOf(io.stdout), MAX_WIDTH) : Number.POSITIVE_INFINITY;
  }

  /** A line that is harmless already. */
  line(text: string): void {
    this.#lines.push(text);
  }

  blank(): void {
    if (this.#lines.at(-1) !== '') this.#lines.push('');
  }

  title(text: string): void {
    this.blank();
    this.line(bold(this.#io, oneLine(text)));
  }

  prose(text: string): void {
    this.#lines.push(...wrap(oneLine(text), this.#width));
  }

  /** What is to be copied: at the left edge, whole, between blank lines. */
  snippet(text: string): void {
    this.blank();
    this.#lines.push(...text.replace(/\n$/, '').split('\n').map(visible), '');
  }

  time(time: string): string {
    return this.#io.stdout.isTTY === true ? relativeTime(time, this.#io.now()) : time;
  }

  /** Names and values; those without a value are left out. */
  facts(facts: readonly (readonly [string, string | undefined])[]): void {
    const present = facts.filter((fact): fact is [string, string] => fact[1] !== undefined && fact[1] !== '');
    this.#rows(present);
  }

  table(header: readonly string[], rows: readonly (readonly string[])[]): void {
    if (rows.length > 0) this.#rows([header, ...rows]);
  }

  /** All cells but the last are aligned; the last is wrapped, below the row where little is left beside it. */
  #rows(rows: readonly (readonly string[])[]): void {
    const cells = rows.map((row) => row.map(oneLine));
    const fixed = (cells[0] ?? [])
      .slice(0, -1)
      .map((_, index) => Math.max(...cells.map((row) => textWidth(row[index]!))));
    const indent = fixed.reduce((sum, one) => sum + one + GAP.length, 0);
    for (const row of cells) {
      const start = fixed.map((width, index) => pad(row[index]!, width) + GAP).join('');
      const last = row.at(-1) ?? '';
      const beside = this.#width - indent >= MIN_LAST;
      const left = beside ? indent : 4;
      const [first = '', ...more] = wrap(last, this.#width - left);
      const below = beside ? more : [first, ...more];
      this.#lines.push((beside ? start + first : start).trimEnd());
      this.#lines.push(...below.filter((line) => line !== '').map((line) => ' '.repeat(left) + line));
    }
  }

  text(): string {
    return `${this.#lines.join('\n').trimEnd()}\n`;
  }
}
