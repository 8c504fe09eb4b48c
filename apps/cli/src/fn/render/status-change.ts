import { type FileChange, formatFiles, type Package, type Resource } from '@krmhub/functions/fn';
import { KPTFILE } from '@krmhub/functions/plan';
import { defined } from '@krmhub/schema/defined';
import type { FnSession } from '../fn-session.js';
import type { TreeFailure } from './planned-package.js';

/**
 * Adds to the changes of a package that its Kptfile says how the render went. Says so if its layout does not allow
 * that.
 */
export async function withStatus(
  changes: readonly FileChange[],
  { files, resources }: Package,
  { progress, settings }: FnSession,
  failure: TreeFailure | undefined,
): Promise<FileChange[]> {
  const { editStatus } = await import('@krmhub/functions/plan/edit-status');
  const planned = changes.find(({ path }) => path === KPTFILE);
  const before = files.get(KPTFILE)!.text;
  const change = settings.format === 'kpt' && isFormatOnly(planned, resources) ? undefined : planned;
  // Functions may delete it.
  if (change?.type === 'delete') return [...changes];
  const failed = failure === undefined ? undefined : progress.ran.at(-1);
  // The function that could not be found has no name there, and kpt finds none by its type.
  if (failed !== undefined && (failed.step ?? failed.image ?? failed.exec) === undefined) {
    return change === undefined ? changes.filter((one) => one !== planned) : [...changes];
  }
  const text = change?.after ?? before;
  const after = editStatus(text, {
    steps: progress.ran,
    ...defined({
      failure:
        failure === undefined
          ? undefined
          : {
              packages: failedPackages(failure),
              ...defined({
                reason:
                  failure.error === undefined
                    ? undefined
                    : (progress.ran.at(-1)?.error ?? failure.error.message),
              }),
            },
    }),
  });
  if (after === undefined) {
    progress.print(`warning: cannot write the status into ${KPTFILE}: its layout is not supported`);
    return change === undefined ? changes.filter((one) => one !== planned) : [...changes];
  }
  const others = changes.filter((one) => one !== planned);
  return after === before ? others : [...others, { type: 'update', path: KPTFILE, before, after }];
}

/** Reports whether functions left the Kptfile as it was, so that only its notation would change. */
function isFormatOnly(change: FileChange | undefined, before: readonly Resource[]): boolean {
  if (change?.type !== 'update') return false;
  return formatFiles(before.filter(({ path }) => path === KPTFILE)).get(KPTFILE) === change.after;
}

/** kpt leaves out the root above a subpackage that failed. */
function failedPackages({ packages }: TreeFailure): string[] {
  return (packages.length > 1 ? packages.slice(1) : packages).map(({ relative }) => relative);
}
