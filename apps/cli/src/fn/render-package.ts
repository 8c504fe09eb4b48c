import type { FileChange, Package } from '@krmhub/functions/fn';
import { defined } from '@krmhub/schema/defined';
import type { Io } from '../io/io.js';
import { type FnOutcome, type FnSession, withFunctions } from './fn-session.js';
import { readPackageFiles } from './read-package-files.js';
import { planRender } from './render/plan-render.js';
import type { PlanResult } from './render/planned-package.js';
import { type RenderedTree, renderTree } from './render/render-tree.js';
import { withStatus } from './render/status-change.js';
import { requireNewFolder } from './require-new-folder.js';
import type { FnSettings } from './settings.js';
import { writeOutput } from './write-output.js';

/**
 * Runs the pipelines of a package and its subpackages, as `kpt fn render`: subpackages first, in alphabetical order.
 * All functions are checked, resolved, and fetched before the first runs. Files are written once, at the end, all or
 * none. In place, the Kptfile of the package says how it went, also if that was a failure.
 */
export async function renderPackage(io: Io, name: string, settings: FnSettings): Promise<void> {
  await requireNewFolder(io, settings.output);
  const files = await readPackageFiles(io, name, settings);
  await withFunctions(
    io,
    settings,
    { folder: files.folder, results: 'one', hasGap: false },
    async (session): Promise<FnOutcome> => {
      const plan = await planRender(io, name, files, session);
      const tree = plan.failure === undefined ? await renderTree(plan, session) : notRendered(plan);
      await session.progress.flush();
      const { failure } = tree;
      let changes: FileChange[] = [];
      try {
        changes = await writeTree(io, { files, session, tree, saves: plan.root.kptfile.savesFailure });
      } catch (error) {
        // Why the render failed says more.
        throw failure?.error ?? error;
      }
      if (failure?.error !== undefined) throw failure.error;
      const summary = isInPlace(settings) ? summarize(plan, tree, session) : undefined;
      return { hasFailed: failure !== undefined, changes, ...defined({ summary }) };
    },
  );
}

function notRendered({ failure }: PlanResult): RenderedTree {
  return { resources: [], rendered: 0, ...defined({ failure }) };
}

interface WrittenTree {
  files: Package;
  session: FnSession;
  tree: RenderedTree;
  /** What was rendered before a failure is written. */
  saves: boolean;
}

async function writeTree(io: Io, { files, session, tree, saves }: WrittenTree): Promise<FileChange[]> {
  const { settings, signal } = session;
  const { failure } = tree;
  if (failure !== undefined && !isInPlace(settings)) return [];
  return writeOutput(io, {
    target: settings.output,
    package: files,
    resources: tree.resources,
    format: settings.format,
    isDryRun: settings.isDryRun,
    signal,
    edit: async (changes) => {
      // As kpt: a failed function may have been about to write what is missing.
      const saved = saves ? changes.filter(({ type }) => type !== 'delete') : [];
      return withStatus(failure === undefined ? changes : saved, files, session, failure);
    },
  });
}

function isInPlace({ output }: FnSettings): boolean {
  return output.type === 'package' || output.type === 'report';
}

/** As kpt: undefined for a failure that writes nothing but the status. */
function summarize(
  { root, packages }: PlanResult,
  { failure, rendered }: RenderedTree,
  { progress }: FnSession,
): string | undefined {
  const passed = progress.ran.filter((one) => one.passed && one.skipped !== true).length;
  if (failure === undefined) {
    return `Successfully executed ${passed} function(s) in ${packages.length} package(s).`;
  }
  if (!root.kptfile.savesFailure) return undefined;
  const done = passed === 0 ? 'Failed to execute any functions' : `Partially executed ${passed} function(s)`;
  return `${done} in ${rendered} package(s).`;
}
