import type { Release, ReleaseSummary, ServedEntry, Takedown, Verdict } from '@krmhub/api/model';
import type { GroupOwner, UsageTopic } from '@krmhub/catalog';
import { ownerText } from '@krmhub/catalog/access/owner-text';
import type { FunctionDefinition, FunctionVersion } from '@krmhub/schema';
import { formatReplacement } from '@krmhub/schema/documents/replacement';
import { compareApiVersions } from '@krmhub/schema/gvk';
import { escapeControls, oneLine, pad, textWidth } from '@krmhub/schema/text';
import { type Io, terminalWidth, write } from '../io/io.js';
import { bold } from '../io/print.js';
import { relativeTime } from '../io/time.js';
import { wrapText } from '../io/wrap-text.js';
import { type ConfigRows, configRows } from './config-rows.js';
import { releaseNote } from './release-note.js';

export interface FunctionPage {
  group: string;
  kind: string;
  /** Of the group. */
  owner?: GroupOwner;
  /** Definition of the release; if no release is known, of the first catalog entry. */
  definition: FunctionDefinition;
  /** Absent for a function that only upstream catalogs have. */
  known?: {
    release: Release;
    /** The displayed release of the function. */
    newest: string;
    /** URL of the release; the definition and the README are below it. */
    releaseUrl: string;
    /** OCI reference of the release. */
    reference: string;
  };
  /** Newest first. */
  releases: readonly ReleaseSummary[];
  /** Oldest first. */
  takedowns: readonly Takedown[];
  catalogs: readonly string[];
  /** Entries of upstream catalogs for the function. */
  entries: readonly ServedEntry[];
  schemaUrl(version: string): string;
  /** URL of a catalog that has the displayed release. */
  catalogUrl?: string | undefined;
}

/** Headings. Those of runtimes are their topics. */
const TOPICS: Partial<Record<UsageTopic, string>> = {
  config: 'CONFIGURE',
  kustomize: 'USE IT WITH KUSTOMIZE',
  kpt: 'USE IT WITH KPT',
  krmhub: 'USE IT WITH KRMHUB',
};

const MAX_WIDTH = 100;
/** Maximum number of releases to list. */
const MAX_RELEASES = 20;

/** Prints the page of a function. Shortens nothing; at a terminal, it wraps prose. */
export async function printFunctionPage(io: Io, page: FunctionPage): Promise<void> {
  // These modules include the schema of functionConfigs, which is slow to load.
  const [{ functionUsage, describePermissions: reachOf, imageTag, IMPORTED }, { describeConfig }] =
    await Promise.all([import('@krmhub/catalog'), import('@krmhub/schema')]);
  const sheet = new Sheet(io);
  const { definition, known } = page;
  const versions = [...definition.versions].sort((a, b) => compareApiVersions(a.name, b.name));
  const name = `${page.group}/${page.kind}`;
  const [release, status] = releaseStatus(page, imageTag(page.definition));
  sheet.line(`${bold(io, oneLine(name))}  ${oneLine(release)}  (${oneLine(status)})`);
  if (known !== undefined) addBanners(sheet, known, name);
  sheet.blank();
  sheet.prose(definition.description);
  const [preferred] = versions;
  if (known?.release.yanked === undefined && preferred !== undefined) {
    const { sections } = functionUsage(definition, preferred, {
      schema: page.schemaUrl(preferred.name),
      catalog: page.catalogUrl,
    });
    for (const { topic, parts } of sections) {
      sheet.title(TOPICS[topic] ?? topic.toUpperCase());
      for (const { text: words, snippet } of parts) {
        sheet.prose(words);
        if (snippet !== undefined) sheet.snippet(snippet);
      }
    }
  }
  for (const version of versions) {
    const rows = configRows(describeConfig(definition, version.name));
    addVersion(sheet, page, version, { rows, reach: reachOf(version) });
  }
  addAbout(sheet, page);
  addEntries(sheet, page, IMPORTED);
  if (page.known?.release.notes !== undefined) {
    sheet.title(`NOTES OF ${page.known.release.release}`);
    for (const line of page.known.release.notes.split('\n')) sheet.prose(line);
  }
  addReleases(sheet, page);
  await write(io.stdout, sheet.text());
}

function releaseStatus(
  { known, entries }: FunctionPage,
  tag: string | undefined,
): [release: string, status: string] {
  if (known === undefined) {
    const origins = entries.flatMap(({ catalog, versions }) => [
      ...new Set(upstreamOnly(versions).map(({ source }) => `from ${source} in the catalog ${catalog}`)),
    ]);
    return [tag === undefined ? 'release unknown' : `image ${tag}`, origins.join(', ')];
  }
  const { release, newest } = known;
  if (release.release !== newest) return [release.release, `newest is ${newest}`];
  // Only a function whose releases are all yanked has a yanked one as its newest.
  return [release.release, release.yanked === undefined ? 'newest' : 'newest, yanked'];
}

function upstreamOnly(versions: ServedEntry['versions']): ServedEntry['versions'] {
  return versions.filter(({ release }) => release === undefined);
}

function addBanners(
  sheet: Sheet,
  { release, newest }: NonNullable<FunctionPage['known']>,
  name: string,
): void {
  const { yanked, deprecated } = release;
  const instead = release.release === newest ? '' : ` Use ${name}@${newest}.`;
  if (yanked !== undefined || deprecated !== undefined) sheet.blank();
  if (yanked !== undefined) {
    sheet.prose(`YANKED ${sheet.time(yanked.at)} by ${yanked.by}: ${yanked.reason}`);
    sheet.prose(`Do not use this release: catalogs do not include it.${instead}`);
  }
  const { state, reason } = release.signature;
  if (state === 'not-trusted') {
    sheet.blank();
    sheet.prose(`NOT TRUSTED: ${reason}`);
  }
  if (deprecated !== undefined) {
    const { replacement } = deprecated;
    sheet.prose(`DEPRECATED ${sheet.time(deprecated.at)} by ${deprecated.by}: ${deprecated.reason}`);
    if (replacement !== undefined) sheet.prose(`Replacement: ${formatReplacement(replacement)}`);
    else if (yanked === undefined && instead !== '') sheet.prose(instead.trim());
  }
}

function addVersion(
  sheet: Sheet,
  page: FunctionPage,
  version: FunctionVersion,
  { rows, reach }: { rows: ConfigRows; reach: string[] },
): void {
  sheet.title(`API VERSION ${version.name}`);
  const { container } = version.runtime;
  sheet.facts([
    ['image', container?.image],
    ['access', reach.join('; ')],
    ['idempotent', version.idempotent ? 'yes' : 'no or unknown'],
    ['license', version.license],
    ['maintainers', version.maintainers?.join(', ')],
    ['usage', version.usage],
    ...version.examples.map((uri): [string, string] => ['example', uri]),
    ['schema', page.schemaUrl(version.name)],
  ]);
  sheet.blank();
  sheet.table(['FIELD', 'TYPE', 'REQUIRED', 'DESCRIPTION'], rows.fields);
  for (const note of rows.notes) sheet.prose(note);
  if (version.configMap === true)
    sheet.prose('The function also accepts a ConfigMap with its settings in data.');
}

function addAbout(sheet: Sheet, { definition, owner, known, catalogs }: FunctionPage): void {
  sheet.title('ABOUT');
  const names = catalogs.length === 0 ? 'none' : catalogs.join(', ');
  sheet.facts([
    ['owner', ownerText(owner, definition.publisher)],
    ['maintainers', definition.maintainers?.join(', ')],
    ['tags', definition.tags?.join(', ')],
    ['home', definition.home],
    ...(known === undefined ? [] : releaseFacts(sheet, known)),
    // The recipe of a catalog selects the release.
    [
      'catalogs',
      known === undefined || catalogs.length === 0 || known.release.release === known.newest
        ? names
        : `${names} (with the release that each recipe selects)`,
    ],
  ]);
}

function runFacts(run: Release['run']): [string, string][] {
  if (run === undefined) return [];
  const { url, commit, ref } = run;
  const from = [commit, ref].filter((part) => part !== undefined).join(', ');
  return [
    ...(from === '' ? [] : [['built from', from] as [string, string]]),
    ...(url === undefined ? [] : [['run', url] as [string, string]]),
  ];
}

function releaseFacts(
  sheet: Sheet,
  { release, releaseUrl, reference }: NonNullable<FunctionPage['known']>,
): [string, string | undefined][] {
  const { tests = [] } = release;
  const reports = new Set(tests.map(({ bundle }) => bundle));
  return [
    ['published', `${sheet.time(release.publishedAt)} by ${release.publishedBy}`],
    ...runFacts(release.run),
    ['digest', release.digest],
    ['signature', release.signature.text],
    ['source', release.builtFrom],
    ...tests.map(({ text }): [string, string] => ['tests', text]),
    ...release.bundles
      .filter(({ claim, digest }) => claim === 'attestation' && !reports.has(digest))
      .map(({ predicateType, signer }): [string, string] => [
        'attestation',
        `${predicateType}, by ${signer ?? 'an unknown key'}`,
      ]),
    ['artifact', reference],
    ['definition', `${releaseUrl}/definition.yaml`],
    ['readme', release.readme ? readmeText(release.signature, `${releaseUrl}/readme.md`) : 'none'],
  ];
}

/** Lists upstream entries; `unsigned` is their note without a signature. If no release is known, the page shows the first one. */
function addEntries(sheet: Sheet, { known, entries }: FunctionPage, unsigned: string): void {
  if (entries.length === 0) return;
  sheet.title('UPSTREAM ENTRIES');
  if (known !== undefined)
    sheet.prose('These catalogs serve an upstream entry instead of the release above:');
  const rows = entries.flatMap(({ catalog, serial, versions }) =>
    upstreamOnly(versions).map(({ name, source, definition, signedBy, rewritten }) => [
      catalog,
      String(serial),
      name,
      source,
      shortDigest(definition),
      [
        signedBy === undefined ? unsigned : `signed by ${signedBy}`,
        ...(rewritten === true ? ['references rewritten to a mirror'] : []),
      ].join('; '),
    ]),
  );
  sheet.table(['CATALOG', 'SERIAL', 'VERSION', 'SOURCE', 'DIGEST', 'NOTE'], rows);
}

function shortDigest(digest: string): string {
  return digest.slice(0, 'sha256:'.length + 12);
}

function addReleases(sheet: Sheet, { group, kind, known, releases, takedowns }: FunctionPage): void {
  sheet.title('RELEASES');
  if (known === undefined) {
    sheet.prose('Unknown: upstream catalog entries do not contain the release.');
  }
  const rows = releases
    .slice(0, MAX_RELEASES)
    .map((one) => [one.release, sheet.time(one.publishedAt), shortDigest(one.digest), releaseNote(one)]);
  const noted = rows.some((row) => row.at(-1) !== '');
  sheet.table(['RELEASE', 'PUBLISHED', 'DIGEST', noted ? 'NOTE' : ''], rows);
  if (releases.length > MAX_RELEASES)
    sheet.prose(`and ${releases.length - MAX_RELEASES} older: krmhub releases ${group}/${kind}`);
  if (takedowns.length === 0) return;
  sheet.title('TAKEN DOWN');
  const erased = takedowns.map(({ release, at, by, reason }) => [release, sheet.time(at), by, reason]);
  sheet.table(['RELEASE', 'WHEN', 'BY', 'REASON'], erased);
}

/** A README is not part of the definition, so a signature may not cover it. */
function readmeText({ readmeSigned }: Verdict, url: string): string {
  return readmeSigned === true ? url : `${url} (no signature covers it)`;
}

const GAP = '  ';
/** Minimum width of the last cell; below it, the cell starts on the next line. */
const MIN_LAST = 24;

/** The lines of the page. It escapes control characters in all text of the registry. */
class Sheet {
  readonly #io: Io;
  readonly #width: number;
  readonly #lines: string[] = [];

  constructor(io: Io) {
    this.#io = io;
    this.#width =
      io.stdout.isTTY === true ? Math.min(terminalWidth(io.stdout), MAX_WIDTH) : Number.POSITIVE_INFINITY;
  }

  /** Adds a line that is already escaped. */
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
    this.#lines.push(...wrapText(oneLine(text), this.#width));
  }

  /** Adds text to copy: not indented, not wrapped, between blank lines. */
  snippet(text: string): void {
    this.blank();
    this.#lines.push(...text.replace(/\n$/, '').split('\n').map(escapeControls), '');
  }

  time(time: string): string {
    return this.#io.stdout.isTTY === true ? relativeTime(time, this.#io.now()) : time;
  }

  /** Adds names and values; skips those without a value. */
  facts(facts: readonly (readonly [string, string | undefined])[]): void {
    const present = facts.filter((fact): fact is [string, string] => fact[1] !== undefined && fact[1] !== '');
    this.#rows(present);
  }

  table(header: readonly string[], rows: readonly (readonly string[])[]): void {
    if (rows.length > 0) this.#rows([header, ...rows]);
  }

  /** Aligns all cells but the last, which is wrapped; it starts on the next line if little width is left. */
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
      const [first = '', ...more] = wrapText(last, this.#width - left);
      const below = beside ? more : [first, ...more];
      this.#lines.push((beside ? start + first : start).trimEnd());
      this.#lines.push(...below.filter((line) => line !== '').map((line) => ' '.repeat(left) + line));
    }
  }

  text(): string {
    return `${this.#lines.join('\n').trimEnd()}\n`;
  }
}
