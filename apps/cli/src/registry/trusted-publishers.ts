import type { RegistryClient } from '@krmhub/api/client';
import type { CheckedPublishers, TrustedPublisher } from '@krmhub/api/model';
import {
  describeProblem,
  isPublisherExpired,
  publisherTarget,
} from '@krmhub/catalog/access/trusted-publishers/check-claims';
import { provider } from '@krmhub/catalog/access/trusted-publishers/providers';
import { readFileUpTo } from '@krmhub/consume/files/read-file';
import type { CiProvider } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { parseUrl } from '@krmhub/schema/parse-url';
import { escapeControls } from '@krmhub/schema/text';
import { FINDINGS } from '../io/exit-code.js';
import { type Io, write } from '../io/io.js';
import { type OutputFormat, printData, printLine, printTable, printWarning } from '../io/print.js';
import { readStdin } from '../io/read-stdin.js';
import { relativeTime } from '../io/time.js';
import { connect } from './connection.js';
import { type NamedWorkflow, providerIds } from './provider-ids.js';

export interface PublisherOptions {
  registry?: string;
  output: OutputFormat;
}

export interface AddOptions extends PublisherOptions {
  github?: string;
  gitlab?: string;
  workflow?: string;
  environment?: string;
  ref?: string;
  provider?: CiProvider;
  set?: string[];
  id?: string[];
  issuer?: string;
  keys?: string;
}

/** Bytes of a token, of claims, or of keys. */
const MAX_BYTES = 65_536;

/** Lets a workflow publish in `GROUP` or `GROUP/KIND`. */
export async function addPublisher(io: Io, target: string, options: AddOptions): Promise<void> {
  const { group, kind } = readTarget(target);
  const keys = options.keys === undefined ? undefined : await readText(io, options.keys);
  const { provider, settings } = workflowOptions(options);
  const { issuer } = options;
  const pins =
    options.id === undefined ? await foundIds(io, { provider, settings, issuer }) : pairs('--id', options.id);
  const request = { ...{ group, provider, settings }, ...defined({ kind, keys, issuer, pins }) };
  const client = await connect(io, options.registry);
  const publisher = await client.addPublisher(request);
  await printData(io, options.output, publisher, async () => undefined);
  await printLine(io, escapeControls(`${describe(publisher)} may publish ${publisherTarget(publisher)}`));
  const ids = Object.entries(publisher.pins).map(([name, id]) => `${name} ${id}`);
  if (ids.length > 0)
    await printLine(io, escapeControls(`Only with the IDs that it has now: ${ids.join(', ')}`));
  await warnWithoutAudience(io, client);
  await printLine(io, `It must do so before ${publisher.pendingUntil?.slice(0, 10)}. ID: ${publisher.id}`);
}

function readTarget(target: string): { group: string; kind?: string } {
  const [group = '', kind, ...more] = target.split('/');
  if (more.length > 0) throw new KrmhubError('usage', `${JSON.stringify(target)} is not GROUP or GROUP/KIND`);
  return { group, ...defined({ kind }) };
}

/** Tokens of workflows name the registry by its public URL. */
async function warnWithoutAudience(io: Io, client: RegistryClient): Promise<void> {
  try {
    await client.oidcAudience();
  } catch (error) {
    if (!(error instanceof KrmhubError) || error.code !== 'conflict') throw error;
    await printWarning(
      io,
      escapeControls(`${error.message}, so the workflow cannot publish yet. ${error.hint ?? ''}`),
    );
  }
}

/** Returns the IDs of a workflow, as its provider has them. If it does not tell, the first run does. */
async function foundIds(io: Io, workflow: NamedWorkflow): Promise<Record<string, string> | undefined> {
  try {
    return await providerIds(io, workflow);
  } catch (error) {
    if (!(error instanceof KrmhubError) || error.code === 'conflict') throw error;
    await printWarning(
      io,
      `${escapeControls(error.message)}. The IDs are taken from the first run. Is the name right, and is it private? For GitHub set GH_TOKEN, for GitLab GITLAB_TOKEN, or set --id`,
    );
    return undefined;
  }
}

export async function listPublishers(
  io: Io,
  group: string | undefined,
  options: PublisherOptions,
): Promise<void> {
  const list = await (await connect(io, options.registry)).trustedPublishers(group);
  const now = io.now();
  const columns = [
    { header: 'TARGET', min: 12 },
    { header: 'PROVIDER' },
    { header: 'WORKFLOW', min: 16 },
    { header: 'USED' },
    // Whole, to remove it.
    { header: 'ID', min: 36 },
  ];
  await printData(io, options.output, list, () =>
    printTable(io, columns, list.publishers, {
      terminal: (one) => [
        ...[publisherTarget(one), one.provider, settingsText(one)],
        usedText(one, now),
        one.id,
      ],
      pipe: (one) => [publisherTarget(one), one.provider, settingsText(one), one.lastUsedAt ?? '', one.id],
    }),
  );
}

function usedText(publisher: TrustedPublisher, now: Date): string {
  if (publisher.lastUsedAt !== undefined) return relativeTime(publisher.lastUsedAt, now);
  return isPublisherExpired(publisher, now) ? 'not in time' : 'not yet';
}

/**
 * Compares the claims of a token with the publishers of `GROUP`, or with those that may publish `GROUP/KIND`. Sets the exit
 * code if none matches.
 */
export async function checkPublishers(
  io: Io,
  target: string,
  file: string,
  options: PublisherOptions,
): Promise<void> {
  const { group, kind } = readTarget(target);
  const claims = readClaims(await readText(io, file), file);
  const client = await connect(io, options.registry);
  const { publishers: all } = await client.checkPublishers({ group, claims });
  // One of the whole group may publish each of its functions.
  const covering = kind === undefined ? undefined : [group, target].map((one) => one.toLowerCase());
  const publishers = all.filter((one) => covering?.includes(one.target.toLowerCase()) ?? true);
  const isMatched = publishers.some(({ problems }) => problems.length === 0);
  await printData(io, options.output, { publishers }, () => printChecked(io, target, { publishers }));
  if (isMatched) await warnWithoutAudience(io, client);
  else io.exitCode = FINDINGS;
}

export async function removePublisher(io: Io, id: string, options: PublisherOptions): Promise<void> {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)) {
    throw new KrmhubError('usage', `${JSON.stringify(id)} is not the ID of a trusted publisher`, {
      hint: 'List the publishers of a group with their IDs: krmhub publisher list GROUP',
    });
  }
  await (await connect(io, options.registry)).removePublisher(id);
  await printData(io, options.output, { id, outcome: 'removed' }, async () => undefined);
  await printLine(io, `removed ${id}: the workflow gets no token any more`);
}

async function printChecked(io: Io, target: string, { publishers }: CheckedPublishers): Promise<void> {
  if (publishers.length === 0) {
    return printLine(io, `${target} has no trusted publishers. Add one: krmhub publisher add ${target}`);
  }
  // What a publisher of another issuer wants says nothing about this token.
  const issuer = ({ problems }: Checked) => problems.find(({ claim, found }) => claim === 'iss' && found);
  const ofIssuer = publishers.filter((one) => issuer(one) === undefined);
  if (ofIssuer.length === 0) {
    const others = new Set(publishers.map((one) => issuer(one)?.expected));
    await write(
      io.stdout,
      `${target}: no publisher has the issuer of this token, but ${[...others].join(', ')}\n`,
    );
  }
  for (const { id, target, problems } of ofIssuer) {
    const verdict = problems.length === 0 ? 'matches' : 'does not match';
    const lines = [`${target}: ${verdict} (${id})`, ...problems.map((one) => `  ${describeProblem(one)}`)];
    await write(io.stdout, lines.map((line) => `${escapeControls(line)}\n`).join(''));
  }
}

type Checked = CheckedPublishers['publishers'][number];

function workflowOptions(options: AddOptions): { provider: CiProvider; settings: Record<string, string> } {
  const { github, gitlab, provider, workflow, environment, ref, set = [] } = options;
  const named = [github && 'github', gitlab && 'gitlab', provider].filter((one) => one !== undefined);
  const [first, second] = named as CiProvider[];
  if (first === undefined || second !== undefined) {
    throw new KrmhubError('usage', 'which workflow? Set one of --github, --gitlab, and --provider', {
      hint: 'For example: krmhub publisher add example.com --github example/functions --workflow release.yml',
    });
  }
  const given = pairs('--set', set);
  const { issuer } = options;
  return {
    provider: first,
    settings: {
      ...defined({
        repository: github && nameInUrl(github, 'github', issuer),
        project: gitlab && nameInUrl(gitlab, 'gitlab', issuer),
        ...{ workflow, environment, ref },
      }),
      ...given,
    },
  };
}

/**
 * Returns `OWNER/REPOSITORY` of a URL as browsers and git have it. It must be of the service whose tokens the publisher
 * trusts: another one can have a repository of the same name.
 */
function nameInUrl(given: string, id: CiProvider, issuer: string | undefined): string {
  if (!given.includes('://')) return given;
  const { issuer: usual = '', site: siteOf, title } = provider(id);
  const site = parseUrl(siteOf?.(issuer ?? usual) ?? '');
  const url = parseUrl(given);
  const folder = site?.pathname.replace(/\/?$/, '/') ?? '/';
  if (url?.host === site?.host && url?.pathname.startsWith(folder) && url.search + url.hash === '') {
    const name = url.pathname.slice(folder.length).replace(/(?:\.git)?\/?$/, '');
    if (name.split('/').length >= 2) return name;
  }
  const where = site === undefined ? `${title} with the issuer ${issuer}` : site.host + site.pathname;
  const another = issuer === undefined ? ' For another host, set --issuer too.' : '';
  throw new KrmhubError(
    'usage',
    `--${id} ${JSON.stringify(given)} is not a repository of ${where.replace(/\/$/, '')}`,
    { hint: `Use its name, such as example/functions.${another}` },
  );
}

function pairs(option: string, values: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    values.map((text) => {
      const equals = text.indexOf('=');
      if (equals > 0) return [text.slice(0, equals), text.slice(equals + 1)];
      throw new KrmhubError('usage', `${option} ${JSON.stringify(text)} is not NAME=VALUE`);
    }),
  );
}

async function readText(io: Io, file: string): Promise<string> {
  const bytes = file === '-' ? await readStdin(io, MAX_BYTES) : await readFileUpTo(io, file, MAX_BYTES);
  return new TextDecoder().decode(bytes).trim();
}

/** Reads claims: JSON, or the middle part of a token (RFC 7519). */
function readClaims(text: string, file: string): Record<string, unknown> {
  const parts = text.split('.');
  const json =
    !text.startsWith('{') && parts.length === 3 ? Buffer.from(parts[1]!, 'base64url').toString() : text;
  try {
    const claims: unknown = JSON.parse(json);
    if (typeof claims === 'object' && claims !== null && !Array.isArray(claims)) {
      return claims as Record<string, unknown>;
    }
  } catch {
    // The text can be a token, so the error does not quote it.
  }
  throw new KrmhubError('usage', `${file === '-' ? 'stdin' : file} has neither a token nor claims as JSON`);
}

/** The settings, and the issuer if it is not the usual one: others can have workflows of the same name. */
function settingsText({ settings, provider: name, issuer }: TrustedPublisher): string {
  return [...Object.values(settings), ...(issuer === provider(name).issuer ? [] : [issuer])].join(' ');
}

function describe(publisher: TrustedPublisher): string {
  return `${publisher.provider} ${settingsText(publisher)}`;
}
