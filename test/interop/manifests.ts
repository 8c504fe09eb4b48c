import { parseAllDocuments } from 'yaml';
import { spawnSync } from '../processes.js';
import type { Reason } from './oci-tools.js';

/** A parsed manifest. */
// biome-ignore lint/suspicious/noExplicitAny: the schemas of Kubernetes say what these are.
export type Manifest = any;

/** Strict schemas of Kubernetes: `pip install kubernetes-validate`. */
const VALIDATOR = 'kubernetes_validate';
const python = process.env.KRMHUB_TEST_SCHEMAS_PYTHON ?? 'python3';

export const whyNoSchemas: Reason =
  spawnSync(python, ['-c', `import ${VALIDATOR}`]).status === 0
    ? undefined
    : "Python's kubernetes-validate is not installed";

export function parseManifests(text: string): Manifest[] {
  return parseAllDocuments(text).map((document) => document.toJS());
}

/** Checks a file of manifests by the strict schemas of Kubernetes; valid ones give status 0 and no text. */
export function validateManifests(file: string): { status: number | null; said: string } {
  const args = ['-m', VALIDATOR, '--strict', '--quiet', file];
  const { status, stdout, stderr } = spawnSync(python, args, { encoding: 'utf8' });
  return { status, said: stdout + stderr };
}
