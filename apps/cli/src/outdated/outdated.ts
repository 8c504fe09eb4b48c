/**
 * Says what is outdated in packages: what is locked, what `krmhub lock --upgrade` would lock, and what is newest.
 *
 * Reads packages and lock files, asks each registry once for 100 functions, and each repository of images once. What
 * cannot be asked is reported, and does not hide the rest. Nothing is written, and nothing is run.
 *
 * @module
 */

import { parseFunction } from '@krmhub/catalog';
import { openResolver } from '@krmhub/consume/resolve/open-resolver';
import type { Resolution, Resolver, ResolverOptions } from '@krmhub/consume/resolve/resolution';
import { defined } from '@krmhub/schema/defined';
import { hasErrors } from '@krmhub/schema/diagnostic';
import { KrmhubError } from '@krmhub/schema/error';
import { withoutPasswords } from '@krmhub/schema/hide-passwords';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData } from '../io/print.js';
import { displayPath } from '../lock/display-path.js';
import { worstExitCode } from '../lock/resolve-functions.js';
import { consumePorts } from '../registry/consume-ports.js';
import { CatalogHistories } from './catalog-histories.js';
import { type JudgeContext, judgeFunction } from './judge-function.js';
import { ImageSources, judgeImage, usedImage } from './judge-image.js';
import { listUses, type Use } from './list-uses.js';
import type { OutdatedEntry, OutdatedFailure, OutdatedReport } from './outdated-report.js';
import { readPackages } from './read-packages.js';

export interface OutdatedOptions extends ResolverOptions {
  output: OutputFormat;
  /** Also the packages below the path. */
  recursive: boolean;
  /** Exit with 1 if something is behind in its range. */
  check: boolean;
  lockFile?: string;
  imagePrefix?: string;
}

/** What went wrong with a catalog, or with the repository of an image. */
interface SourceError {
  source: string;
  error: KrmhubError;
}

/** Prints what is outdated. The exit code is that of the worst finding. */
export async function outdatedPackages(io: Io, target: string, options: OutdatedOptions): Promise<void> {
  const { recursive, output, check, lockFile, imagePrefix } = options;
  if (recursive && lockFile !== undefined) {
    throw new KrmhubError('usage', '--lock cannot be combined with --recursive', {
      hint: 'Each package has its own lock file. Run the command for one package.',
    });
  }
  const { packages, diagnostics } = await readPackages(io, target, {
    recursive,
    ...defined({ lockFile, imagePrefix }),
  });
  const listed = packages.map((one) => listUses(io, one, options));
  const errors: SourceError[] = [];
  const uses = listed.flatMap((one) => one.uses);
  const entries = await judgeUses(io, uses, options, errors);
  const report: OutdatedReport = {
    path: displayPath(io, target),
    entries,
    programs: listed.reduce((sum, { programs }) => sum + programs, 0),
    failures: failures(errors),
    problems: diagnostics.map(withoutPasswords),
  };
  await printData(io, output, report, async () => {
    const { printOutdated } = await import('./print-outdated.js');
    await printOutdated(io, report);
  });
  const isBehind = check && entries.some(({ state }) => state === 'behind');
  io.exitCode = worstExitCode(
    errors.map(({ error }) => error),
    isBehind || hasErrors(diagnostics),
  );
}

async function judgeUses(
  io: Io,
  uses: readonly Use[],
  options: ResolverOptions,
  errors: SourceError[],
): Promise<OutdatedEntry[]> {
  const ports = consumePorts(io);
  const resolver = await openResolver(ports, options);
  try {
    const histories = new CatalogHistories(io, options);
    const images = new ImageSources(() => ports.fetch.openOci(), resolver);
    const context: JudgeContext & { images: ImageSources } = {
      histories,
      images,
      resolve: resolveOnce(resolver),
      now: io.now(),
      fail: (source, error) => errors.push({ source, error }),
    };
    await histories.ask(await historyRequests(uses, images));
    return await Promise.all(
      uses.map(async (use): Promise<OutdatedEntry> => {
        const judged = use.type === 'function' ? judgeFunction(use, context) : judgeImage(use, context);
        return { ...use.place, ...(await judged) };
      }),
    );
  } finally {
    await resolver.close();
  }
}

async function historyRequests(uses: readonly Use[], images: ImageSources) {
  const requests = await Promise.all(
    uses.map(async (use) => {
      if (use.type === 'image') {
        const matched = await images.match(use);
        return matched === undefined ? [] : [{ ...matched, used: usedImage(use, matched) }];
      }
      const { version, ...name } = parseFunction(use);
      const { range } = use.rule ?? {};
      const used = use.locked && { from: use.locked.definition, version, ...defined({ range }) };
      return use.catalogs.map((catalog) => ({ catalog, ...name, ...defined({ used }) }));
    }),
  );
  return requests.flat();
}

/** Resolves each functionConfig with the same catalogs once. */
function resolveOnce(resolver: Resolver): Resolver['resolve'] {
  const found = new Map<string, Promise<Resolution>>();
  return (request) => {
    const { apiVersion, kind, catalogs } = request;
    const key = JSON.stringify([apiVersion, kind, catalogs.map(({ text, folder }) => [text, folder])]);
    const resolution = found.get(key) ?? resolver.resolve(request);
    found.set(key, resolution);
    return resolution;
  };
}

/** Each source once: what an answer says of one function is in its entry. */
function failures(errors: readonly SourceError[]): OutdatedFailure[] {
  const unanswered = errors.filter(({ error }) => error.code !== 'not-found');
  const bySource = new Map(unanswered.toReversed().map((one) => [one.source, one.error]));
  return [...bySource].map(([source, { code, message, hint }]) => ({
    source,
    code,
    message,
    ...defined({ hint }),
  }));
}
