import { compareText } from '@krmhub/schema/compare-text';
import { KPTFILE } from './kptfile-content.js';

/** A package, and the packages directly below it. */
export interface PackageNode {
  /** Folder relative to the root package, with `/`; empty for the root. */
  readonly path: string;
  /** Alphabetical by path. */
  readonly subpackages: readonly PackageNode[];
}

/**
 * Returns the tree of packages. `paths` are the folders with a Kptfile, relative to the root, with `/`; the root itself
 * is always one.
 */
export function packageTree(paths: readonly string[]): PackageNode {
  const sorted = [...new Set(paths)].filter((path) => path !== '').sort(compareText);
  const build = (path: string): PackageNode => {
    const below = sorted.filter((one) => isBelow(one, path));
    const direct = below.filter((one) => !below.some((other) => other !== one && isBelow(one, other)));
    return { path, subpackages: direct.map(build) };
  };
  return build('');
}

/**
 * Returns the folders of the packages that the files of a package make: those of the Kptfiles, so that `.krmignore`
 * leaves out packages, too. Empty for the root.
 */
export function packageFolders(files: Iterable<string>): string[] {
  return [...files].flatMap((file) => {
    if (file === KPTFILE) return '';
    return file.endsWith(`/${KPTFILE}`) ? file.slice(0, -KPTFILE.length - 1) : [];
  });
}

/** Lists packages in the order in which kpt renders them: subpackages first, alphabetically, then their parent. */
export function renderOrder(node: PackageNode): PackageNode[] {
  return [...node.subpackages.flatMap(renderOrder), node];
}

/** Lists packages level by level, from the root: the order of kpt's breadth-first rendering. */
export function levelOrder(root: PackageNode): PackageNode[] {
  const order = [root];
  for (const node of order) order.push(...node.subpackages);
  return order;
}

/** The package that a file belongs to: the nearest folder above it that is one. */
export function nearestPackage(file: string, packages: ReadonlySet<string>): string {
  for (let end = file.lastIndexOf('/'); end > 0; end = file.lastIndexOf('/', end - 1)) {
    const folder = file.slice(0, end);
    if (packages.has(folder)) return folder;
  }
  return '';
}

function isBelow(path: string, folder: string): boolean {
  return path !== folder && (folder === '' || path.startsWith(`${folder}/`));
}
