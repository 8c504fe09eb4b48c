import { ownerText } from '@krmhub/catalog/access/owner-text';
import { unpinnedReferences } from '@krmhub/catalog/render/unpinned-references';
import { describePermissions } from '@krmhub/catalog/render/usage';
import { declaredPrograms } from '@krmhub/catalog/runtimes/runtimes';
import { type NamedCatalog, parseCatalog } from '@krmhub/consume/references/parse-catalog';
import { openCatalog } from '@krmhub/consume/resolve/open/open-catalog';
import type { OpenedCatalog } from '@krmhub/consume/resolve/open/open-context';
import { openContext } from '@krmhub/consume/resolve/open-resolver';
import { OptionTrust } from '@krmhub/consume/trust/catalog-trust';
import { defined } from '@krmhub/schema/defined';
import type { FunctionDefinition, FunctionVersion } from '@krmhub/schema/definition';
import { escapeControls, oneLine, plural } from '@krmhub/schema/text';
import { printRows } from '../io/change-lines.js';
import { type Io, write } from '../io/io.js';
import { bold, type OutputFormat, printData, printLine, printWarning } from '../io/print.js';
import { consumePorts } from '../registry/consume-ports.js';

/** What one API version of a function runs, and what that may touch. */
interface ShownVersion {
  version: string;
  /** Images, executables, and scripts, with their digests where the catalog has them. */
  runs: string[];
  /** References in `runs` whose content can change. */
  unpinned: string[];
  /** One phrase for each runtime: network, mounts, permissions. */
  mayTouch: string[];
}

interface ShownFunction {
  group: string;
  kind: string;
  publisher: string;
  versions: ShownVersion[];
}

interface ShownCatalog {
  catalog: string;
  /** Whether a key that this user pinned signed the catalog. */
  verified: boolean;
  /** The pinned key. Absent if the signature was not verified. */
  signer?: string;
  publishers: string[];
  functions: ShownFunction[];
  /** Number of entries that cannot be used. */
  invalid: number;
}

/**
 * Prints a catalog that is not of the configured registry: a URL, a file, or an OCI artifact. It lists the publisher
 * that the functions claim and the signer, and for each function what runs and what that may touch. Throws `untrusted`
 * if a key is pinned and another one signed the catalog, and the errors of reading it.
 */
export async function showUpstream(
  io: Io,
  target: string,
  { output }: { output: OutputFormat },
): Promise<void> {
  const trust = new OptionTrust(io, { catalogs: [target], trustedCatalogs: [] });
  const named = parseCatalog(io, { text: target, folder: io.cwd });
  const context = await openContext(consumePorts(io));
  try {
    const opened = await openCatalog(context, trust, named);
    try {
      for (const warning of opened.warnings) await printWarning(io, escapeControls(warning));
      const shown = await readShown(io, target, opened);
      await printData(io, output, shown, () => printShown(io, shown, named));
    } finally {
      await opened.reader.close();
    }
  } finally {
    await context.cache.close();
  }
}

/** How `OpenedCatalog.trustedBy` names a pinned key. */
const PINNED_KEY = /^the pinned (key .+)$/;

async function readShown(
  io: Io,
  target: string,
  { reader, trustedBy }: OpenedCatalog,
): Promise<ShownCatalog> {
  const functions: ShownFunction[] = [];
  const problems: string[] = [];
  const onInvalid = (error: Error): void => void problems.push(error.message);
  for await (const definition of reader.list(onInvalid)) functions.push(shownFunction(definition));
  for (const problem of problems.slice(0, MAX_WARNINGS)) await printWarning(io, escapeControls(problem));
  const signer = PINNED_KEY.exec(trustedBy)?.[1];
  return {
    catalog: target,
    verified: signer !== undefined,
    ...defined({ signer }),
    publishers: [...new Set(functions.map(({ publisher }) => publisher))].sort(),
    functions,
    invalid: problems.length,
  };
}

/** Invalid entries to print. */
const MAX_WARNINGS = 5;

function shownFunction({ group, names, publisher, versions }: FunctionDefinition): ShownFunction {
  return { group, kind: names.kind, publisher, versions: versions.map(shownVersion) };
}

function shownVersion(version: FunctionVersion): ShownVersion {
  return {
    version: version.name,
    runs: declaredPrograms(version).map(({ reference, beside, platform }) =>
      platform === undefined
        ? `${reference}${beside === undefined ? '' : `@sha256:${beside}`}`
        : `${platform} ${reference}${beside === undefined ? '' : ` sha256:${beside}`}`,
    ),
    unpinned: unpinnedReferences(version),
    mayTouch: describePermissions(version),
  };
}

async function printShown(io: Io, shown: ShownCatalog, { address, registry }: NamedCatalog): Promise<void> {
  const { functions, publishers, invalid, signer } = shown;
  const rows = functions.flatMap((fn) => fn.versions.map((version) => ({ fn, version })));
  if (io.stdout.isTTY === true) {
    await write(io.stdout, rows.map(({ fn, version }) => block(io, fn, version)).join(''));
  } else {
    const cells = rows.map(({ fn, version }) => [
      `${fn.group}/${fn.kind}`,
      version.version,
      fn.publisher,
      version.mayTouch.join('; '),
      pinning(version),
      version.runs.join(', '),
    ]);
    await printRows(io, cells);
  }
  const skipped = invalid === 0 ? '' : `, ${invalid} invalid`;
  await printLine(
    io,
    escapeControls(
      `${plural(functions.length, 'function')}${claimed(functions.length, publishers)}${skipped}`,
    ),
  );
  if (signer !== undefined) return printLine(io, `signature verified: signed by the pinned ${signer}`);
  await printLine(io, 'signature not verified: no key is pinned for this catalog');
  if (address.type === 'oci') {
    const reference = shown.catalog.replace(/^oci:\/\//, '');
    await printLine(io, escapeControls(`  to verify it: krmhub verify ${reference} --key FILE.pub`));
  } else if (address.type === 'http') {
    const url = registry === undefined ? shown.catalog : `${registry.url}/catalogs/${registry.name}`;
    await printLine(
      io,
      escapeControls(`  to verify it, pin its key: krmhub trust add ${url} --key FILE.pub`),
    );
  }
}

/** Returns who the functions say they are published by, which nothing verifies. */
function claimed(count: number, publishers: readonly string[]): string {
  const named = publishers.filter((publisher) => publisher !== '');
  if (named.length === 0) return '';
  return ` ${count === 1 ? 'says it is' : 'say they are'} published by ${named.join(', ')}`;
}

function pinning({ unpinned }: ShownVersion): string {
  return unpinned.length === 0 ? 'pinned' : `can move: ${unpinned.join(', ')}`;
}

const LABEL_COLUMNS = 11;

/** Formats a version for a terminal. It cuts nothing, because the reader decides by it. */
function block(io: Io, { group, kind, publisher }: ShownFunction, version: ShownVersion): string {
  const facts = [
    ['owner', ownerText(undefined, publisher)],
    ['may touch', version.mayTouch.join('; ')],
    ...version.runs.map((one) => ['runs', one]),
    ['pinned', version.unpinned.length === 0 ? 'yes' : `no: ${pinning(version)}`],
  ] as const;
  const lines = facts.map(([label = '', value = '']) => `  ${label.padEnd(LABEL_COLUMNS)}${oneLine(value)}`);
  return `${bold(io, oneLine(`${group}/${kind}`))}  ${oneLine(version.version)}\n${lines.join('\n')}\n\n`;
}
